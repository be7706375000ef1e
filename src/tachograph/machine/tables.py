"""Rows of the tables of a machine study, from its cells; nothing here measures.

Only cells that were measured give numbers; a number that was not measured is None. ``mark`` is ``≥`` where a rate is
only a lower bound. Planted faults are left out: they are rows of the self-test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tachograph.machine.contention import mean_of
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import DONE

Row = dict[str, Any]


def of_kind(cells: Iterable[MeasuredCell], kind: str, operation: str | None = None) -> list[MeasuredCell]:
    """Cells of one kind (and operation) that were measured, without a planted fault."""
    return [
        one
        for one in cells
        if one.cell.kind == kind
        and operation in (None, one.cell.operation)
        and one.outcome == DONE
        and one.cell.fault is None
    ]


def cells(measured: Iterable[MeasuredCell]) -> list[Row]:
    """One row per planned cell: what became of it."""
    return [
        {
            "cell": one.cell.name,
            "kind": one.cell.kind,
            "operation": one.cell.operation,
            "place": one.cell.place,
            "arm": one.cell.arm,
            "fault": one.cell.fault,
            "outcome": one.outcome,
            "signal": one.signal,
            "verdict": str(one.verdict),
            "reasons": list(one.reasons),
            "seconds": one.seconds,
            "contended": one.contention.contended,
            "contended_because": list(one.contention.because),
        }
        for one in measured
    ]


FIGURES = ("nonfinite", "wrong", "relative", "frobenius", "share_of_bound", "logit_error", "gradient_error", "kernel")


def correctness(measured: Iterable[MeasuredCell]) -> list[Row]:
    """One row per correctness cell: verdict, counts, errors, share of the bound used, the kernel that ran."""
    rows = []
    for one in measured:
        if one.cell.kind != "correctness" or one.cell.fault is not None:
            continue
        rows.append(
            {
                "cell": one.cell.name,
                "arm": one.cell.arm,
                "operation": one.cell.operation,
                "device": one.settings.get("device"),
                "of": described(one.settings),
                "outcome": one.outcome,
                "verdict": str(one.verdict),
                **{name: one.derived.get(name) for name in FIGURES},
                "reasons": list(one.reasons),
            }
        )
    return rows


HOW_OFTEN = ("device", "processes", "repeats", "seed", "threads")  # settings that do not say what is computed


def described(settings: Mapping[str, Any]) -> str:
    """Which inputs a cell is about, as ``form=A@B, size=512``: a verdict holds for these and for no others."""
    return ", ".join(f"{name}={value}" for name, value in sorted(settings.items()) if name not in HOW_OFTEN)


def repeatability(measured: Iterable[MeasuredCell]) -> list[Row]:
    """One row per operation, backend and thread count: calls, different results, wrong ones, bounds."""
    return [
        {
            "cell": one.cell.name,
            "arm": one.cell.arm,
            "operation": one.cell.operation,
            "backend": _backend(one.settings),
            "device": one.settings["device"],
            "of": described(one.settings),
            "alike_over_threads": one.measured.get("alike_over_threads"),
            "verdict": str(one.verdict),
        }
        | count
        for one in of_kind(measured, "repeatability")
        for count in one.measured.get("by_threads", [])
    ]


def _backend(settings: Mapping[str, Any]) -> str:
    if "library" in settings:
        return str(settings["library"])
    if "onednn" in settings and settings["device"] == "cpu":
        return "oneDNN" if settings["onednn"] else "without oneDNN"
    return "torch"


def _common(one: MeasuredCell) -> Row:
    host = one.record["host"] if one.record else {}
    clock, power = mean_of(host, "clock_mhz"), mean_of(host, "power_watts")
    return {
        "cell": one.cell.name,
        "arm": one.cell.arm,
        "device": one.settings["device"],
        "load": mean_of(host, "load_average"),
        "foreign_processors": mean_of(host, "foreign_processors"),
        "clock_mhz": mean_of(host, "cpu_clock_mhz") if clock is None else clock,
        "power_watts": mean_of(host, "package_power_watts") if power is None else power,
        "contended": one.contention.contended,
        "held_back": one.contention.held_back,
        "verdict": str(one.verdict),
    }


def matmul(measured: Iterable[MeasuredCell]) -> list[Row]:
    """TFLOP/s over size and format, burst and sustained, with the share of the declared peak."""
    rows = []
    for one in of_kind(measured, "throughput", "matmul"):
        numbers, settings = one.measured, one.settings
        sustained, burst = numbers["sustained"], numbers["burst"]
        peak = numbers["peak"]
        row = {
            "size": settings["size"],
            "dtype": settings["dtype"],
            "burst": burst["rate"],
            "sustained": sustained["rate"],
            "min": sustained.get("min"),
            "median": sustained.get("median"),
            "max": sustained.get("max"),
            "steady": sustained["steady"],
            "peak": peak,
            "share_of_peak": None if None in (sustained["rate"], peak) else sustained["rate"] / peak,
            "status": sustained["status"],
            "mark": one.contention.mark(),
        }
        rows.append(row | _common(one))
    return rows


def training(measured: Iterable[MeasuredCell]) -> list[Row]:
    """Samples per second over batch, for each network, device and format; each the best of several blocks."""
    rows = []
    for one in of_kind(measured, "throughput", "training"):
        numbers, settings = one.measured, one.settings
        row = {
            "channels": settings["channels"],
            "parameters": numbers["parameters"],
            "batch": settings["batch"],
            "dtype": settings["dtype"],
            "samples_per_second": numbers["samples_per_second"]["rate"],
            "median": numbers["samples_per_second"].get("median"),
            "blocks": numbers["samples_per_second"].get("used"),
            "forward": numbers["forward_samples_per_second"],
            "backward": numbers["backward_samples_per_second"],
            "memory_share": numbers["memory_share"],
            "memory": numbers["memory"]["of"],
            "status": numbers["samples_per_second"]["status"],
            "mark": one.contention.mark(best_of=True),
        }
        rows.append(row | _common(one))
    return rows


def workarounds(measured: Iterable[MeasuredCell]) -> list[Row]:
    """Environments as arms: what became of each cell that ran in several of them, crash or not, right or not."""
    groups: dict[tuple[str, str, str, str], list[MeasuredCell]] = {}
    for one in measured:
        if one.cell.fault is None:
            key = (one.cell.kind, one.cell.operation, one.cell.place, str(sorted(one.cell.settings.items())))
            groups.setdefault(key, []).append(one)
    return [
        {
            "cell": group[0].cell.name,
            "arm": one.cell.arm,
            "outcome": one.outcome,
            "signal": one.signal,
            "verdict": str(one.verdict),
        }
        for group in groups.values()
        if len(group) > 1
        for one in group
    ]


def clocks(measured: Iterable[MeasuredCell]) -> list[Row]:
    """Mean clock over mean host load of every throughput and soak cell, loads rising."""
    chosen = [one for kind in ("throughput", "soak") for one in of_kind(measured, kind)]
    known = [row for row in map(_common, chosen) if row["load"] is not None and row["clock_mhz"] is not None]
    return sorted(known, key=lambda row: row["load"])


def soak(measured: Iterable[MeasuredCell]) -> list[Row]:
    """One row per soak: steps, seconds, losses, parameters not finite, last over first quarter's rate, verdict."""
    rows = []
    for one in of_kind(measured, "soak"):
        numbers, settings = one.measured, one.settings
        row = {
            "channels": settings["channels"],
            "batch": settings["batch"],
            "steps": numbers["steps"],
            "seconds": numbers["seconds"],
            "first_loss": numbers["first_loss"],
            "last_loss": numbers["last_loss"],
            "nonfinite_parameters": numbers["nonfinite_parameters"],
            "speed_last_over_first": numbers["speed_last_over_first"],
            "reasons": list(one.reasons),
        }
        rows.append(row | _common(one))
    return rows


def series(measured: Iterable[MeasuredCell]) -> list[Row]:
    """What was sampled through each soak: quantity, seconds since its start, value."""
    return [
        {"cell": one.cell.name, "quantity": name, "seconds": seconds, "value": value}
        for one in of_kind(measured, "soak")
        for name, points in one.measured.get("series", {}).items()
        for seconds, value in points
    ]
