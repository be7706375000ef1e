"""Tables of a machine check, computed from the outcomes of its cells; nothing here measures.

An outcome is what the runner writes per cell. Only cells whose process ended well ("done") give numbers; a
number that was not measured is ``None``. ``≥`` marks rates that are only lower bounds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from machinecheck import rates
from machinecheck.outcome import DONE

Outcome = Mapping[str, Any]
Row = dict[str, Any]
RE_MEASURE = "re-measure on an idle host"


def records(outcomes: Iterable[Outcome], kind: str, operation: str | None = None) -> list[Outcome]:
    """Outcomes of one kind (and operation) that left a record."""
    return [
        row
        for row in outcomes
        if row["kind"] == kind and operation in (None, row["operation"]) and row["outcome"] == DONE
    ]


def bound_mark(contended: bool | None, best_of: bool = False) -> str:
    """``≥`` for a rate that other work may have lowered, or that is the best of several."""
    return rates.LOWER_BOUND if best_of or contended is not False else ""


def declared_peak(units: int, flop_per_unit_and_clock: int, gigahertz: float) -> float:
    """Peak in TFLOP/s: compute units × operations per unit and clock × clock.

    Radeon 8060S: 40 × 512 × 2.9 GHz = 59.4 TFLOP/s in bf16. Torch counts work-group processors (20), not
    compute units.
    """
    return units * flop_per_unit_and_clock * gigahertz / 1e3


def mean_of(host: Mapping[str, Any], name: str) -> float | None:
    """Mean of a sampled quantity through a cell."""
    found = host.get(name)
    return None if found is None else float(found["mean"])


def _common(row: Outcome) -> Row:
    host = row["record"]["host"]
    clock = mean_of(host, "clock_mhz")
    return {
        "arm": row["arm"],
        "device": row["record"]["settings"]["device"],
        "load": mean_of(host, "load_average"),
        "foreign_processors": mean_of(host, "foreign_processors"),
        "clock_mhz": mean_of(host, "cpu_clock_mhz") if clock is None else clock,
        "power_watts": mean_of(host, "power_watts"),
        "contended": host["contended"],
        "held_back": None if host["contended"] is False else RE_MEASURE,
    }


def correctness(outcomes: Iterable[Outcome]) -> list[Row]:
    """One row per correctness cell: verdict, non-finite count, relative error, share of the bound used."""
    rows = []
    for row in outcomes:
        if row["kind"] != "correctness":
            continue
        measured = row["record"]["measured"] if row["outcome"] == DONE else {}
        tensors = measured.get("tensors") or measured.get("worst") or measured.get("probes") or {"": measured}
        rows.append(
            {
                "cell": row["cell"],
                "arm": row["arm"],
                "operation": row["operation"],
                "settings": dict(row["settings"]),
                "outcome": row["outcome"],
                "verdict": str(row["verdict"]),
                "nonfinite": _total(tensors, "nonfinite"),
                "wrong": _total(tensors, "corrupted"),
                "relative": _largest(tensors, "relative"),
                "ratio_to_bound": _largest(tensors, "ratio"),
                "reasons": list(row["reasons"]),
            }
        )
    return rows


def _largest(tensors: Mapping[str, Mapping[str, Any]], name: str) -> float | None:
    return max((part[name] for part in tensors.values() if part.get(name) is not None), default=None)


def _total(tensors: Mapping[str, Mapping[str, Any]], name: str) -> int | None:
    found = [part[name] for part in tensors.values() if part.get(name) is not None]
    return sum(found) if found else None


def repeatability(outcomes: Iterable[Outcome]) -> list[Row]:
    """One row per operation, backend and thread count: calls, different results, wrong ones, bounds."""
    return [
        {
            "cell": row["cell"],
            "arm": row["arm"],
            "operation": row["operation"],
            "backend": _backend(row["record"]["settings"]),
            "device": row["record"]["settings"]["device"],
            "verdict": str(row["verdict"]),
        }
        | count
        for row in records(outcomes, "repeatability")
        for count in row["record"]["measured"].get("summary", {}).get("by_threads", [])
    ]


def _backend(settings: Mapping[str, Any]) -> str:
    if "library" in settings:
        return str(settings["library"])
    if "onednn" in settings and settings["device"] == "cpu":
        return "oneDNN" if settings["onednn"] else "without oneDNN"
    return "torch"


def matmul(outcomes: Iterable[Outcome]) -> list[Row]:
    """TFLOP/s over size and format, burst and sustained, with the share of the declared peak.

    Rates that occur twice to the last digit are withdrawn: they are a clock's tick.
    """
    rows = []
    for row in records(outcomes, "throughput", "matmul"):
        record = row["record"]
        measured, settings = record["measured"], record["settings"]
        sustained, peak = measured["sustained"]["rate"], measured["peak"]
        common = _common(row)
        rows.append(
            {
                "size": settings["size"],
                "dtype": settings["dtype"],
                "burst": measured["burst"]["rate"],
                "sustained": sustained,
                "steady": measured["sustained"]["steady"],
                "peak": peak,
                "share_of_peak": None if None in (sustained, peak) else sustained / peak,
                "status": measured["sustained"]["status"],
                "mark": bound_mark(common["contended"]),
            }
            | common
        )
    for name in ("burst", "sustained"):
        for index in rates.identical([row[name] for row in rows]):
            rows[index] |= {name: None, "share_of_peak": None, "status": "identical to another cell's value"}
    return rows


def training(outcomes: Iterable[Outcome]) -> list[Row]:
    """Samples per second over batch, for each network, device and format; each the best of several blocks."""
    rows = []
    for row in records(outcomes, "throughput", "training"):
        measured, settings = row["record"]["measured"], row["record"]["settings"]
        common = _common(row)
        rows.append(
            {
                "channels": settings["channels"],
                "parameters": measured["parameters"],
                "batch": settings["batch"],
                "dtype": settings["dtype"],
                "samples_per_second": measured["samples_per_second"]["rate"],
                "forward": measured["forward_samples_per_second"],
                "backward": measured["backward_samples_per_second"],
                "memory_share": measured["memory"]["share"],
                "mark": bound_mark(common["contended"], best_of=True),
            }
            | common
        )
    return rows


def either(first: bool | None, second: bool | None) -> bool | None:
    """Whether one of two was contended; ``None`` if neither is known to be and one is not known."""
    if first or second:
        return True
    return None if None in (first, second) else False


def speed_ups(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Accelerator over processor for the same network, batch, format and arm.

    A ratio is no lower bound: work beside can lower either side. It carries whether one was contended.
    """
    found = []
    same = ("channels", "batch", "dtype", "arm")
    processors = {tuple(row[key] for key in same): row for row in rows if row["device"] == "cpu"}
    for row in rows:
        other = processors.get(tuple(row[key] for key in same))
        if row["device"] == "cpu" or other is None:
            continue
        fast, slow = row["samples_per_second"], other["samples_per_second"]
        found.append(
            {key: row[key] for key in same}
            | {
                "numerator": row["device"],
                "denominator": "cpu",
                "unit": "samples/s",
                "speed_up": None if None in (fast, slow) else rates.speed_up(fast, slow),
                "contended": either(row["contended"], other["contended"]),
            }
        )
    return found


def format_ratios(rows: Sequence[Mapping[str, Any]], fast: str = "bf16", slow: str = "fp32") -> list[Row]:
    """How many times as fast one format is as another at the same size on the same device (sustained)."""
    same = ("size", "device", "arm")
    slower = {tuple(row[key] for key in same): row["sustained"] for row in rows if row["dtype"] == slow}
    return [
        {key: row[key] for key in same}
        | {
            "numerator": fast,
            "denominator": slow,
            "ratio": rates.speed_up(row["sustained"], slower[tuple(row[key] for key in same)]),
        }
        for row in rows
        if row["dtype"] == fast and None not in (row["sustained"], slower.get(tuple(row[key] for key in same)))
    ]


def arms(outcomes: Iterable[Outcome]) -> list[Row]:
    """Environment workarounds: for each cell that ran in several arms, what became of it in each.

    ``arms`` maps an arm to its outcome and verdict: crash or not, right or not.
    """
    cells: dict[tuple[str, str, str], Row] = {}
    for row in outcomes:
        key = (row["kind"], row["operation"], str(sorted(row["settings"].items())))
        found = cells.setdefault(
            key,
            {
                "kind": row["kind"],
                "operation": row["operation"],
                "settings": dict(row["settings"]),
                "arms": {},
            },
        )
        found["arms"][row["arm"]] = {
            "outcome": row["outcome"],
            "signal": row["signal"],
            "verdict": str(row["verdict"]),
        }
    return [row for row in cells.values() if len(row["arms"]) > 1]


def clocks(outcomes: Iterable[Outcome]) -> list[Row]:
    """Mean clock over mean host load of every throughput and soak cell, loads rising."""
    chosen = [row for row in outcomes if row["kind"] in ("throughput", "soak") and row["outcome"] == DONE]
    rows = [{"cell": row["cell"]} | _common(row) for row in chosen]
    known = [row for row in rows if row["load"] is not None and row["clock_mhz"] is not None]
    return sorted(known, key=lambda row: row["load"])


def soak(outcomes: Iterable[Outcome]) -> list[Row]:
    """One row per soak: steps, losses, rates of the first and the last quarter."""
    rows = []
    for row in records(outcomes, "soak"):
        measured, settings = row["record"]["measured"], row["record"]["settings"]
        first, last = (measured[f"samples_per_second_{name}_quarter"] for name in ("first", "last"))
        rows.append(
            {
                "channels": settings["channels"],
                "batch": settings["batch"],
                "steps": measured["steps"],
                "first_loss": measured["first_loss"],
                "last_loss": measured["last_loss"],
                "nonfinite_parameters": measured["nonfinite_parameters"],
                "slowed_by": None if None in (first, last) else rates.fall(first, last),
                "verdict": str(row["verdict"]),
            }
            | _common(row)
        )
    return rows
