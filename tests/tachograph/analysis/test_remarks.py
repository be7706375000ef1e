"""What is shown beside a factor and caps nothing is said at the place where a reader asks whether to rely on it."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import pytest

from tachograph.analysis.remarks import remarks
from tachograph.analysis.sealed import SealedStudy
from tachograph.analysis.study import sections
from tachograph.record import head, reliability


@pytest.fixture
def calm(analysis: dict[str, Any]) -> dict[str, Any]:
    """The analysis of a real study with an interval of 10 % to either side and nothing to remark."""
    found = copy.deepcopy(analysis)
    found["reservations"] = []
    for one in found["factors"]:
        one.update(factor=2.0, low=2.0 / 1.08, high=2.0 * 1.08, note="")
    for one in found["steadiness"]["runs"]:
        one.update(change=0.0, halves=0.0, outcome="steady", flags=["steady"])
    found["steadiness"]["headline"] = True
    assert remarks(found) == []
    return found


def factor(analysis: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        one for one in analysis["factors"] if (one["quantity"], one["kind"]) == ("stage", kind)
    )
    return found


def run(analysis: dict[str, Any], key: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in analysis["steadiness"]["runs"] if one["run"] == key)
    return found


@pytest.mark.parametrize("kind", ["second half", "twice the warm-up", "window"])
def test_factor_that_leaves_its_interval_with_another_window_is_told(calm: dict[str, Any], kind: str) -> None:
    """2.00x [1.85, 2.16] becomes 2.20x when other iterations count: said with all windows, for this arm."""
    factor(calm, kind).update(factor=2.2)
    (one,) = remarks(calm)
    assert one["arm"] == "fast"
    assert "2.00x is the headline" in one["sentence"]
    assert one["sentence"].endswith("; 2.20x lies outside of 1.85 to 2.16")
    factor(calm, kind).update(factor=2.15)
    assert remarks(calm) == []


def test_whole_run_is_no_window_of_the_same_question(calm: dict[str, Any]) -> None:
    """Warm-up is in it on purpose: its factor is expected to be another one."""
    factor(calm, "whole run").update(factor=9.0)
    assert remarks(calm) == []


@pytest.mark.parametrize(
    ("change", "halves", "told"),
    [
        (-0.216, -0.158, "-21.6%"),
        (0.03, -0.09, "-9.0%"),  # 1 / 0.91 is more than 1.08
        (0.085, 0.0, "+8.5%"),
        (0.075, -0.07, None),
    ],
)
def test_change_beyond_the_interval_is_told_of_either_arm(
    calm: dict[str, Any], change: float, halves: float, told: str | None
) -> None:
    """A change larger than the interval reaches (8 %) is told with its size; of the reference it concerns all arms."""
    for key, arm in (("run-fast-seed1", "fast"), ("run-reference-seed0", None)):
        changed = copy.deepcopy(calm)
        run(changed, key).update(change=change, halves=halves)
        found = remarks(changed)
        assert [one["arm"] for one in found] == ([] if told is None else [arm])
        assert all(f"more than 8.0%, in {key} {told}:" in one["sentence"] for one in found)


def test_wide_interval_hides_no_large_change(calm: dict[str, Any]) -> None:
    """Two noisy blocks reach 60 % to either side: a change by a tenth is told all the same, and so are the blocks."""
    factor(calm, "retained").update(low=2.0 / 1.6, high=3.2, note="uninformative (n=2, t=12.7)")
    run(calm, "run-fast-seed0").update(change=-0.2)
    blocks, change = remarks(calm)
    assert blocks["sentence"] == "the interval of the factor of fast: uninformative (n=2, t=12.7)"
    assert "by more than 10.0%, in run-fast-seed0 -20.0%: " in change["sentence"]


def test_what_caps_the_verdict_is_no_remark_too(calm: dict[str, Any]) -> None:
    """A slowdown stands among the reservations; a warm-up longer than registered caps nothing and is a remark."""
    run(calm, "run-fast-seed0").update(change=0.4, outcome="slowdown", flags=["slowdown"])
    assert remarks(calm) == []
    run(calm, "run-fast-seed0").update(change=0.0, outcome="warm-up longer than registered")
    assert "the warm-up seems longer than registered in run-fast-seed0" in remarks(calm)[0]["sentence"]


def test_without_an_interval_two_percent_are_told(calm: dict[str, Any]) -> None:
    """Nothing else says what is small."""
    factor(calm, "retained").update(low=None, high=None)
    factor(calm, "window").update(factor=2.0 * math.exp(0.021))
    assert remarks(calm)[0]["sentence"].endswith("2.04x differs by more than 2 %")


def test_page_counts_the_remarks_and_what_was_looked_at(calm: dict[str, Any]) -> None:
    """No sentence says that nothing speaks against a factor: it says what was looked at, what not, and the remarks."""
    run(calm, "run-fast-seed1").update(change=-0.328)
    factor(calm, "second half").update(factor=2.5)
    calm["remarks"] = remarks(calm)
    calm["placebo"] = {"registered": False, "reason": "no repeat"}
    page = reliability.reliability(calm)
    assert "2 remarks belong to the factors all the same" in page
    assert "run-fast-seed1 -32.8%" in page
    assert "speaks against" not in page
    assert "Not measured or not told apart: the reference against itself (A/A)" in page
    assert "**With 2 remarks**" in head.result({**calm, "status": "complete"})


def test_remarks_follow_from_real_runs(sealed: SealedStudy) -> None:
    """Iterations of a real run that become a third shorter step by step are told in its record."""
    held = sealed.runs["run-fast-seed1"]
    assert held.history is not None
    durations = {name: values.copy() for name, values in held.history.durations.items()}
    for values in durations.values():
        values[1:] = values[1] * (1 - 0.33 * (values[1:] * 0 + [0, 2, 1, 3, 4, 6, 5]) / 6)
    changed = replace(held, history=replace(held.history, durations=durations))
    found = sections(replace(sealed, runs={**sealed.runs, "run-fast-seed1": changed}))
    said = [one["sentence"] for one in (*found["remarks"], *found["reservations"])]
    assert any("run-fast-seed1" in sentence for sentence in said)
