"""Can a rate be true? Judged against the peak that the study declares for the device (cases.md, D29)."""

from __future__ import annotations

from collections.abc import Mapping

from tachograph.machine.cells import Cell


def declared_peak(cell: Cell, dtype: str, peaks: Mapping[str, float]) -> float | None:
    """The declared peak, TFLOP/s, of the number format of a matrix product on the device; None without one."""
    if (cell.kind, cell.operation, cell.place) != ("throughput", "matmul", "device"):
        return None
    return peaks.get(dtype)


def above_peak(rate: float, peak: float | None) -> str | None:
    """A sentence on a rate above the declared peak: no device of this kind can reach it. None on any other."""
    if peak is None or rate <= peak:
        return None
    return f"rejected: above peak: {rate:.4g}, declared peak {peak:.4g}"
