"""Throughput from timed blocks: burst, sustained, steady or not, and whether a number can be true.

Pure functions. Rules after mamf-finder v4 (stas00/ml-engineering): bursts that
start from idle, a long window in sub-windows, clocks beside; blocks long enough for the clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Any

MIN_BLOCK_SECONDS = 0.05
FASTEST = 5  # the burst number is the median of so many fastest blocks
CLOCK_SHARE = 0.97  # a burst block counts if its lowest clock is at least this share of the highest seen
SUBWINDOWS = 8
DRIFT = 0.01  # the second half of a steady window is at most this much slower
SPREAD = 0.10  # fastest to slowest sub-window of a steady window
LOWER_BOUND = "≥"


@dataclass(frozen=True)
class Block:
    """Calls timed together. ``clock_mhz`` is the lowest reading in it; ``drained`` says that the device
    had nothing left to do when the timer was stopped."""

    calls: int
    seconds: float
    drained: bool = True
    clock_mhz: float | None = None

    def rate(self, work: float) -> float:
        """Units of work per second, ``work`` per call."""
        return self.calls * work / self.seconds


def matmul_flop(m: int, k: int, n: int) -> float:
    """Floating-point operations of an (m×k)(k×n) product: 2mkn."""
    return 2.0 * m * k * n


def unusable(block: Block, min_seconds: float = MIN_BLOCK_SECONDS) -> str | None:
    """Why a block says nothing, or ``None``."""
    if not block.drained:
        return "not synchronised: work was still pending when the clock was stopped"
    if not block.seconds >= min_seconds:
        return f"below timer resolution: {block.seconds:.3g} s, expected at least {min_seconds:g} s"
    return None


def burst(blocks: Sequence[Block], work: float, min_seconds: float = MIN_BLOCK_SECONDS) -> dict[str, Any]:
    """Best that can be had for a moment: the median of the five fastest blocks at (nearly) full clock."""
    usable = [block for block in blocks if unusable(block, min_seconds) is None]
    clocks = [block.clock_mhz for block in usable if block.clock_mhz is not None]
    at_clock = usable
    if clocks:
        floor = CLOCK_SHARE * max(clocks)
        at_clock = [block for block in usable if block.clock_mhz is not None and block.clock_mhz >= floor]
    rates = sorted((block.rate(work) for block in at_clock), reverse=True)
    found: dict[str, Any] = {
        "blocks": len(blocks),
        "used": len(rates),
        "clock_filtered": bool(clocks),
        "rate": median(rates[:FASTEST]) if rates else None,
        "min": min(rates, default=None),
        "median": median(rates) if rates else None,
        "max": max(rates, default=None),
    }
    if not rates:
        reasons = Counter(unusable(block, min_seconds) or "below full clock" for block in blocks)
        found["status"] = "no valid samples: " + (reasons.most_common(1)[0][0] if reasons else "none taken")
    else:
        found["status"] = "measured"
    return found


def best(blocks: Sequence[Block], work: float, min_seconds: float) -> dict[str, Any]:
    """Best of N blocks, which other programs can only have slowed: a lower bound."""
    usable = [block for block in blocks if unusable(block, min_seconds) is None]
    taken = sorted(block.rate(work) for block in usable)
    found: dict[str, Any] = {"blocks": len(blocks), "used": len(taken), "bound": LOWER_BOUND}
    if not taken:
        reasons = [unusable(block, min_seconds) or "" for block in blocks] or ["none taken"]
        return found | {"rate": None, "status": f"no valid samples: {reasons[0]}"}
    spread = {"min": taken[0], "median": median(taken), "max": taken[-1]}
    return found | {"rate": taken[-1], "status": "measured"} | spread


def sustained(windows: Sequence[Block], work: float, min_seconds: float = MIN_BLOCK_SECONDS) -> dict[str, Any]:
    """What lasts: all work over all time of a window, and whether it was steady over its sub-windows."""
    reasons = [reason for window in windows if (reason := unusable(window, min_seconds)) is not None]
    if not windows or reasons:
        why = reasons[0] if reasons else "none taken"
        return {"status": f"no valid samples: {why}", "rate": None, "steady": None}
    rates = [window.rate(work) for window in windows]
    total = sum(window.calls for window in windows) * work / sum(window.seconds for window in windows)
    half = len(rates) // 2
    slower = 1 - fmean(rates[half:]) / fmean(rates[:half]) if half else None
    spread = (max(rates) - min(rates)) / total
    steady = slower is not None and slower <= DRIFT and spread <= SPREAD
    return {
        "status": "measured",
        "rate": total,
        "min": min(rates),
        "median": median(rates),
        "max": max(rates),
        "subwindows": len(rates),
        "second_half_slower": slower,
        "spread": spread,
        "steady": steady,
    }


def implausible(
    rate: float,
    work: float,
    block_seconds: float | None,
    min_seconds: float = MIN_BLOCK_SECONDS,
) -> str | None:
    """Why a rate cannot be true, or ``None``: it was timed over too short a time.

    ``block_seconds`` is the time that was measured; ``None`` where only the rate is known: then one call's.
    """
    seconds = work / rate if block_seconds is None else block_seconds
    if seconds < min_seconds:
        return f"below timer resolution: {seconds:.3g} s, expected at least {min_seconds:g} s"
    return None
