"""Precision within one run: a secondary line, never the headline, as runs differ by more than it says."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
RESAMPLES = 2000
LONGEST = 1000  # longer runs are summed in that many batches, which keeps the memory bounded


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

    Blocks are max(⌈n^(1/3)⌉, ``period``) iterations long. None for fewer than five iterations, and where
    a block may last 0 s by a coarse clock.
    """
    if len(seconds) < 5:
        return None
    iterations, tau = len(seconds), autocorrelation_time(seconds / work)
    size = ceil(iterations / LONGEST)
    if size > 1:
        starts_of_batches = np.arange(0, iterations, size)
        work, seconds = np.add.reduceat(work, starts_of_batches), np.add.reduceat(seconds, starts_of_batches)
        period = ceil(max(iterations ** (1 / 3), period) / size)
    n = len(seconds)
    block = min(n, max(ceil(n ** (1 / 3)), period))
    starts = rng.integers(n, size=(RESAMPLES, ceil(n / block)))
    rows = ((starts[:, :, None] + np.arange(block)) % n).reshape(RESAMPLES, -1)[:, :n]
    lasted = seconds[rows].sum(axis=1)
    if not (lasted > 0).all():
        return None
    rates = work[rows].sum(axis=1) / lasted
    tail = (1 - confidence) / 2
    low, high = np.quantile(rates, [tail, 1 - tail])
    half_width = float((high - low) / 2 / (work.sum() / seconds.sum()))
    return WithinRun(half_width, block * size, tau, iterations / tau)


def autocorrelation_time(y: Floats) -> float:
    """Integrated autocorrelation time 1 + 2 Σ ρ_l by Geyer's initial monotone sequence (1992, section 3.3).

    Sums of neighbouring correlations (ρ₀+ρ₁, ρ₂+ρ₃, …) are added while positive, each at most the one before.
    """
    centred = y - y.mean()
    n, variance = len(y), float(centred @ centred)
    if variance == 0:
        return 1.0
    spectrum = np.fft.rfft(centred, 2 * n)  # padded, so that the correlation does not wrap round
    correlation = np.fft.irfft(np.abs(spectrum) ** 2)[:n] / variance
    pairs = correlation[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    positive = pairs[: int(np.argmax(pairs <= 0))] if (pairs <= 0).any() else pairs
    return max(1.0, 2 * float(np.minimum.accumulate(positive).sum()) - 1)
