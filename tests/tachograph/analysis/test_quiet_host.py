"""What counts as a quiet host is registered, and scaled to the host."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tachograph.analysis.disturbance import disturbed, quiet
from tachograph.analysis.sealed import SealedStudy, read_sealed
from tachograph.analysis.study import sections
from tachograph.models.study import Quiet
from tachograph.study.layout import StudyFolder


@pytest.fixture(scope="module")
def sealed(executed: Path) -> SealedStudy:
    """The executed study with half a processor busy elsewhere during one run, and a load of 3."""
    found = read_sealed(StudyFolder(executed / "results/stub"))
    runs = {}
    for key, run in found.runs.items():
        busy = 0.5 if key == "run-fast-seed1" else 0.0
        sampled = {"cpu_foreign": {"mean": busy}, "load_1min": {"min": 1.0, "mean": 2.0, "max": 3.0, "n": 9}}
        quantities = {**run.facts["host"]["quantities"], **sampled}
        runs[key] = replace(run, facts={**run.facts, "host": {**run.facts["host"], "quantities": quantities}})
    return replace(found, runs=runs)


def judged(sealed: SealedStudy, processors: int, **bounds: Any) -> tuple[list[str], list[str]]:
    """Contention among the deviations and among the reservations, on a host of so many processors."""
    study = sealed.study.model_copy(update={"quiet": Quiet(**bounds)})
    analysis = sections(replace(sealed, study=study, machine={**sealed.machine, "cpus_usable": processors}))
    told = [one["what_happened"] for one in analysis["deviations"] if one["kind"] == "contention"]
    said = [one["sentence"] for one in analysis["reservations"]]
    return told, [one for one in said if "processors busy" in one or "the load" in one]


def test_threshold_is_a_share_of_the_processors(sealed: SealedStudy) -> None:
    """Half a processor is much on a host of 2 and little on one of 32; the registered share decides."""
    assert quiet(replace(sealed, machine={"cpus_usable": 2})) == {"foreign_cpus": pytest.approx(0.1), "load": None}
    told, said = judged(sealed, 2)
    assert told == ["other programs kept more than 0.1 processors busy, on average through a job: run-fast-seed1 0.50"]
    assert said == ["other programs kept the processors busy during run-fast-seed1"]
    assert judged(sealed, 32) == ([], [])
    assert judged(sealed, 32, foreign_share=0.01)[1] == said
    assert judged(sealed, 2, foreign_share=0.25) == ([], [])


def test_load_is_judged_where_it_is_registered(sealed: SealedStudy) -> None:
    """A load of 3 exceeds a registered 2.5 in every run, and none of 3."""
    told, said = judged(sealed, 32, load=2.5)
    assert told[0].startswith("the load average exceeded the registered 2.5, or is unknown, during ")
    assert said == ["the load exceeded the registered one, or is unknown, during every run of the blocks"]
    assert judged(sealed, 32, load=3.0) == ([], [])


@pytest.mark.parametrize(("slope", "told"), [(0.9, []), (1.0, ["GPU in run-fast-seed1 1.0"]), (-2.0, [])])
def test_rising_temperature_is_told(sealed: SealedStudy, slope: float, told: list[str]) -> None:
    """Statistics.md, 3.3: from 1 °C per minute on, a device had not come to its working temperature."""
    run = sealed.runs["run-fast-seed1"]
    heat = {"gpu_temperature": {"mean": 70.0, "slope_per_minute": slope}}
    host = {**run.facts["host"], "quantities": {**run.facts["host"]["quantities"], **heat}}
    heated = replace(sealed, runs={**sealed.runs, "run-fast-seed1": replace(run, facts={**run.facts, "host": host})})
    found = [one["what_happened"] for one in sections(heated)["deviations"] if one["kind"] == "warming"]
    assert [one.split(": ")[1] for one in found] == told
    assert ["grew warmer" in " ".join(disturbed({**run.facts, "host": host}, quiet(heated)))] == [bool(told)]


@pytest.mark.parametrize(
    ("device", "status", "told"),
    [
        ("cuda", "unknown", "whether other programs used the GPU is unknown"),
        ("cuda", "contaminated", "other programs used the GPU"),
        ("cuda", "clean", ""),
        ("cpu", "unknown", ""),
    ],
)
def test_what_nobody_knows_of_the_gpu_is_told(sealed: SealedStudy, device: str, status: str, told: str) -> None:
    """D14: a profile or candidate whose GPU could not be looked at is not passed off as one that was alone on it."""
    facts = sealed.runs["profile-fast-seed0"].facts
    host = {**facts["host"], "quantities": {}, "gpu_processes": {"status": status, "processes": []}}
    found = disturbed({**facts, "host": host, "device": {"kind": device}}, quiet(sealed))
    assert [one for one in found if "GPU" in one] == ([told] if told else [])
