"""Rates from timed blocks: burst, sustained, best of several; steady or not, and which blocks say nothing.

The rules are mamf-finder v4's (stas00/ml-engineering): bursts that start from idle, a long window in parts, clocks
beside; blocks long enough for the clock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from tachograph.machine.cellrecord import Block, Matmul, Training
from tachograph.machine.contention import LOWER_BOUND
from tachograph.machine.correctness import judge_comparison
from tachograph.machine.plausible import above_peak, withdrawn
from tachograph.machine.verdict import Judged, judged
from tachograph.models.bounds import Bounds

FASTEST = 5  # the burst number is the median of so many fastest blocks
TERA = 1e12


def judge_matmul(measured: Matmul, dtype: str, peak: float | None, bounds: Bounds) -> Judged:
    """FAIL for a rate that says nothing or cannot be true, and for a wrong product, however fast it was."""
    work = measured.flop_per_call / TERA
    blocks = {"burst": measured.blocks.burst, "sustained": measured.blocks.sustained}
    rates = {"burst": burst(blocks["burst"], work, bounds), "sustained": sustained(blocks["sustained"], work, bounds)}
    failures = [
        f"{name}: {reason}"
        for name, one in measured.comparisons.items()
        for reason in judge_comparison(one, dtype, bounds).reasons
    ]
    if measured.nonfinite_elements:
        failures.append(f"{measured.nonfinite_elements} elements of the product are not finite")
    for name, found in rates.items():
        reason = _why_none(found, blocks[name], work, peak)
        if reason is not None:
            failures.append(f"{name}: {reason}")
            rates[name] = withdrawn(found, reason)
    unsteady = rates["sustained"].get("steady") is False
    return judged(failures, ["the sustained window was not steady"] if unsteady else [], {**rates, "peak": peak})


def _why_none(found: dict[str, Any], blocks: Sequence[Block], work: float, peak: float | None) -> str | None:
    """Why a rate does not stand, or None. Of blocks that say nothing it is told, too, if even they exceed the peak."""
    if found["rate"] is not None:
        return above_peak(found["rate"], peak)
    claimed = max((rate_of(block, work) for block in blocks if block.seconds > 0), default=0.0)
    return "; ".join(filter(None, [found["status"], above_peak(claimed, peak)]))


def judge_training(measured: Training, bounds: Bounds) -> Judged:
    """FAIL without a usable block, and for a loss that is not finite."""
    found = best(measured.blocks.best, measured.samples_per_call, bounds)
    failures = [found["status"]] if found["rate"] is None else []
    if measured.last_loss is None:
        failures.append("the loss is not finite")
    stages = measured.stage_seconds_per_step
    return judged(
        failures,
        [],
        {
            "samples_per_second": found,
            "forward_samples_per_second": measured.samples_per_call / stages.forward,
            "backward_samples_per_second": measured.samples_per_call / stages.backward,
            "memory_share": measured.memory.peak_bytes / measured.memory.total_bytes,
        },
    )


def rate_of(block: Block, work: float) -> float:
    """Units of work per second, ``work`` per call."""
    return block.calls * work / block.seconds


def unusable(block: Block, bounds: Bounds) -> str | None:
    """Why a block says nothing, or None."""
    if not block.drained:
        return "not synchronised: work was still pending when the clock was stopped"
    if block.seconds < bounds.block_seconds:
        return f"below timer resolution: {block.seconds:.3g} s, expected at least {bounds.block_seconds:g} s"
    return None


def burst(blocks: Sequence[Block], work: float, bounds: Bounds) -> dict[str, Any]:
    """Best that can be had for a moment: the median of the five fastest blocks at (nearly) full clock."""
    usable = [block for block in blocks if unusable(block, bounds) is None]
    clocks = [block.clock_mhz for block in usable if block.clock_mhz is not None]
    at_clock = usable
    if clocks:
        floor = bounds.clock_share * max(clocks)
        at_clock = [block for block in usable if block.clock_mhz is not None and block.clock_mhz >= floor]
    rates = sorted((rate_of(block, work) for block in at_clock), reverse=True)
    if not rates:
        return _nothing(blocks, bounds)
    return {**_measured(blocks, rates, median(rates[:FASTEST])), "clock_filtered": bool(clocks)}


def best(blocks: Sequence[Block], work: float, bounds: Bounds) -> dict[str, Any]:
    """Best of N blocks, which other programs can only have slowed: a lower bound."""
    rates = [rate_of(block, work) for block in blocks if unusable(block, bounds) is None]
    if not rates:
        return _nothing(blocks, bounds)
    return {**_measured(blocks, rates, max(rates)), "bound": LOWER_BOUND}


def sustained(blocks: Sequence[Block], work: float, bounds: Bounds) -> dict[str, Any]:
    """What lasts: all work over all time of a window, and whether it was steady over its parts.

    One part that says nothing spoils the window.
    """
    if not blocks or any(unusable(block, bounds) for block in blocks):
        return _nothing(blocks, bounds)
    rates = [rate_of(block, work) for block in blocks]
    total = sum(block.calls for block in blocks) * work / sum(block.seconds for block in blocks)
    half = len(rates) // 2
    slower = 1 - fmean(rates[half:]) / fmean(rates[:half]) if half else None
    spread = (max(rates) - min(rates)) / total
    return {
        **_measured(blocks, rates, total),
        "second_half_slower": slower,
        "spread": spread,
        "steady": slower is not None and slower <= bounds.drift and spread <= bounds.spread,
    }


def _measured(blocks: Sequence[Block], rates: Sequence[float], rate: float) -> dict[str, Any]:
    """``rate``, with how many of the ``blocks`` gave the ``rates`` behind it, and the spread of these."""
    spread = {"min": min(rates), "median": median(rates), "max": max(rates)}
    return {"status": "measured", "blocks": len(blocks), "used": len(rates), "rate": rate, **spread}


def _nothing(blocks: Sequence[Block], bounds: Bounds) -> dict[str, Any]:
    """No rate, never NaN, and the most frequent reason."""
    reasons = Counter(unusable(block, bounds) for block in blocks)
    reasons.pop(None, None)
    why = reasons.most_common(1)[0][0] if reasons else "none taken"
    return {"status": f"no valid samples: {why}", "blocks": len(blocks), "used": 0, "rate": None, "steady": None}
