"""Ratios of two measured rates, and when there is none to tell.

Every rate is measured in a process of its own, one after the other and not in turns, so work beside may have lowered
either side: a ratio of such rates is neither a value nor a bound. It stands where both hosts were quiet and no window
was unsteady; elsewhere it is withheld, and both rates stand in their tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tachograph.machine import rates
from tachograph.machine.contention import either

Row = dict[str, Any]


def speed_ups(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """Accelerator over processor for the same network, batch, format and arm.

    Each side is the best of several blocks.
    """
    same = ("channels", "batch", "dtype", "arm")
    return [
        {key: row[key] for key in same}
        | {
            "numerator": row["device"],
            "denominator": "cpu",
            "unit": "samples/s",
            "speed_up": ratio,
            "withheld": withheld,
        }
        for row, ratio, withheld in _over(rows, "device", "cpu", same, "samples_per_second")
    ]


def format_ratios(rows: Sequence[Mapping[str, Any]], slow: str = "fp32") -> list[Row]:
    """How many times as fast each format is as ``slow`` at the same size on the same device (sustained)."""
    same = ("size", "device", "arm")
    return [
        {key: row[key] for key in same}
        | {"numerator": row["dtype"], "denominator": slow, "unit": "TFLOP/s", "ratio": ratio, "withheld": withheld}
        for row, ratio, withheld in _over(rows, "dtype", slow, same, "sustained")
    ]


def over_batches(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """How many times the rate of the smallest batch each network has at its largest one, on one device."""
    found = []
    for members in _grouped(rows, ("channels", "dtype", "device", "arm")):
        rated = sorted((row for row in members if row["samples_per_second"] is not None), key=lambda row: row["batch"])
        if not rated or rated[0]["batch"] == rated[-1]["batch"]:
            continue
        first, last = rated[0], rated[-1]
        withheld = _withheld(first, last)
        ratio = None if withheld else rates.speed_up(last["samples_per_second"], first["samples_per_second"])
        found.append(
            {key: first[key] for key in ("channels", "parameters", "dtype", "device", "arm")}
            | {"from_batch": first["batch"], "to_batch": last["batch"], "unit": "samples/s"}
            | {"ratio": ratio, "withheld": withheld}
        )
    return found


def clock_falls(rows: Sequence[Mapping[str, Any]]) -> list[Row]:
    """By what fraction a device's clock at the highest load of the host is below that at the lowest one.

    ``rows`` with loads rising, as :func:`tachograph.machine.tables.clocks` gives them. Nothing of a device whose
    clock never changed: its system gives a constant; nor of one that stood at the lowest load, from which none falls.
    """
    return [
        {
            "device": first["device"],
            "arm": first["arm"],
            "least_load": first["load"],
            "clock_at_least": first["clock_mhz"],
            "most_load": last["load"],
            "clock_at_most": last["clock_mhz"],
            "fall": rates.fall(first["clock_mhz"], last["clock_mhz"]),
        }
        for members in _grouped(rows, ("device", "arm"))
        for first, last in [(members[0], members[-1])]
        if len({row["clock_mhz"] for row in members}) > 1 and first["clock_mhz"] > 0
    ]


def _grouped(rows: Sequence[Mapping[str, Any]], keys: tuple[str, ...]) -> list[list[Mapping[str, Any]]]:
    """Rows that are alike in ``keys``, in the order of their first ones."""
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return list(groups.values())


def _over(
    rows: Sequence[Mapping[str, Any]], column: str, base: str, same: tuple[str, ...], rate: str
) -> Iterator[tuple[Mapping[str, Any], float | None, str | None]]:
    """Each row beside the row with ``base`` in ``column`` and all of ``same`` alike: ratio of their rates, or why none.

    A row without such a partner, or where either has no rate, is left out.
    """
    bases = {tuple(row[key] for key in same): row for row in rows if row[column] == base}
    for row in rows:
        other = bases.get(tuple(row[key] for key in same))
        if row[column] == base or other is None or None in (row[rate], other[rate]):
            continue
        withheld = _withheld(row, other)
        yield row, None if withheld else rates.speed_up(row[rate], other[rate]), withheld


def _withheld(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """Why two rates give no ratio, or None."""
    contended = either(one["contended"], other["contended"])
    reasons = ["the host was not quiet"] if contended else []
    reasons += ["whether the host was quiet is not known"] if contended is None else []
    reasons += ["a window was not steady"] if False in (one.get("steady"), other.get("steady")) else []
    return f"measured one after the other, and {' and '.join(reasons)}" if reasons else None
