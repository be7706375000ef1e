"""Clocks, best runs and the registered ceiling."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest

from tachograph.analysis.clocks import clocks
from tachograph.analysis.conditions import reservations
from tachograph.analysis.decision import decision
from tachograph.analysis.sealed import SealedStudy
from tachograph.record.reliability import reliability


@pytest.fixture
def found(analysis: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(analysis)


def sampled(found: dict[str, Any], quantity: str, reference: float, fast: float) -> None:
    """Put sampled clocks (MHz) into the runs of both arms."""
    for run in found["runs"]:
        mhz = fast if run["arm"] == "fast" else reference
        run["host"]["quantities"][quantity] = {"min": 0.99 * mhz, "mean": mhz, "max": 1.01 * mhz, "n": 3}


def test_best_run_is_a_lower_bound_with_its_exposure(found: dict[str, Any]) -> None:
    """The best rate of an arm's runs carries ≥, N and exposure, and no factor is made of two of them."""
    best = {one["arm"]: one for one in clocks(found)["best"]}
    rates = [
        run["rates"]["stage"]["retained"] for run in found["runs"] if run["role"] == "run" and run["arm"] == "fast"
    ]
    assert best["fast"]["value"] == max(rate["value"] for rate in rates)
    assert best["fast"]["n"] == 2
    assert best["fast"]["exposure"] == pytest.approx(sum(rate["seconds"] for rate in rates))
    assert best["fast"]["label"].startswith("≥")
    assert best["fast"]["ratio_is_lower_bound"] is False
    page = reliability(found)
    assert "Best of 2 runs of fast: ≥" in page


def test_ratio_of_best_runs_is_a_lower_bound_under_two_conditions(found: dict[str, Any]) -> None:
    """Equal exposure and a clock that did not favour the arm: then, and only then, the page calls the ratio a bound."""
    for run in found["runs"]:
        if run["role"] == "run":
            run["rates"]["stage"]["retained"]["seconds"] = 10.0
    for fast, bound in ((1900.0, True), (2100.0, False)):
        sampled(found, "cpu_mhz", 2000.0, fast)
        found["clocks"] = clocks(found)
        best = {one["arm"]: one for one in found["clocks"]["best"]}
        assert best["fast"]["ratio_is_lower_bound"] is bound
        assert ("That of fast over the reference is a lower bound" in reliability(found)) is bound


def test_arms_at_other_clocks_are_provisional(found: dict[str, Any]) -> None:
    """I9: a factor that clock cycles do not confirm is a reservation; equal clocks give the same factor in cycles."""
    sampled(found, "cpu_mhz", 2000.0, 2000.0)
    one = clocks(found)["cycles"][0]
    assert one["cycles"] == pytest.approx(one["time"])
    assert one["sentence"] is None
    for run in found["runs"]:
        run["host"]["quantities"]["cpu_mhz"] = {"min": 2596.1, "mean": 2596.1, "max": 2596.1, "n": 3}
    assert clocks(found)["cycles"] == []  # a nominal clock that never moves confirms nothing
    sampled(found, "cpu_mhz", 1000.0, 2000.0)
    found["clocks"] = clocks(found)
    assert found["clocks"]["cycles"][0]["cycles"] == pytest.approx(found["clocks"]["cycles"][0]["time"] / 2)
    assert any("in clock cycles" in one["sentence"] for one in reservations(found))


def test_throttled_gpu_is_a_reservation(found: dict[str, Any]) -> None:
    """A GPU whose mean clock lay 10 % below the largest of its arm is not called quiet."""
    sampled(found, "gpu_mhz", 1965.0, 1965.0)
    for run in found["runs"]:
        run["device"]["kind"] = "cuda"
    assert clocks(found)["throttled"] == []
    next(run for run in found["runs"] if run["run"] == "run-fast-seed1")["host"]["quantities"]["gpu_mhz"]["mean"] = (
        1768.0
    )
    found["clocks"] = clocks(found)
    assert any("run-fast-seed1" in one["sentence"] and "95 %" in one["sentence"] for one in reservations(found))


def test_factor_beyond_the_registered_ceiling_is_invalid(sealed: SealedStudy, found: dict[str, Any]) -> None:
    """I23: 4,300x where a share of 95.7 % allows 23.3x is INVALID and held, until the numerics parity is shown."""
    assert sealed.study.decision is not None
    headline = next(one for one in found["factors"] if one["headline"])
    headline.update(factor=4300.0, low=4000.0, high=4600.0)
    found["reservations"], found["steadiness"]["headline"] = [], True
    rule = sealed.study.decision.model_copy(update={"ceiling": 23.3})
    study = replace(sealed, study=sealed.study.model_copy(update={"decision": rule}))
    assert decision(study, found)["arms"][0]["speed"] == "GAIN"
    found["preflight"]["not_registered"] = ["parity"]
    one = decision(study, found)["arms"][0]
    assert (one["speed"], one["decision"]) == ("INVALID", "HOLD")
    assert "4,300x exceeds the ceiling of 23.3x" in one["caps"][0]


def test_factor_beyond_amdahls_law_on_the_profile_is_invalid(sealed: SealedStudy, found: dict[str, Any]) -> None:
    """I23 without a registered ceiling: the profile gives it; without a profile there is none."""
    headline = next(one for one in found["factors"] if one["headline"])
    found["reservations"], found["steadiness"]["headline"] = [], True
    found["preflight"]["not_registered"] = ["parity"]
    found["stages"]["bounds"] = {"fast": {"parts": ("move network forward",), "share": 0.957, "factor": 1 / 0.043}}
    for factor, speed in ((4300.0, "INVALID"), (2.4, "GAIN")):
        headline.update(factor=factor, low=0.99 * factor, high=1.01 * factor)
        assert decision(sealed, found)["arms"][0]["speed"] == speed
    headline.update(factor=4300.0, low=4000.0, high=4600.0)
    told = "4,300x exceeds the ceiling of 23.26x (Amdahl's law: move network forward of the reference's profile, 95.7%"
    assert told in decision(sealed, found)["arms"][0]["caps"][0]
    found["stages"]["bounds"] = {}
    assert decision(sealed, found)["arms"][0]["speed"] == "GAIN"


def test_real_profiles_give_a_bound(found: dict[str, Any]) -> None:
    """The network, the largest stage, and whatever became faster by over 5 % in these profiles set the ceiling."""
    rows = {row["stage"]: row for row in found["stages"]["rows"]}
    largest = max(rows, key=lambda name: rows[name]["arms"]["reference"]["share"])
    faster = [name for name, row in rows.items() if name == largest or row["factors"]["fast"] > 1.05]
    share = sum(rows[name]["arms"]["reference"]["share"] for name in faster)
    assert largest == "move network forward"
    if len(faster) == len(rows):  # under load everything may have been slower in the reference's session
        assert found["stages"]["bounds"] == {}
    else:
        one = found["stages"]["bounds"]["fast"]
        assert sorted(one["parts"]) == sorted(faster)
        assert one["factor"] == pytest.approx(1 / (1 - share))
