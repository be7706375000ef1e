"""Ratios of two measured rates, and when there is none to tell.

Every rate is measured in a process of its own, one after the other and not in turns, so work beside may have lowered
either side: a ratio of such rates is neither a value nor a bound. It stands where both hosts were quiet and no window
was unsteady; elsewhere it is withheld, and both rates stand in their tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tachograph.machine import rates
from tachograph.machine.contention import either

Row = dict[str, Any]


def speed_ups(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Accelerator over processor for the same network, batch, format and arm.

    Each side is the best of several blocks.
    """
    found = []
    same = ("channels", "batch", "dtype", "arm")
    processors = {tuple(row[key] for key in same): row for row in rows if row["device"] == "cpu"}
    for row in rows:
        other = processors.get(tuple(row[key] for key in same))
        if row["device"] == "cpu" or other is None:
            continue
        fast, slow = row["samples_per_second"], other["samples_per_second"]
        if None in (fast, slow):
            continue
        withheld = _withheld(row, other)
        found.append(
            {key: row[key] for key in same}
            | {
                "numerator": row["device"],
                "denominator": "cpu",
                "unit": "samples/s",
                "speed_up": None if withheld else rates.speed_up(fast, slow),
                "withheld": withheld,
            }
        )
    return found


def format_ratios(rows: Sequence[Mapping[str, Any]], slow: str = "fp32") -> list[Row]:
    """How many times as fast each format is as ``slow`` at the same size on the same device (sustained)."""
    same = ("size", "device", "arm")
    slower = {tuple(row[key] for key in same): row for row in rows if row["dtype"] == slow}
    found = []
    for row in rows:
        other = slower.get(tuple(row[key] for key in same))
        if row["dtype"] == slow or other is None or None in (row["sustained"], other["sustained"]):
            continue
        withheld = _withheld(row, other)
        found.append(
            {key: row[key] for key in same}
            | {
                "numerator": row["dtype"],
                "denominator": slow,
                "unit": "TFLOP/s",
                "ratio": None if withheld else rates.speed_up(row["sustained"], other["sustained"]),
                "withheld": withheld,
            }
        )
    return found


def _withheld(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """Why two rates give no ratio, or None."""
    contended = either(one["contended"], other["contended"])
    reasons = ["the host was not quiet"] if contended else []
    reasons += ["whether the host was quiet is not known"] if contended is None else []
    reasons += ["a window was not steady"] if False in (one.get("steady"), other.get("steady")) else []
    return f"measured one after the other, and {' and '.join(reasons)}" if reasons else None
