"""Precision within one run: a secondary line, never the headline, as runs differ by more than it says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RESAMPLES = 2000


@dataclass(frozen=True)
class WithinRun:
    """``half_width``: relative, half the percentile interval of the rate; ``block`` iterations per block.

    ``tau``: integrated autocorrelation time in iterations, ``effective`` = n / tau.
    """

    half_width: float
    block: int
    tau: float
    effective: float


def within_run(
    work: Floats, seconds: Floats, rng: np.random.Generator, period: int = 1, confidence: float = 0.95
) -> WithinRun | None:
    """Circular block bootstrap of (work, seconds) pairs of the retained iterations, shapes (n,).

    Blocks are max(⌈n^(1/3)⌉, ``period``) long. None for fewer than five iterations.
    """
    n = len(seconds)
    if n < 5:
        return None
    block = min(n, max(ceil(n ** (1 / 3)), period))
    starts = rng.integers(n, size=(RESAMPLES, ceil(n / block)))
    rows = ((starts[:, :, None] + np.arange(block)) % n).reshape(RESAMPLES, -1)[:, :n]
    rates = work[rows].sum(axis=1) / seconds[rows].sum(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(rates, [tail, 1 - tail])
    tau = autocorrelation_time(seconds / work)
    return WithinRun(float((high - low) / 2 / (work.sum() / seconds.sum())), block, tau, n / tau)


def autocorrelation_time(y: Floats) -> float:
    """Integrated autocorrelation time 1 + 2 Σ ρ_l by Geyer's initial monotone sequence (1992, section 3.3).

    Sums of neighbouring correlations (ρ₀+ρ₁, ρ₂+ρ₃, …) are added while positive, each at most the one before.
    """
    centred = y - y.mean()
    n, variance = len(y), float(centred @ centred)
    if variance == 0:
        return 1.0
    total, before = 0.0, np.inf
    for lag in range(0, n - 1, 2):
        pair = float(centred[lag:] @ centred[: n - lag] + centred[lag + 1 :] @ centred[: n - lag - 1])
        pair = min(pair / variance, before)
        if pair <= 0:
            break
        total, before = total + pair, pair
    return max(1.0, 2 * total - 1)


@dataclass(frozen=True)
class VarianceSplit:
    """Relative variances: ``within`` of a run's mean, ``between`` runs beyond it (T₂², cut off at 0).

    ``iterations`` per run that spend a given device time best, None where runs do not differ.
    """

    within: float
    between: float
    iterations: int | None


def split_variance(runs: Sequence[Floats], cost_of_start: float, cost_of_iteration: float) -> VarianceSplit:
    """Where the noise of a study comes from (Kalibera and Jones 2013, with the corrected T₂²).

    ``runs``: seconds per unit of work of the retained iterations of each run. T₁² = mean variance of single
    iterations times their autocorrelation time, S₁²/r₁ that of a run's mean; T₂² = S₂² - S₁²/r₁;
    r₁ = ⌈√(start/iteration · T₁²/T₂²)⌉. Raises ValueError for fewer than two runs.
    """
    if len(runs) < 2:
        raise ValueError(f"the variance between runs needs two of them, found {len(runs)}")
    scaled = [run / run.mean() for run in runs]
    single = float(np.mean([run.var(ddof=1) * autocorrelation_time(run) for run in scaled]))
    within = float(np.mean([run.var(ddof=1) * autocorrelation_time(run) / len(run) for run in scaled]))
    means = np.log([run.mean() for run in runs])
    between = max(0.0, float(means.var(ddof=1)) - within)
    best = ceil(sqrt(cost_of_start / cost_of_iteration * single / between)) if between > 0 else None
    return VarianceSplit(within, between, best)
