"""A warm-up that is longer than the registered one leaves the headline as it is and adds a row beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tachograph.analysis.conditions import steadiness
from tachograph.analysis.sealed import SealedStudy
from tachograph.analysis.study import sections
from tachograph.record.speed import factors as page

# Seconds of the eight iterations of every run: one of warm-up is registered, two are slow.
SLOW = {
    "reference": [40.0, 16.0, 10.0, 10.1, 9.9, 10.05, 9.95, 10.0],
    "fast": [9.0, 5.0, 2.0, 2.01, 1.99, 2.0, 2.02, 1.98],
}


def slow_to_start(sealed: SealedStudy, seconds: dict[str, list[float]]) -> SealedStudy:
    """The study with these seconds in every run of its blocks, each with 1,000 steps of work."""
    runs = dict(sealed.runs)
    for run in sealed.of_role("run"):
        history: Any = run.history
        durations = dict.fromkeys(history.durations, np.array(seconds[run.planned.arm]))
        changed = replace(history, durations=durations, work=np.full(len(history), 1000.0))
        runs[run.planned.key] = replace(run, history=changed)
    return replace(sealed, runs=runs)


def by_kind(analysis: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in analysis["factors"] if one["quantity"] == "stage"}


def test_longer_warmup_has_a_row_with_its_factor(sealed: SealedStudy) -> None:
    """MSER drops two iterations: the headline keeps one, the row beside it is the ratio of the six others' seconds."""
    analysis = sections(slow_to_start(sealed, SLOW))
    assert analysis["steadiness"]["longer_warmup"] == 2
    found = by_kind(analysis)
    assert found["retained"]["factor"] == pytest.approx(sum(SLOW["reference"][1:]) / sum(SLOW["fast"][1:]))
    assert found["retained"]["headline"]
    assert found["longer warm-up"]["factor"] == pytest.approx(60.0 / 12.0)
    assert found["longer warm-up"]["window"] == "iterations after 2 (longer warm-up)"
    assert "iterations after 2 (longer warm-up)" in page(analysis)


def test_steady_runs_have_no_such_row(sealed: SealedStudy) -> None:
    """Where the registered warm-up suffices, nothing is added."""
    steady = {arm: [seconds[0], *seconds[3:], *seconds[2:4]] for arm, seconds in SLOW.items()}
    analysis = sections(slow_to_start(sealed, steady))
    assert analysis["steadiness"]["longer_warmup"] is None
    assert "longer warm-up" not in by_kind(analysis)


def test_precision_within_a_run_has_blocks_of_the_registered_period(sealed: SealedStudy) -> None:
    """Work that repeats every fourth iteration is resampled four iterations at a time, not two."""

    def blocks(period: int) -> set[int]:
        history = sealed.trainer.history.model_copy(update={"period": period})
        changed = replace(sealed, trainer=sealed.trainer.model_copy(update={"history": history}))
        return {one["within_run"]["block"] for one in steadiness(changed)["runs"]}

    assert blocks(1) == {2}
    assert blocks(4) == {4}
