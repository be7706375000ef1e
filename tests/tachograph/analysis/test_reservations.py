"""What speaks against relying on a factor: each ground alone makes it provisional, for the arms that it concerns."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from tachograph.analysis.conditions import reservations

Change = Callable[[dict[str, Any], str], None]


def of_arm(analysis: dict[str, Any], arm: str) -> list[dict[str, Any]]:
    return [run for run in analysis["runs"] if run["role"] == "run" and run["arm"] == arm]


def unknown_foreign(analysis: dict[str, Any], arm: str) -> None:
    of_arm(analysis, arm)[0]["host"]["quantities"]["cpu_foreign"] = {"value": None, "reason": "nobody looked"}


def gpu(status: str) -> Change:
    def change(analysis: dict[str, Any], arm: str) -> None:
        run = of_arm(analysis, arm)[0]
        run["device"]["kind"] = "cuda"
        run["host"]["gpu_processes"]["status"] = status

    return change


def failed_check(analysis: dict[str, Any], arm: str) -> None:
    next(one for one in analysis["preflight"]["checks"] if one["arm"] == arm)["verdict"] = "FAIL"


def unsteady(outcome: str) -> Change:
    def change(analysis: dict[str, Any], arm: str) -> None:
        next(one for one in analysis["steadiness"]["runs"] if one["arm"] == arm)["outcome"] = outcome

    return change


def unsteady_mean(analysis: dict[str, Any], arm: str) -> None:
    analysis["steadiness"]["arms"][arm]["outcome"] = "slowdown"


def drifting(analysis: dict[str, Any], arm: str) -> None:
    analysis["drift"] = [{"arm": arm, "flagged": True, "total": -0.034}]


def other_order(analysis: dict[str, Any], arm: str) -> None:
    analysis["order"]["block_deviations"] = ["the runs of block 1 are not adjacent"]


@pytest.fixture
def quiet(analysis: dict[str, Any]) -> dict[str, Any]:
    """The executed study as if nothing had spoken against it."""
    found = deepcopy(analysis)
    for run in found["runs"]:
        run["host"]["quantities"]["cpu_foreign"] = {"mean": 0.0}
        run["host"]["gpu_processes"]["status"] = "clean"
    for one in [*found["steadiness"]["runs"], *found["steadiness"]["arms"].values()]:
        one["outcome"] = "steady"
    found["drift"], found["placebo"]["caps"], found["clocks"]["cycles"] = [], [], []
    assert reservations(found) == []
    return found


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (unknown_foreign, "what other programs did is unknown during run-{arm}-seed0"),
        (gpu("contaminated"), "other programs used the GPU during run-{arm}-seed0"),
        (gpu("unknown"), "whether other programs used the GPU is unknown during run-{arm}-seed0"),
        (unsteady("slowdown"), "run-{arm}-seed0: slowdown"),
        (unsteady("no steady state"), "run-{arm}-seed0: no steady state"),
        (unsteady("INSUFFICIENT"), "run-{arm}-seed0: INSUFFICIENT"),
        (unsteady_mean, "mean of arm {arm}: slowdown"),
        (drifting, "drift of -3.4% over the session ({arm})"),
    ],
)
@pytest.mark.parametrize("arm", ["reference", "fast"])
def test_ground_makes_its_arm_provisional(quiet: dict[str, Any], change: Change, sentence: str, arm: str) -> None:
    """One ground gives one reservation, which concerns all arms where it is about the reference."""
    change(quiet, arm)
    concerned = None if arm == "reference" else arm
    assert reservations(quiet) == [{"arm": concerned, "sentence": sentence.format(arm=arm)}]


def test_grounds_that_concern_all_arms(quiet: dict[str, Any]) -> None:
    """A reference that failed its preflight, and another order than the registered one."""
    failed_check(quiet, "reference")
    other_order(quiet, "reference")
    found = reservations(quiet)
    assert [one["arm"] for one in found] == [None, None]
    assert found[0]["sentence"].startswith("preflight: ")
    assert found[0]["sentence"].endswith("(reference): FAIL")
    assert found[1]["sentence"] == "the runs of block 1 are not adjacent"


def test_unknown_users_of_a_gpu_do_not_touch_a_processor(quiet: dict[str, Any]) -> None:
    """Where a run used no GPU, it does not matter that nobody could look at one."""
    for run in quiet["runs"]:
        run["host"]["gpu_processes"]["status"] = "unknown"
    assert reservations(quiet) == []
