"""Rates that cannot be: below the timer's resolution, above the peak, or none at all."""

from __future__ import annotations

from collections.abc import Sequence

MINIMUM_SECONDS = 0.05


def implausible(work: float, rate: float, peak: float | None, seconds: float | None = None) -> list[str]:
    """Reasons to reject one cell of a throughput table; empty for a plausible one.

    ``rate`` and ``peak`` in work per second; ``seconds`` the time of the timed block, work / rate if not
    given. A block shorter than 50 ms measures the timer (ROCm/TheRock#5314).
    """
    if not 0 < rate < float("inf"):
        return ["no valid samples"]
    reasons = []
    if peak is not None and rate > peak:
        reasons.append("above peak")
    if (work / rate if seconds is None else seconds) < MINIMUM_SECONDS:
        reasons.append("below timer resolution")
    return reasons


def identical(rates: Sequence[float]) -> bool:
    """Whether measured values of different cells agree to the last digit, which clocks do not do."""
    return len(rates) > 1 and len(set(rates)) == 1
