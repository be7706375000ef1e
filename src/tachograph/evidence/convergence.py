"""Iterations to a registered target: test R, and the reference-convergence floor of MLPerf."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite, log, sqrt

import numpy as np
from scipy import stats


def iterations_to_target(
    iteration: Sequence[int], values: Sequence[float], target: float, rising: bool
) -> float:
    """First iteration whose value reaches ``target`` (from below if ``rising``); infinity if none does."""
    for number, value in zip(iteration, values, strict=True):
        if value >= target if rising else value <= target:
            return float(number)
    return inf


@dataclass(frozen=True)
class NonInferiority:
    """``p`` of the hypothesis that fast needs over (1+δ) times the iterations; None if not computable.

    ``p_faster``: one-sided p that fast needs fewer than the reference, MLPerf's alarm for cheating.
    """

    p: float | None
    p_faster: float | None
    reason: str


def non_inferior(reference: Sequence[float], fast: Sequence[float], delta: float = 0.10) -> NonInferiority:
    """Test R on ln(iterations to target) with Welch's t. A run that missed the target is not computable."""
    if not all(isfinite(x) and x > 0 for x in (*reference, *fast)):
        return NonInferiority(None, None, "a run missed the target")
    if len(reference) < 2 or len(fast) < 2:
        return NonInferiority(None, None, "each arm needs two runs")
    logs = np.log(np.asarray(reference)), np.log(np.asarray(fast))
    if np.ptp(logs[0]) == 0 and np.ptp(logs[1]) == 0:
        return NonInferiority(None, None, "no spread between runs")
    slower = stats.ttest_ind(logs[1] - log(1 + delta), logs[0], equal_var=False, alternative="less")
    faster = stats.ttest_ind(logs[1], logs[0], equal_var=False, alternative="less")
    return NonInferiority(float(slower.pvalue), float(faster.pvalue), "")


@dataclass(frozen=True)
class Floor:
    """Mean iterations below which a submission converges suspiciously fast, by either reading of the rule."""

    mean: float
    trimmed_sd: float
    full_sd: float


def convergence_floor(reference: Sequence[float], submitted: int, alpha: float = 0.05) -> Floor:
    """Trimmed mean - t(1-α, n-1) √(1/kept + 1/kept submitted) SD, for the SD of trimmed and of full list.

    The lowest and highest result are dropped on both sides; SD with ddof 0. The rule's text and its code
    differ in the SD (mlcommons/logging#375), so both floors are given. ValueError below three results.
    """
    if len(reference) < 3 or submitted < 3:
        raise ValueError(
            f"{len(reference)} reference and {submitted} submitted results; expected three of each"
        )
    full = np.sort(np.asarray(reference, dtype=np.float64))
    trimmed = full[1:-1]
    t = float(stats.t.ppf(1 - alpha, len(full) - 1))
    width = t * sqrt(1 / len(trimmed) + 1 / (submitted - 2))
    mean = float(trimmed.mean())
    return Floor(mean, mean - width * float(trimmed.std()), mean - width * float(full.std()))
