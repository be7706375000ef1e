"""Secondary lines: precision within a run, drift, placebo, best-of-N, contention, one-off cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tachograph.evidence.bestof import best_of, ratio_is_lower_bound
from tachograph.evidence.contention import cycle_check, cycle_rate, throttled
from tachograph.evidence.cost import break_even, one_off
from tachograph.evidence.drift import drift_model
from tachograph.evidence.interval import Factor, paired_log_t
from tachograph.evidence.placebo import false_cap_rate, judge_placebo, placebo_cap
from tachograph.evidence.randomness import generator
from tachograph.evidence.withinrun import autocorrelation_time, within_run

RNG = generator("0" * 64, "within")


def ar1(rng: np.random.Generator, n: int, correlation: float) -> np.ndarray:
    y = rng.normal(size=n)
    for i in range(1, n):
        y[i] = correlation * y[i - 1] + np.sqrt(1 - correlation**2) * y[i]
    return y


@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_autocorrelation_time_of_a_known_process(correlation: float) -> None:
    """An autoregressive process of correlation ρ has the time (1+ρ)/(1-ρ)."""
    y = ar1(np.random.default_rng(0), 20_000, correlation)
    assert autocorrelation_time(y) == pytest.approx((1 + correlation) / (1 - correlation), rel=0.1)
    assert autocorrelation_time(np.ones(10)) == 1.0


def test_within_run_half_width_of_independent_iterations() -> None:
    """2 % noise over 400 independent iterations gives about 1.96 · 2 % / √400, on average over runs."""
    rng = np.random.default_rng(1)
    runs = [within_run(np.ones(400), np.exp(0.02 * rng.normal(size=400)), RNG) for _ in range(20)]
    assert np.mean([run.half_width for run in runs if run]) == pytest.approx(1.96 * 0.02 / 20, rel=0.1)
    assert {run.block for run in runs if run} == {8}
    assert within_run(np.ones(4), np.ones(4), RNG) is None


def test_within_run_of_a_very_long_run() -> None:
    """Half a million iterations are summed in batches: bounded memory, the same precision."""
    seconds = np.exp(0.02 * np.random.default_rng(3).normal(size=500_000))
    found = within_run(np.ones(500_000), seconds, RNG)
    assert found is not None
    assert found.half_width == pytest.approx(1.96 * 0.02 / np.sqrt(500_000), rel=0.15)
    assert found.effective == pytest.approx(500_000, rel=0.1)
    assert found.block >= 80


def test_within_run_block_covers_the_period() -> None:
    """The block is at least as long as the data loader's period."""
    found = within_run(np.ones(30), np.ones(30), RNG, period=10)
    assert found is not None
    assert found.block == 10
    assert found.half_width == 0.0


def test_drift_model_takes_the_drift_out() -> None:
    """In AB BA blocks with 1 % drift per run the model gives the true factor and flags the drift."""
    fast = [False, True, True, False, False, True]
    rates = [100 * (2 if f else 1) * np.exp(0.01 * place) for place, f in enumerate(fast)]
    found = drift_model(rates, fast, ["0", "0", "1", "1", "2", "2"])
    assert found is not None
    assert found.factor == pytest.approx(2.0)
    assert found.total == pytest.approx(np.expm1(0.05))
    assert found.flagged
    level = [100.0 * (2 if f else 1) for f in fast]
    still = drift_model(level, fast, ["0", "0", "1", "1", "2", "2"])
    assert still is not None
    assert not still.flagged


def test_drift_that_residuals_alone_could_give_is_no_finding() -> None:
    """Eight runs whose noise gives +11 % over the session with an interval from -25 to +65 %: told, not flagged."""
    fast = [False, True, True, False, True, False, False, True]
    noise = [0.05, -0.06, 0.08, 0.02, -0.03, 0.11, -0.02, 0.09]
    rates = [100 * (2 if f else 1) * np.exp(one) for f, one in zip(fast, noise, strict=True)]
    found = drift_model(rates, fast, list("00112233"))
    assert found is not None
    assert found.low < 0 < found.high
    assert abs(found.total) > 0.02
    assert not found.flagged


def test_drift_interval_is_that_of_least_squares() -> None:
    """The interval covers a true drift of 5 % in 95 % of simulated sessions (within three standard errors)."""
    rng = np.random.default_rng(7)
    fast = [False, True, True, False, True, False, False, True]
    covered = 0
    for _ in range(1000):
        logs = 0.7 * np.array(fast) + 0.05 / 7 * np.arange(8) + rng.normal(0, 0.03, 8)
        found = drift_model(list(np.exp(logs)), fast, list("00112233"))
        assert found is not None
        covered += found.low <= np.expm1(0.05) <= found.high
    assert 0.93 <= covered / 1000 <= 0.97


def test_drift_is_called_at_its_share_of_the_error_rate() -> None:
    """Without a drift 5 % of sessions are flagged at α = 0.05, and 1 % at 0.01; p and the 95 % interval agree."""
    rng = np.random.default_rng(8)
    fast = [False, True, True, False, True, False, False, True]
    flagged = {0.05: 0, 0.01: 0}
    for _ in range(2000):
        rates = list(np.exp(rng.normal(0, 0.2, 8)))
        for alpha in flagged:
            found = drift_model(rates, fast, list("00112233"), alpha)
            assert found is not None
            flagged[alpha] += found.flagged
            assert (found.p <= 0.05) is not (found.low <= 0 <= found.high)
    assert 0.035 <= flagged[0.05] / 2000 <= 0.065
    assert 0.004 <= flagged[0.01] / 2000 <= 0.017


def test_drift_that_cannot_be_told_from_the_arm() -> None:
    """With every block in the same order, arm and position are confounded: no model."""
    assert drift_model([1, 2, 1, 2], [False, True] * 2, ["0", "0", "1", "1"]) is None


def test_placebo_of_pairs() -> None:
    """I12: pairs at +12.27, -0.33, -10.88 % give 0.999; the largest deviation is the noise floor."""
    found = judge_placebo([1, 1, 1], [1.1227, 0.9967, 0.8912])
    assert found.factor.factor == pytest.approx(0.999, abs=5e-4)
    assert found.largest == pytest.approx(0.1227)


@pytest.mark.parametrize(
    ("placebo", "claimed", "least", "words"),
    [
        (0.999, (1.10, 1.08, 1.12), 1.05, None),
        (1.03, (1.05, 1.04, 1.06), 1.05, "over half of the claimed 1.050x"),
        (0.97, (1.05, 1.04, 1.06), 1.05, "over half of the claimed 1.050x"),
        (1.02, (1.05, 1.04, 1.06), 1.05, None),
        (1.03, (1.05, None, None), None, "over half of the claimed 1.050x"),  # one block: no interval, but a claim
        (1.003, (1.001, 0.99, 1.012), 1.05, None),  # no effect is claimed, and one of 5 % would have been seen
        (1.2, (1.001, 0.99, 1.012), 1.05, "least effect worth having, 1.050x"),
        (1.08, (1.50, 0.30, 7.50), 1.05, None),  # far from 1, by an interval that says little: still a claim
        (1.03, None, 1.2, None),
        (1.2, None, 1.2, "least effect worth having, 1.200x"),
        (1.2, None, None, "least effect worth having, 1.050x"),
        (1.2, None, 1.0, "least effect worth having, 1.050x"),
    ],
)
def test_placebo_too_large_for_a_claim(
    placebo: float, claimed: tuple[float, float | None, float | None] | None, least: float | None, words: str | None
) -> None:
    """More than half of the claimed effect, or of the least one where none is claimed, forbids to rely on a speed."""
    factor = None
    if claimed is not None:
        one = paired_log_t([1.0], [1.0])
        factor = replace(one, factor=claimed[0], low=claimed[1], high=claimed[2])
    found = placebo_cap(placebo, factor, least)
    assert found is None if words is None else found is not None and words in found


def test_best_of_is_a_lower_bound_with_its_exposure() -> None:
    """Best-of-N carries ≥, N, exposure and load; unequal N or exposure is not comparable."""
    found = best_of([256] * 3, [0.1, 0.08, 0.09], loads=[10.6, 33.7])
    assert found.label == "≥ 3,200"
    assert (found.n, found.exposure) == (3, pytest.approx(0.27))
    assert (found.load_low, found.load_high) == (10.6, 33.7)
    assert found.comparable(best_of([256] * 3, [0.09] * 3))
    assert not found.comparable(best_of([256] * 4, [0.0675] * 4))
    assert not found.comparable(best_of([256] * 3, [0.2] * 3))
    with pytest.raises(ValueError, match="no repeats"):
        best_of([], [])


def test_ratio_of_bests_is_no_lower_bound_by_itself() -> None:
    """Only equal exposure and a clock that was not higher in the fast arm make the ratio a lower bound."""
    reference, fast = best_of([1] * 3, [1.0] * 3), best_of([2] * 3, [1.0] * 3)
    assert ratio_is_lower_bound(reference, fast, 2000.0, 1900.0)
    assert not ratio_is_lower_bound(reference, fast, 1900.0, 2000.0)
    assert not ratio_is_lower_bound(reference, fast, None, 1900.0)
    assert not ratio_is_lower_bound(reference, best_of([2] * 5, [0.6] * 5), 2000.0, 1900.0)


def test_throttled_arm_in_cycles() -> None:
    """I9: the throttled run is 24 % slower in time at the end but equal in cycles, and that is told."""
    seconds = np.array([10.0, 10.0, 10.6, 11.2, 11.8, 12.4])
    clock = np.array([1965.0, 1965, 1850, 1740, 1650, 1580])
    steady, work = np.full(6, 10.0), np.ones(6)
    in_time = float(seconds.sum() / steady.sum())
    in_cycles = cycle_rate(work, steady, np.full(6, 1965.0)) / cycle_rate(work, seconds, clock)
    assert in_time == pytest.approx(1.1)
    assert in_cycles == pytest.approx(1.0, abs=0.01)
    assert cycle_check(in_time, in_cycles) is not None
    assert cycle_check(2.00, 2.05) is None
    assert cycle_check(1.01, 0.99) is not None
    assert throttled(float(clock.mean()), float(clock.max()))
    assert not throttled(1900.0, 1965.0)


def test_one_off_cost_and_break_even() -> None:
    """A compilation of 36.6 s that saves 0.5 s an iteration has paid after 73 iterations."""
    fast = one_off(np.array([46.1]), np.array([9.5, 9.5, 9.5]))
    reference = one_off(np.array([10.0]), np.array([10.0, 10.0, 10.0]))
    assert fast.seconds == pytest.approx(36.6)
    found = break_even(fast.seconds - reference.seconds, reference.typical, factor(10 / 9.5, 10 / 9.75, 10 / 9))
    assert found.iterations == pytest.approx(73.2)
    assert (found.low, found.high) == (pytest.approx(36.6 / 1.0), pytest.approx(36.6 / 0.25))  # gains of 1 and 0.25 s
    alone = break_even(36.6, 10.0, factor(10 / 9.5, None, None))
    assert (alone.iterations, alone.low, alone.high) == (pytest.approx(73.2), None, None)
    assert break_even(-0.1, 10.0, factor(10 / 9, 1.01, 1.3)).iterations == 0.0


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ((0.93, 0.61, 1.43), "not shown to be faster"),
        ((1.2, 0.99, 1.45), "not shown to be faster"),
        ((0.93, None, None), "not shown to be faster"),
        ((0.9, 0.85, 0.95), "never: it is slower"),
    ],
)
@pytest.mark.parametrize("extra", [-1.0, 0.0, 0.2])
def test_what_is_not_shown_to_be_faster_is_never_ahead(
    found: tuple[float, float | None, float | None], words: str, extra: float
) -> None:
    """Whatever it costs once: a factor whose interval does not lie above 1 gives no number of iterations."""
    ahead = break_even(extra, 10.0, factor(*found))
    assert (ahead.iterations, ahead.low, ahead.high, ahead.reason) == (None, None, None, words)
    assert break_even(extra, 10.0, None).reason == "there is no factor"


def factor(value: float, low: float | None, high: float | None) -> Factor:
    return Factor(value, low, high, 0.95, 3, 3, 2, 0.02, "paired log-ratio t", "")


def test_one_off_cost_needs_an_iteration_that_is_kept() -> None:
    """Without a typical iteration nothing is known to be beyond it."""
    with pytest.raises(ValueError, match="none is retained"):
        one_off(np.array([1.0]), np.array([]))


def test_identical_runs_break_the_placebo_rule_as_often_as_a_simulation_says() -> None:
    """At 5 % between blocks 63 % of pairs of identical runs differ by more than half of 1.05x (statistics.md, 3.4)."""
    pairs = np.random.default_rng(1).normal(0, 0.05, 200_000)
    assert false_cap_rate(1.05, 0.05) == pytest.approx(float(np.mean(np.abs(pairs) > np.log(1.05) / 2)), abs=0.005)
    assert false_cap_rate(1.05, 0.05) == pytest.approx(0.626, abs=0.001)
