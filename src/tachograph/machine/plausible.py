"""Can a rate be true? Held against the peak that the study declares for its device (cases.md, D29)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Peaks = Mapping[str, Mapping[str, float]]  # TFLOP/s by device name, then by number format


def declared_peak(device_name: str | None, dtype: str, peaks: Peaks) -> float | None:
    """The peak, TFLOP/s, declared for a number format of the device that a cell ran on; None without one."""
    return None if device_name is None else peaks.get(device_name, {}).get(dtype)


def above_peak(rate: float, peak: float | None) -> str | None:
    """A sentence on a rate above the declared peak: no device of this kind can reach it. None on any other."""
    if peak is None or rate <= peak:
        return None
    return f"rejected: above peak: {rate:.4g}, declared peak {peak:.4g}"


def withdrawn(rate: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """A rate without any of its numbers, and why."""
    return {"status": reason, "blocks": rate["blocks"], "used": 0, "rate": None, "steady": None}
