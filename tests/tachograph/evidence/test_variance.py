"""The spread of a factor, split into noise within runs and between them."""

from __future__ import annotations

import numpy as np
import pytest

from tachograph.analysis.variance import variance
from tachograph.evidence.interval import paired_log_t
from tachograph.evidence.variance import VarianceSplit, variance_split
from tachograph.evidence.withinrun import within_run
from tachograph.record.reliability import _variance


def test_corrected_variance_between_runs() -> None:
    """T₂² = S₂² - S₁²/r: 5 % in all with 3 % from within leaves 4 %; less than what is within leaves nothing."""
    found = variance_split(0.05, 0.03, 9, 0.0, 1.0)
    assert found.between == pytest.approx(0.04)
    assert variance_split(0.02, 0.03, 9, 10.0, 1.0) == VarianceSplit(0.02, 0.03, 0.0, 9, None)


def test_best_number_of_iterations() -> None:
    """r = ⌈√(c_start / c_iter · T₁² / T₂²)⌉ agrees with the r that a search over the variance for equal time finds."""
    start, each, iterations, within, between = 40.0, 2.0, 10, 0.03, 0.01
    found = variance_split(float(np.hypot(within, between)), within, iterations, start, each)
    tried = np.arange(1, 200)
    spread = (start + each * tried) * (between**2 + iterations * within**2 / tried)  # variance of the mean, times time
    assert found.best_iterations == pytest.approx(int(tried[spread.argmin()]), abs=1)


def test_split_of_simulated_runs() -> None:
    """Runs of 40 iterations with 4 % noise, blocks that differ by 0 or 5 % in their factor: both parts are found."""
    rng = np.random.default_rng(3)
    for between in (0.0, 0.05):
        runs, rates, steadiness = [], {"r": [], "f": []}, []
        for block in range(40):
            shift = between * rng.normal()
            for arm in "rf":
                seconds = np.exp(0.04 * rng.normal(size=40) - (shift if arm == "f" else 0.0))
                rates[arm].append(40 / seconds.sum())
                within = within_run(np.ones(40), seconds, rng)
                assert within is not None
                steadiness.append({"run": f"{arm}{block}", "within_run": vars(within)})
                retained = {"value": rates[arm][-1], "iterations": 40}
                row = {"role": "run", "run": f"{arm}{block}", "arm": arm, "rates": {"stage": {"retained": retained}}}
                runs.append({**row, "iteration_seconds_mean": 1.0, "total_wall_seconds": 60.0})
        headline = {
            "numerator": "f",
            "quantity": "stage",
            "kind": "retained",
            **vars(paired_log_t(rates["r"], rates["f"])),
        }
        one = variance(["r", "f"], runs, [headline], {"runs": steadiness})[0]
        assert one["within"] == pytest.approx(0.04 * np.sqrt(2 / 40), rel=0.15)
        assert one["between"] == pytest.approx(between, abs=0.012 if between else 0.006)


def test_two_blocks_show_no_spread_of_their_own() -> None:
    """With two blocks there is a reason instead of a split."""
    headline = {"numerator": "f", "quantity": "stage", "kind": "retained", **vars(paired_log_t([1.0, 1.1], [2.0, 2.0]))}
    assert "fewer than 3 blocks" in variance(["r", "f"], [], [headline], {"runs": []})[0]["reason"]


def test_page_says_what_would_narrow_the_interval() -> None:
    """The split in words, with the best number of iterations; longer runs where nothing is left between them."""
    split = {"arm": "fast", "reason": None, "total": 0.05, "within": 0.03, "iterations": 9}
    told = _variance({"variance": [{**split, "between": 0.04, "best_iterations": 12}]})
    for words in (
        "of 5.0% from block to block",
        "runs of 9 iterations alone would give 3.0%, runs and blocks alone 4.0%",
        "with 12 retained iterations",
    ):
        assert words in told
    assert "longer runs" in _variance({"variance": [{**split, "between": 0.0, "best_iterations": None}]})
    assert _variance({"variance": [{"arm": "fast", "reason": "fewer than 3 blocks"}]}) == ""
