"""What a reference that does not repeat, or that was not steady, takes away from the verdicts and the page."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tachograph.analysis.conditions import costs, steadiness
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.analysis.study import sections
from tachograph.analysis.tables import table
from tachograph.analysis.verdicts import curve_verdicts
from tachograph.record import head, trust


def with_runs(sealed: SealedStudy, **changed: SealedRun) -> SealedStudy:
    return replace(sealed, runs={**sealed.runs, **{key.replace("_", "-"): run for key, run in changed.items()}})


def test_repeats_as_far_apart_as_seeds_are_no_pairs(sealed: SealedStudy) -> None:
    """I25: the reference run twice differs as much as two seeds do: told, and runs of the same seed are not paired."""
    assert curve_verdicts(sealed)[0]["paired"] is True
    other = replace(sealed.runs["aa-reference-seed0"], history=sealed.runs["run-reference-seed1"].history)
    one = curve_verdicts(with_runs(sealed, aa_reference_seed0=other))[0]
    noise = one["repeat_noise"]
    assert noise["usable"] is False
    assert noise["repeat_max"] == noise["seed_max"]
    assert one["paired"] is False
    assert one["equivalence"]["method"] == "pooled t"
    page = trust.curves({**sections(with_runs(sealed, aa_reference_seed0=other))})
    assert "runs of the same seed are not taken for pairs" in page


def test_windows_of_test_e_stand_on_the_page_and_in_a_table(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """D20: the difference of window means is what test E judges; each window is told with its interval."""
    rows = table(analysis, "equivalence")
    reference, fast = (
        [sealed.runs[f"run-{arm}-seed{seed}"].history for seed in (0, 1)] for arm in ("reference", "fast")
    )
    late = [np.mean([h.curve("policy_loss")[6:] for h in group if h]) for group in (fast, reference)]
    assert list(rows["window"]) == ["early", "mid", "late"]
    assert rows["difference"].iloc[2] == pytest.approx(late[0] - late[1])
    tests = table(analysis, "curve_tests").iloc[0]
    assert (tests["p_min"], tests["reference_runs"]) == (pytest.approx(1 / 3), 2)
    page = trust.curves(analysis)
    assert "| policy\\_loss | late" in page


def test_run_that_was_not_steady_has_no_headline(sealed: SealedStudy) -> None:
    """I8: durations of 12:53, 4:53, 1:00 and 0:48 minutes: no headline factor, no speed verdict, no prediction."""
    history = sealed.runs["run-fast-seed1"].history
    assert history is not None
    short = np.array([773.0, 293.0, 60.0, 48.0])
    few = history.between(1, 4)
    few = replace(few, durations={**few.durations, "collection": short, "iteration": short + 1})
    found = sections(with_runs(sealed, run_fast_seed1=replace(sealed.runs["run-fast-seed1"], history=few)))
    assert found["steadiness"]["headline"] is False
    assert found["decision"]["arms"][0]["speed"] == "NO VERDICT"
    assert found["prediction"]["verdict"] == "NOT TESTED"
    top = head.result({**found, "status": "complete"})
    assert "No headline factor for fast" in top
    assert "x as fast" not in top


def flagged(sealed: SealedStudy, key: str, row: int, seconds: float) -> SealedStudy:
    """The study in which iteration ``row`` of one run compiled, and took this long."""
    run = sealed.runs[key]
    assert run.history is not None
    history: Any = run.history
    spec = replace(history.spec, compile_flag="compiled")
    durations = {name: values.copy() for name, values in history.durations.items()}
    for values in durations.values():
        values[row] = seconds
    compiled = np.zeros(len(history))
    compiled[row] = 1
    columns = {**history.columns, "compiled": compiled}
    changed = replace(run, history=replace(history, spec=spec, durations=durations, columns=columns))
    return replace(sealed, runs={**sealed.runs, key: changed})


@pytest.mark.parametrize("row", [0, 4])
def test_compilation_is_a_one_off_cost(sealed: SealedStudy, row: int) -> None:
    """A compilation, within the warm-up or after it, is paid once: it is in the one-off cost and not retained."""
    compiled = flagged(sealed, "run-fast-seed0", row, 36.6)
    cost = next(one for one in costs(compiled, sections(compiled)["factors"]) if one["seed"] == 0)
    assert cost["once_seconds"] == pytest.approx(36.6, abs=0.5)
    found = next(one for one in steadiness(compiled)["runs"] if one["run"] == "run-fast-seed0")
    assert found["retained"] == (7 if row == 0 else 6)


def test_hold_out_and_correlation_stand_on_the_page(analysis: dict[str, Any]) -> None:
    """From four reference runs on the envelope is judged by its own runs; a negative seed correlation is told."""
    found = copy.deepcopy(analysis)
    assert "lie outside of the envelope that the other" not in trust.curves(found)
    for metric in found["curves"]:
        for row in metric["rows"]:
            row["hold_out_failures"] = 2
    found["curve_verdicts"][0]["seed_correlation"] = {"policy_loss": -0.25}
    page = trust.curves(found)
    assert "Reference runs that lie outside of the envelope that the other reference runs draw: policy loss 2" in page
    assert "policy\\_loss -0.25; where it is negative, relabelling is not conservative" in page
    assert list(table(found, "curves")["hold_out_failures"]) == [2] * len(table(found, "curves"))
