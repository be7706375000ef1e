"""What an evaluation adds to an iteration: the interval against Welch's test, simulations and runs of two paces."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_ind

from tachograph.evidence.excess import RunPair, excess_of

PLAIN = np.array([10.0, 14.0, 9.0, 13.0, 12.0, 8.0])


def test_one_run_is_welch() -> None:
    """With one run the interval is that of scipy's Welch test."""
    held = np.array([30.0, 36.0, 31.0])
    found = excess_of([RunPair(held, PLAIN)])
    expected = ttest_ind(held, PLAIN, equal_var=False).confidence_interval(0.95)
    assert found.half_width is not None
    assert (found.excess - found.half_width, found.excess + found.half_width) == pytest.approx(expected)


def test_runs_of_different_pace_do_not_blur_it() -> None:
    """Three runs of 2, 4 and 6 s per iteration, an evaluation of half a second in each: told, 0.5 s."""
    rng = np.random.default_rng(1)
    runs = []
    for pace in (2.0, 4.0, 6.0):
        runs.append(RunPair(np.array([pace + 0.5]) + rng.normal(0, 0.02, 1), pace + rng.normal(0, 0.02, 5)))
    found = excess_of(runs)
    assert found.half_width is not None
    assert found.excess - found.half_width < 0.5 < found.excess + found.half_width
    assert found.half_width < 0.2
    assert (found.held, found.plain) == pytest.approx((4.5, 4.0), abs=0.05)
    everything = np.concatenate([run.plain for run in runs])
    blurred = ttest_ind([run.held[0] for run in runs], everything, equal_var=False).confidence_interval(0.95)
    assert blurred.low < 0


@pytest.mark.parametrize(("runs", "held"), [(1, 1), (1, 3), (3, 1), (3, 2)])
def test_interval_covers_the_truth(runs: int, held: int) -> None:
    """In 2,000 drawn studies 95 % of the intervals hold the true excess, at least 93.5; runs differ in pace."""
    rng = np.random.default_rng(runs * 10 + held)
    covered = 0
    for _ in range(2000):
        drawn = []
        for _ in range(runs):
            pace = rng.uniform(2, 6)
            drawn.append(RunPair(pace + 1 + rng.normal(0, 0.3, held), pace + rng.normal(0, 0.3, 6)))
        found = excess_of(drawn)
        assert found.half_width is not None
        covered += abs(found.excess - 1) <= found.half_width
    assert covered / 2000 >= 0.935


def test_without_spread_there_is_no_interval() -> None:
    """One plain iteration per run says nothing of its spread."""
    assert excess_of([RunPair(np.array([3.0]), np.array([1.0]))]).half_width is None
