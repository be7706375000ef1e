"""Warm-up and steadiness: what is called, and what must not be."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy import stats

from tachograph.evidence.warmup import Outcome, Steadiness, assess_study, mser

STEADY = [60.0, 10.0, 10.1, 9.9, 10.05, 9.95, 10.0, 10.1, 9.9, 10.0]


def assess(durations: Sequence[float] | np.ndarray, warmup: int, alpha: float = 0.05) -> Steadiness:
    """A study of a single run."""
    return assess_study({"run": np.asarray(durations, dtype=np.float64)}, {"run": "arm"}, warmup, alpha).runs["run"]


def test_steady_run() -> None:
    """A slow first iteration within the registered warm-up is no fault."""
    found = assess(STEADY, warmup=1)
    assert found.outcome is Outcome.STEADY
    assert found.headline
    assert not found.capped


def test_mser_agrees_with_its_formula() -> None:
    """The truncation point minimises Σ (y - mean)² / (n-d)² over the first half."""
    rng = np.random.default_rng(0)
    for n in (5, 10, 31):
        y = rng.normal(size=n) + 3 * np.exp(-np.arange(n) / 2)
        scores = [((y[d:] - y[d:].mean()) ** 2).sum() / (n - d) ** 2 for d in range(n // 2 + 1)]
        assert mser(y) == int(np.argmin(scores))


def test_trend_agrees_with_scipy() -> None:
    """The change is scipy's Theil-Sen slope over the rows; the p is close to scipy's exact Kendall p."""
    rng = np.random.default_rng(4)
    for drift in (0.0, 0.05, 0.2):
        y = rng.normal(0, 0.05, 30) + np.linspace(0, drift, 30)
        found = assess(np.exp(y), warmup=0)
        slope = stats.theilslopes(y).slope
        assert found.change == pytest.approx(np.expm1(slope * 29))
        exact = stats.kendalltau(np.arange(30), y).pvalue
        assert found.mann_kendall_p == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_impossible_durations_are_an_error(bad: float) -> None:
    """A duration that is no positive number is an error, not a steady run."""
    with pytest.raises(ValueError, match="positive"):
        assess([*STEADY, bad], warmup=1)


def test_first_epochs_of_closer_look() -> None:
    """I8: epochs of 12:53, 4:53, 1:00, 0:48 are too few and not steady: no headline, never drop-1."""
    found = assess([773.0, 293.0, 60.0, 48.0], warmup=1)
    assert found.flags == (Outcome.INSUFFICIENT, Outcome.NO_STEADY_STATE)
    assert not found.headline


def test_slow_ramp_has_no_steady_state() -> None:
    """I8: 43.3, 38.2, 21.5 … 7.4 ms after one dropped iteration is no steady state and has no headline."""
    found = assess([43.3, 38.2, 21.5, 11.7, 9.8, 9.0, 10.0, 6.9, 7.2, 7.4], warmup=1)
    assert found.outcome is Outcome.NO_STEADY_STATE
    assert not found.headline
    assert found.capped


def test_throttling_is_a_slowdown() -> None:
    """I9: 10.0, 10.0, 10.6, 11.2, 11.8, 12.4 s is a slowdown, also as one of eight runs."""
    durations = [10.0, 10.0, 10.6, 11.2, 11.8, 12.4]
    for alpha in (0.05, 0.05 / 8):
        found = assess(durations, warmup=1, alpha=alpha)
        assert found.outcome is Outcome.SLOWDOWN
        assert found.capped
    assert found.change == pytest.approx(0.24, abs=0.01)


def test_late_compilation_is_a_longer_warm_up() -> None:
    """A second slow iteration with one registered is told, with the truncation that would drop it."""
    found = assess([60.0, 15.0, *STEADY[1:9]], warmup=1)
    assert found.outcome is Outcome.LONGER_WARMUP
    assert found.mser == 2
    assert found.headline


@pytest.mark.parametrize("n", [4, 5])
def test_too_few_rows(n: int) -> None:
    """Fewer than five retained rows, or less than half of them, are INSUFFICIENT."""
    assert assess(STEADY[:n], warmup=1).outcome is Outcome.INSUFFICIENT
    assert assess(STEADY, warmup=6).outcome is Outcome.INSUFFICIENT
    assert assess(STEADY[:1], warmup=1).outcome is Outcome.INSUFFICIENT


def test_small_certain_changes_are_not_called() -> None:
    """A perfectly regular slope of 1 % in all is below what matters."""
    assert assess(10 * np.exp(np.linspace(0, 0.01, 12)), warmup=1).outcome is Outcome.STEADY
    assert assess(10 * np.exp(np.linspace(0, 0.05, 12)), warmup=1).outcome is Outcome.SLOWDOWN


def test_constant_durations_are_steady() -> None:
    """A clock too coarse to show any spread gives a steady run, not a division by zero."""
    assert assess([10.0] * 12, warmup=1).outcome is Outcome.STEADY


def test_long_series_are_judged_in_batches() -> None:
    """Ten thousand iterations with a slow drift of 10 % are a slowdown; without drift they are steady."""
    noise = np.random.default_rng(1).normal(0, 0.02, 10_000)
    assert assess(np.exp(noise), warmup=10).outcome is Outcome.STEADY
    drifting = assess(np.exp(noise + np.linspace(0, 0.1, 10_000)), warmup=10)
    assert drifting.outcome is Outcome.SLOWDOWN
    assert drifting.change == pytest.approx(0.105, abs=0.01)


def studies(shape: np.ndarray, count: int, correlation: float) -> float:
    """Share of studies (4 blocks, 2 arms, 2 % noise) that are capped."""
    rng, capped = np.random.default_rng(2), 0
    for _ in range(count):
        noise = rng.normal(size=(8, len(shape)))
        for i in range(1, len(shape)):
            noise[:, i] = correlation * noise[:, i - 1] + np.sqrt(1 - correlation**2) * noise[:, i]
        durations = {f"run{r}": np.exp(0.02 * noise[r] + shape) for r in range(8)}
        capped += assess_study(durations, {f"run{r}": "rf"[r % 2] for r in range(8)}, warmup=1).capped
    return capped / count


def test_error_rate_and_power_over_studies() -> None:
    """Stationary studies are capped in at most 5 % (here of 60, up to 4 by chance); slow ramps are found."""
    still, ramp = np.zeros(10), 0.3 * np.exp(-np.arange(10) / 3)
    assert studies(still, 60, 0.6) <= 7 / 60
    assert studies(ramp, 20, 0.6) >= 0.9


def test_mean_series_of_an_arm_shows_what_single_runs_hide() -> None:
    """A ramp that no single run shows is found in the mean of an arm's runs."""
    rng = np.random.default_rng(3)
    shape = 0.06 * np.exp(-np.arange(20) / 5)
    durations = {f"r{i}": np.exp(rng.normal(0, 0.02, 20) + shape) for i in range(12)}
    found = assess_study(durations, dict.fromkeys(durations, "reference"), warmup=1)
    assert not any(run.capped for run in found.runs.values())
    assert found.arms["reference"].capped
    assert found.capped
