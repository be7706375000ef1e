"""Where the spread of a factor comes from, within runs or between them, and which runs would narrow it soonest.

After Kalibera and Jones, "Rigorous benchmarking in reasonable time" (2013), with the corrected estimate of the variance
between runs: T₂² = S₂² - S₁²/r (statistics.md, 3.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, sqrt


@dataclass(frozen=True)
class VarianceSplit:
    """Standard deviations of the log factor of a block of runs of ``iterations`` retained iterations.

    ``total``: as the blocks show it; ``within``: what the noise of the iterations gives alone; ``between``: the rest, 0
    where that noise explains all. ``best_iterations`` per run give the narrowest interval in the same time: None where
    nothing is left between runs, so that fewer and longer runs are as good.
    """

    total: float
    within: float
    between: float
    iterations: int
    best_iterations: int | None


def variance_split(
    total: float, within: float, iterations: int, start_seconds: float, iteration_seconds: float
) -> VarianceSplit:
    """Split the standard deviation ``total`` of the log factor by ``within``, that of the noise of r ``iterations``.

    ``start_seconds``: what a block costs beside its retained iterations, ``iteration_seconds`` what one more iteration
    of each of its runs costs. The best r is ⌈√(start / iteration · T₁² / T₂²)⌉ with T₁² = r · within².
    """
    between = max(0.0, total**2 - within**2)
    if between == 0:
        return VarianceSplit(total, within, 0.0, iterations, None)
    best = max(1, ceil(sqrt(start_seconds / iteration_seconds * iterations * within**2 / between)))
    return VarianceSplit(total, within, sqrt(between), iterations, best)
