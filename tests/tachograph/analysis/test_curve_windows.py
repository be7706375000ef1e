"""Windows, margins and resolutions of the curves are those that were registered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from tachograph.analysis.sealed import SealedStudy
from tachograph.analysis.verdicts import judge_lines
from tachograph.evidence.curves import Curves
from tachograph.models import Study
from tachograph.models.study import CurveWindow, Metric
from tachograph.study.reach import design_of

RNG = np.random.default_rng(0)
PILOT = {"column": "policy_loss", "label": "policy loss", "reason": "a pilot", "sigma_seed": 0.01}


def registered(sealed: SealedStudy, **keys: Any) -> SealedStudy:
    """The study with other keys in its file, checked as a study file is."""
    data = sealed.study.model_dump(mode="json", by_alias=True)
    return replace(sealed, study=Study.model_validate({**data, **keys}, strict=False))


def lines(difference: list[float], noise: float = 1e-3) -> Curves:
    """Four runs of each arm over eight iterations; the fast one is higher by ``difference``."""
    values = 0.5 + noise * RNG.standard_normal((8, 1, 8))
    values[4:] += np.array(difference)
    return Curves(("policy_loss",), np.arange(1, 9), values[:4], values[4:], paired=False)


def test_registered_window_is_the_statistic(sealed: SealedStudy) -> None:
    """D20: only the last iteration differs, 0.62 against 0.50: over the last five the means differ by 0.024."""
    window = {"name": "last five", "first": 4, "last": 8}
    study = registered(sealed, curves=[{**PILOT, "margin": 0.05}], curve_windows=[window])
    found = judge_lines(study, lines([0.0] * 7 + [0.12]), RNG)
    cells = found["equivalence"]["cells"]
    assert [cell["window"] for cell in cells] == ["last five"]
    assert cells[0]["difference"] == pytest.approx(0.024, abs=2e-3)
    assert cells[0]["passes"]
    thirds = judge_lines(registered(sealed, curves=[{**PILOT, "margin": 0.05}]), lines([0.0] * 8), RNG)
    assert [cell["window"] for cell in thirds["equivalence"]["cells"]] == ["early", "mid", "late"]


@pytest.mark.parametrize(("keys", "delta"), [({}, 0.02), ({"margin_in_sigma": 3}, 0.03), ({"margin": 0.5}, 0.5)])
def test_margin_is_a_multiple_of_the_spread_between_seeds(
    sealed: SealedStudy, keys: dict[str, float], delta: float
) -> None:
    """δ = c·σ of a pilot with c = 2 unless registered; a margin in the metric's unit counts as it is."""
    study = registered(sealed, curves=[{**PILOT, **keys}])
    cells = judge_lines(study, lines([0.0] * 8), RNG)["equivalence"]["cells"]
    assert [cell["margin"] for cell in cells] == [pytest.approx(delta)] * 3
    assert design_of(study.study, "fast").margins["policy_loss"] == pytest.approx(delta / 0.01)


def test_differences_below_the_resolution_are_not_magnified(sealed: SealedStudy) -> None:
    """A shift of 1e-6 without noise is found for certain, unless the registered resolution is a thousand times it."""
    shifted = lines([1e-6] * 8, noise=0.0)
    bare = judge_lines(registered(sealed, curves=[PILOT]), shifted, RNG)["difference"]
    coarse = judge_lines(registered(sealed, curves=[{**PILOT, "resolution": 1e-3}]), shifted, RNG)["difference"]
    assert bare["statistic"] > 1
    assert coarse["statistic"] == pytest.approx(1e-3)


def test_windows_count_in_the_design_check(sealed: SealedStudy) -> None:
    """The plan reckons with as many windows as are registered, three unless any is."""
    assert design_of(sealed.study, "fast").windows == 3
    windows = [{"name": "first", "first": 1, "last": 1}, {"name": "last", "first": 8, "last": 8}]
    assert design_of(registered(sealed, curve_windows=windows).study, "fast").windows == 2


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"curve_windows": [{"name": "late", "first": 7, "last": 9}]}, "found 7 to 9, expected iterations in order"),
        ({"curve_windows": [{"name": "late", "first": 5, "last": 4}]}, "found 5 to 4"),
        ({"curve_windows": [CurveWindow(name="a", first=1, last=2).model_dump()] * 2}, "found 'a' twice"),
        ({"curves": [{**PILOT, "margin": 0.1, "margin_in_sigma": 2}]}, "found both margin and margin_in_sigma"),
        ({"curves": [{**PILOT, "sigma_seed": None}]}, "margin: the key is missing"),
        ({"curves": [PILOT] * 6}, "at most 5 items"),
    ],
)
def test_windows_and_margins_that_cannot_be_are_refused(
    sealed: SealedStudy, keys: dict[str, list[Any]], words: str
) -> None:
    """A window outside of the runs, two of one name, two margins or none, and a sixth primary metric."""
    with pytest.raises(ValidationError, match=words):
        registered(sealed, **keys)


def test_metric_without_a_pilot_keeps_its_margin() -> None:
    """The margin alone is what was registered so far."""
    assert Metric(column="x", label="x", margin=0.3, reason="it is known").delta == 0.3
