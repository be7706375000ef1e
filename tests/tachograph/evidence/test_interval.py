"""The factor and its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from tachograph.evidence.interval import (
    Factor,
    IntervalError,
    RunRate,
    factor_of_runs,
    paired_log_t,
    welch_log,
)


def bounds(factor: Factor, digits: int = 2) -> tuple[float, float, float]:
    assert factor.low is not None
    assert factor.high is not None
    return round(factor.factor, digits), round(factor.low, digits), round(factor.high, digits)


def test_document_000_factors() -> None:
    """Two reference runs and one fast run: 2.37 [1.79, 3.14] on steps/s, 2.05 [1.24, 3.40] on wall time."""
    assert bounds(welch_log([4231, 4341], [10150])) == (2.37, 1.79, 3.14)
    assert bounds(welch_log([1 / 73.5, 1 / 70.2], [1 / 35.0])) == (2.05, 1.24, 3.40)
    assert "borrowed" in welch_log([4231, 4341], [10150]).note
    later = [paired_log_t([reference], [10129]).factor for reference in (4372, 4271)]
    assert [f"{factor:.3f}" for factor in later] == ["2.317", "2.372"]
    assert welch_log([4372, 4271], [10129]).factor == pytest.approx((later[0] * later[1]) ** 0.5)
    wall = [paired_log_t([1 / seconds], [1 / 35.0]).factor for seconds in (73.5, 70.2)]
    assert [f"{wall[0]:.2f}", f"{wall[1]:.3f}"] == ["2.10", "2.006"]
    assert welch_log([10150 / 4231], [1]).factor == pytest.approx(1 / 2.399, abs=1e-4)


def test_document_000_compile_candidate_and_update_phase() -> None:
    """86.1 ms against 60.9 ms is 1.41x (the document says 1.42x); 232 s to 140 s of update is 1.657."""
    assert f"{paired_log_t([1 / 86.1], [1 / 60.9]).factor:.2f}" == "1.41"
    assert paired_log_t([1 / 232], [1 / 140]).factor == pytest.approx(1.657, abs=5e-4)


def test_document_003_factors() -> None:
    """Document 003's speed-ups, its quiet over contended rates, and bf16 over fp32 in both conditions."""
    gpu, cpu = [3481, 5113, 6283, 6150], [1697, 1693, 1400, 1392]
    ratios = [paired_log_t([c], [g]).factor for g, c in zip(gpu, cpu, strict=True)]
    assert [f"{r:.2f}" for r in ratios] == ["2.05", "3.02", "4.49", "4.42"]
    small = [(5892, 7360), (5039, 11405), (3708, 17450), (3617, 18726)]
    assert [f"{paired_log_t([c], [g]).factor:.2f}" for c, g in small] == ["1.25", "2.26", "4.71", "5.18"]
    assert paired_log_t([15.64], [27.76]).factor == pytest.approx(1.775, abs=5e-4)
    assert f"{paired_log_t([1.39], [2.60]).factor:.2f}" == "1.87"
    assert f"{paired_log_t([1.39], [15.64]).factor:.2f}" == "11.25"
    assert f"{paired_log_t([2.60], [27.76]).factor:.2f}" == "10.68"


def test_two_sequential_blocks_are_inconclusive() -> None:
    """I11: durations (3.855, 4.523) and (4.183, 4.261) give 0.915 with an interval from 0.37 to 2.25."""
    factor = paired_log_t([1 / 3.855, 1 / 4.183], [1 / 4.523, 1 / 4.261])
    assert bounds(factor, 3)[0] == 0.915
    assert bounds(factor)[1:] == (0.37, 2.25)
    assert factor.note == "uninformative (n=2, t=12.7)"


def test_placebo_of_orbit() -> None:
    """I12: identical configurations at +12.27 %, -0.33 %, -10.88 % give 0.999 [0.75, 1.33]."""
    factor = paired_log_t([1, 1, 1], [1.1227, 0.9967, 0.8912])
    assert bounds(factor, 3)[0] == 0.999
    assert bounds(factor)[1:] == (0.75, 1.33)


def test_paired_interval_agrees_with_scipy() -> None:
    """The paired interval is scipy's one-sample t interval of the log ratios."""
    rng = np.random.default_rng(1)
    reference, fast = rng.uniform(90, 110, 6), rng.uniform(190, 210, 6)
    factor = paired_log_t(reference, fast)
    low, high = stats.ttest_1samp(np.log(fast / reference), 0).confidence_interval(0.95)
    assert factor.low == pytest.approx(math.exp(low))
    assert factor.high == pytest.approx(math.exp(high))


def test_unpaired_interval_agrees_with_scipy() -> None:
    """The unpaired interval is scipy's Welch interval of ln X."""
    rng = np.random.default_rng(2)
    reference, fast = rng.uniform(90, 110, 5), rng.uniform(150, 250, 4)
    factor = welch_log(reference, fast)
    test = stats.ttest_ind(np.log(fast), np.log(reference), equal_var=False)
    low, high = test.confidence_interval(0.95)
    assert factor.low == pytest.approx(math.exp(low))
    assert factor.high == pytest.approx(math.exp(high))
    assert factor.df == pytest.approx(test.df)


def test_single_block_has_no_interval() -> None:
    """One block gives a factor and says that there is no interval."""
    factor = paired_log_t([100], [200])
    assert (factor.low, factor.high, factor.note) == (None, None, "single block, no interval")


def test_equal_ratios_give_no_interval() -> None:
    """Ratios equal to the last digit are a coarse clock, not certainty."""
    factor = paired_log_t([100, 100, 100], [200, 200, 200])
    assert factor.low is None
    assert "no spread" in factor.note


@pytest.mark.parametrize("bad", [[0.0, 1.0], [-1.0, 1.0], [math.nan, 1.0], [math.inf, 1.0], []])
def test_impossible_values_give_no_factor(bad: list[float]) -> None:
    """A rate that is no positive number gives an error, never a factor."""
    with pytest.raises(IntervalError):
        welch_log(bad, [1.0, 2.0])


def test_only_a_registered_block_pairs_runs() -> None:
    """I22: runs 0..4 of two days have no common block, so they are unpaired, whatever their position."""
    reference = [RunRate(100 + i, None, i) for i in range(5)]
    fast = [RunRate(200 + i, None, i) for i in range(5)]
    assert not factor_of_runs(reference, fast).paired
    blocks = [str(i) for i in range(5)]
    reference = [RunRate(100 + i, b, i) for i, b in enumerate(blocks)]
    fast = [RunRate(200 + 3 * i, b, i) for i, b in enumerate(reversed(blocks))]
    factor = factor_of_runs(reference, fast)
    assert factor.paired
    expected = paired_log_t([100, 101, 102, 103, 104], [212, 209, 206, 203, 200])
    assert factor == expected


def test_incomplete_blocks_leave_the_pairing() -> None:
    """A block of which one run does not count is left out of the pairs."""
    reference = [RunRate(100, "0", 0), RunRate(101, "1", 1), RunRate(99, "2", 2)]
    fast = [RunRate(200, "0", 0), RunRate(210, "2", 2)]
    assert factor_of_runs(reference, fast) == paired_log_t([100, 99], [200, 210])
    assert not factor_of_runs(reference, fast[:1]).paired
