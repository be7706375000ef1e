"""Can a rate be true? Judged against the peak that the study declares for the device (cases.md, D29)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tachograph.machine.cells import Cell


def declared_peak(cell: Cell, record: Mapping[str, Any], peaks: Mapping[str, float]) -> float | None:
    """The declared peak, TFLOP/s, of the number format of a matrix product on the device; None without one."""
    if (cell.kind, cell.operation, cell.place) != ("throughput", "matmul", "device"):
        return None
    return peaks.get(record["settings"]["dtype"])


def above_peak(cell: Cell, record: Mapping[str, Any], peaks: Mapping[str, float]) -> list[str]:
    """A sentence for each rate above the declared peak: a number that no device of this kind can reach."""
    peak = declared_peak(cell, record, peaks)
    if peak is None:
        return []
    rates = {name: record["measured"][name]["rate"] for name in ("burst", "sustained")}
    return [
        f"{name}: above peak: {rate:.4g}, declared peak {peak:.4g}"
        for name, rate in rates.items()
        if rate is not None and rate > peak
    ]
