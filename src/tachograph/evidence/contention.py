"""Was the machine quiet, and do time and clock cycles tell the same story?"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CLOCK_SHARE = 0.95
TEMPERATURE_SLOPE = 1.0  # °C per minute
CYCLE_GAP = log(1.05)


@dataclass(frozen=True)
class Conditions:
    """What was sampled during a run; None where it is not known, which is never the same as 0.

    ``load`` largest load average, ``foreign`` other processes on the device, ``clock_share`` mean clock over
    the arm's largest, ``temperature_slope`` in °C per minute.
    """

    load: float | None
    foreign: int | None
    clock_share: float | None
    temperature_slope: float | None


def contended(conditions: Conditions, load_limit: float, device_is_gpu: bool) -> list[str]:
    """Why a run may not be called quiet; empty for a quiet one. On a CPU only the load is asked for."""
    reasons = []
    if conditions.load is None or conditions.load > load_limit:
        reasons.append(f"load {_shown(conditions.load)}, registered limit {load_limit:g}")
    if not device_is_gpu:
        return reasons
    if conditions.foreign is None or conditions.foreign > 0:
        reasons.append(f"other processes on the device: {_shown(conditions.foreign)}")
    if conditions.clock_share is None or conditions.clock_share < CLOCK_SHARE:
        reasons.append(f"clock {_shown(conditions.clock_share)} of its largest")
    if conditions.temperature_slope is None or abs(conditions.temperature_slope) >= TEMPERATURE_SLOPE:
        reasons.append(f"temperature moved by {_shown(conditions.temperature_slope)} °C per minute")
    return reasons


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"


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
    return (
        f"{factor_time:.3f}x in time but {factor_cycles:.3f}x in clock cycles: the arms ran at other clocks"
    )
