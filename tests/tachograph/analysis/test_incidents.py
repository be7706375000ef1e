"""What happened around a run, or differs between runs, is told as a deviation: each kind by facts that show it."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from tachograph.analysis.deviations import deviations
from tachograph.analysis.sealed import SealedStudy

RUN = "run-fast-seed1"


def told(sealed: SealedStudy) -> dict[str, dict[str, Any]]:
    """Deviations by their kind; findings of histories, order and profiles apart."""
    return {one["kind"]: one for one in deviations(sealed, [], {"deviations": []}, {"arms": {}, "checks": []})}


def with_fact(sealed: SealedStudy, place: str, value: Any) -> SealedStudy:
    """The study with another ``value`` at ``place`` (``lease/waited_s``) of one run's facts."""
    run = sealed.runs[RUN]
    facts = deepcopy(run.facts)
    *folders, name = place.split("/")
    inner = facts
    for folder in folders:
        inner = inner[folder]
    inner[name] = value
    return replace(sealed, runs={**sealed.runs, RUN: replace(run, facts=facts)})


FOREIGN = [{"pid": 77, "name": "other", "mib": 1536.0, "seen": ["during", "after"]}]
GIT = {"commit": "f00d", "dirty": True, "diff_sha256": "ab" * 32}


@pytest.mark.parametrize(
    ("place", "value", "kind", "words"),
    [
        ("lease/lock_file_replaced", True, "lock replaced", "the lock file was removed or replaced while the run held"),
        ("outcome/survivors_killed", 2, "left over", "2 processes outlived the trainer and had to be ended"),
        (
            "host/gpu_processes/processes",
            FOREIGN,
            "foreign GPU process",
            "other (pid 77, 1,536 MiB) used the GPU, seen",
        ),
        ("host/errors", ["disk gone"], "sampling", "the host could not be sampled: disk gone"),
        ("lease/contended", True, "waited", f"the device was taken by others when a run wanted it: {RUN} "),
        ("environment/OMP_NUM_THREADS", "7", "threads", "OMP_NUM_THREADS was 7, registered are 1"),
        ("software/numpy", "1.0", "mixed", "the runs differ in software"),
        ("software/nvidia driver", "1.0", "mixed", "nvidia driver 1.0"),
        ("software/all packages", "1.0", "mixed", "all packages 1.0"),
        ("outcome/boot_id", "another", "mixed", "the runs differ in boot"),
        ("device/physical_id", "gpu-2", "mixed", "the runs differ in physical device"),
        ("code/git", GIT, "mixed", f"f00d with changes abababababab: {RUN}"),
        ("generator/version", "0.0.1", "mixed", "the runs differ in version of tachograph"),
        ("environment/TORCH_BLAS_PREFER_HIPBLASLT", "1", "mixed", "the runs differ in TORCH_BLAS_PREFER_HIPBLASLT (un"),
        ("environment/MKL_NUM_THREADS", "3", "mixed", f"; 3: {RUN})"),
        ("process/host", "elsewhere", "mixed", "the runs differ in host"),
    ],
)
def test_fact_of_a_run_is_told(sealed: SealedStudy, place: str, value: Any, kind: str, words: str) -> None:
    """One run whose facts differ gives one deviation more, which says what and where; the study as it is has none."""
    assert kind not in told(sealed)
    found = told(with_fact(sealed, place, value))
    assert found.keys() - told(sealed).keys() == {kind}
    assert words in found[kind]["what_happened"]
    assert RUN in (found[kind]["run"] or found[kind]["what_happened"])


@pytest.mark.parametrize("name", ["STUB_PATH", "NUMBA_CACHE_DIR", "SLURM_JOB_ID"])
def test_variable_that_the_study_gives_is_no_deviation(sealed: SealedStudy, name: str) -> None:
    """What arms are told apart by is registered, and where a job ran says nothing about how."""
    assert "mixed" not in told(with_fact(sealed, f"environment/{name}", "another"))


def test_attempt_without_an_end_is_told(sealed: SealedStudy) -> None:
    """A run that nobody saw end is listed, and gives no number."""
    state = deepcopy(sealed.state)
    state.attempts[RUN][0].status = None
    found = told(replace(sealed, state=state))
    assert found["unfinished"]["run"] == RUN
    assert found["unfinished"]["what_happened"] == "attempt 1 has no end in the ledger"


@pytest.mark.parametrize(("hours", "step"), [(0.5, -3600.0), (0.5, 7.25), (0.0, -1.0)])
def test_clock_that_was_set_during_a_run_is_told(sealed: SealedStudy, hours: float, step: float) -> None:
    """Where the trainer writes no clock, the supervisor's two clocks tell a step."""
    found = told(_with_clock(sealed, hours, step))
    assert found["clock"]["what_happened"].endswith(f": {RUN} {step:+.1f} s")
    assert "clock" not in told(sealed)


def test_slow_drift_of_the_clock_is_no_step(sealed: SealedStudy) -> None:
    """15 s in ten hours are 417 millionths, as an NTP daemon slews a clock."""
    assert "clock" not in told(_with_clock(sealed, 10.0, 15.0))


def _with_clock(sealed: SealedStudy, hours: float, step: float) -> SealedStudy:
    outcome = dict(sealed.runs[RUN].facts["outcome"])
    outcome["ended_monotonic"] = outcome["started_monotonic"] + 3600 * hours
    outcome["ended_wall"] = outcome["started_wall"] + 3600 * hours + step
    return with_fact(sealed, "outcome", outcome)
