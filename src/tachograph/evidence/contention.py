"""Did the clocks hold, and do time and clock cycles tell the same story?"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLOCK_SHARE = 0.95
CYCLE_GAP = log(1.05)
HEATING = 1.0  # degrees Celsius per minute


def throttled(clock: float, largest: float) -> bool:
    """Whether a run's mean ``clock`` lies below 95 % of the ``largest`` that its arm ever had."""
    return clock < CLOCK_SHARE * largest


def heating(slope: float) -> bool:
    """Whether a temperature that rose by ``slope`` (degrees Celsius per minute) had not settled in a run."""
    return slope >= HEATING


def cycle_rate(work: Floats, seconds: Floats, clock: Floats) -> float:
    """Work per clock cycle: Σ work / Σ seconds·clock, with the mean clock (Hz or MHz) of each iteration."""
    return float(work.sum() / (seconds * clock).sum())


def cycle_check(factor_time: float, factor_cycles: float) -> str | None:
    """A sentence where the factors in time and in cycles disagree: the clocks were not alike in both arms.

    Memory-bound stages do not scale with the core clock, so this caps a verdict and refutes none.
    """
    gap = abs(log(factor_time) - log(factor_cycles))
    opposed = (factor_time > 1) != (factor_cycles > 1) and gap > 1e-9
    if gap <= CYCLE_GAP and not opposed:
        return None
    return f"{factor_time:.3f}x in time but {factor_cycles:.3f}x in clock cycles: the arms ran at other clocks"
