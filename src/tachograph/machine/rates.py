"""The arithmetic of rates: ratios, falls, peaks, and numbers that are a clock's tick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def speed_up(fast: float, slow: float) -> float:
    """How many times as fast: ``fast`` over ``slow``, both rates of the same work."""
    return fast / slow


def fall(first: float, last: float) -> float:
    """By what fraction ``last`` is below ``first``."""
    return 1 - last / first


def relative_error(max_abs: float, max_reference: float) -> float:
    """Largest error over largest magnitude, as document 003 prints it; the error itself if the reference is 0."""
    return max_abs / max_reference if max_reference else max_abs


def declared_peak(units: int, flop_per_unit_and_clock: int, gigahertz: float) -> float:
    """Peak in TFLOP/s: compute units × operations per unit and clock × clock.

    Radeon 8060S: 40 × 512 × 2.9 GHz = 59.4 TFLOP/s in bf16. Torch counts work-group processors (20), not compute
    units.
    """
    return units * flop_per_unit_and_clock * gigahertz / 1e3


def identical(rates: Sequence[float | None]) -> list[int]:
    """Indices of rates that occur more than once to the last digit: a clock's tick, not a measurement."""
    seen = Counter(rate for rate in rates if rate is not None)
    return [index for index, rate in enumerate(rates) if rate is not None and seen[rate] > 1]
