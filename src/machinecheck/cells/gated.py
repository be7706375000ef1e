"""Judging many tensors by the error of a known-good computation of the same precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from machinecheck import metrics
from machinecheck.metrics import Array
from machinecheck.reference import Reference
from machinecheck.verdict import Result, combine, numbers_of

WORST_SHOWN = 5


def judge(
    results: dict[str, Array],
    baselines: Sequence[dict[str, Array]],
    reference: Reference,
    dtype: str,
    more: dict[str, Any] | None = None,
) -> Result:
    """Gate every tensor; the numbers of the worst ones and the largest relative error of each group."""
    if not reference.usable:
        return reference.unusable()
    parts = {
        name: metrics.gate(results[name], [baseline[name] for baseline in baselines], expected, dtype)
        for name, expected in reference.tensors.items()
    }
    verdict, reasons = combine({name: (part["verdict"], part["reasons"]) for name, part in parts.items()})

    def strain(name: str) -> float:
        part = parts[name]
        return float("inf") if part["nonfinite"] or not part["limit"] else part["rmse"] / part["limit"]

    shown = sorted(parts, key=strain, reverse=True)[:WORST_SHOWN]
    measured: dict[str, Any] = {
        "tensors_compared": len(parts),
        "nonfinite": sum(part["nonfinite"] for part in parts.values()),
        "max_abs": max((part["max_abs"] for part in parts.values() if "max_abs" in part), default=None),
        "worst": {name: numbers_of(parts[name]) for name in shown},
        "reference": reference.evidence,
    }
    return Result(verdict, reasons, measured | (more or {}))
