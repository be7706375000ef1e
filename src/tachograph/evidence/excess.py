"""What an iteration with an evaluation costs beyond one without, from runs that may differ in length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.interval import t_quantile

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RunPair:
    """Seconds of one run's iterations: those with an evaluation, shape (n,), and the plain ones, shape (m,), m >= 1."""

    held: Floats
    plain: Floats


@dataclass(frozen=True)
class Excess:
    """``excess`` = ``held`` - ``plain``, mean seconds; ``half_width`` of its interval, None where nothing gives one."""

    held: float
    plain: float
    excess: float
    half_width: float | None


def excess_of(runs: Sequence[RunPair], confidence: float = 0.95) -> Excess:
    """Each evaluation against the plain mean of its own run, so that runs of different pace do not blur it.

    With one run this is Welch's t for two means. With several, the variance of the first mean is that of the
    differences, that of the second the variance within runs, pooled; degrees of freedom by Welch and Satterthwaite.
    A single evaluation is taken to vary like the plain iterations. At least one run must hold an evaluation.
    """
    with_one = [run for run in runs if len(run.held)]
    differences = np.concatenate([run.held - run.plain.mean() for run in with_one])
    n = len(differences)
    held = float(np.concatenate([run.held for run in with_one]).mean())
    plain = float(sum(len(run.held) * run.plain.mean() for run in with_one) / n)
    return Excess(held, plain, held - plain, _half_width(with_one, runs, differences, confidence))


def _half_width(
    with_one: Sequence[RunPair], runs: Sequence[RunPair], differences: Floats, confidence: float
) -> float | None:
    n = len(differences)
    freedom = sum(len(run.plain) - 1 for run in runs)
    if freedom < 1:
        return None
    within = sum(float(((run.plain - run.plain.mean()) ** 2).sum()) for run in runs) / freedom
    of_plain = within * sum((len(run.held) / n) ** 2 / len(run.plain) for run in with_one)
    if n == 1:
        return math.sqrt(within + of_plain) * t_quantile(freedom, confidence)
    of_held = float(differences.var(ddof=1)) / n
    error = of_held + of_plain
    if error == 0:
        return 0.0
    effective = error**2 / (of_held**2 / (n - 1) + of_plain**2 / freedom)
    return math.sqrt(error) * t_quantile(effective, confidence)
