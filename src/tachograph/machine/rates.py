"""The arithmetic of rates: ratios, falls, and numbers that are a clock's tick."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def speed_up(fast: float, slow: float) -> float:
    """How many times as fast: ``fast`` over ``slow``, both rates of the same work."""
    return fast / slow


def fall(first: float, last: float) -> float:
    """By what fraction ``last`` is below ``first``."""
    return 1 - last / first


def identical(rates: Sequence[float | None]) -> list[int]:
    """Indices of rates that occur more than once to the last digit: a clock's tick, not a measurement."""
    seen = Counter(rate for rate in rates if rate is not None)
    return [index for index, rate in enumerate(rates) if rate is not None and seen[rate] > 1]
