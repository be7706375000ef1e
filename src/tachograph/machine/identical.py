"""Rates that are the same in several cells to the last digit: a clock's tick, not a measurement (cases.md, D29)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tachograph.machine import rates
from tachograph.machine.cells import Cell
from tachograph.machine.outcome import CellOutcome
from tachograph.machine.plausible import withdrawn
from tachograph.machine.verdict import Verdict

RATES = {"burst": "burst", "sustained": "sustained", "samples_per_second": "samples/s"}  # derived name -> in words


def reject_identical(cells: Sequence[Cell], outcomes: Sequence[CellOutcome]) -> list[CellOutcome]:
    """``outcomes`` of ``cells``, in which those that share a rate with another one FAIL and have none.

    Two products, or two networks, never take the same time to the last digit. Cells with a planted fault are left
    out: their numbers are not the machine's.
    """
    found = list(outcomes)
    for name, words in RATES.items():
        timed = [
            index
            for index, cell in enumerate(cells)
            if cell.kind == "throughput" and cell.fault is None and name in outcomes[index].derived
        ]
        rate = {index: outcomes[index].derived[name]["rate"] for index in timed}
        for index in (timed[position] for position in rates.identical(list(rate.values()))):
            others = [cells[other].name for other in timed if other != index and rate[other] == rate[index]]
            reason = f"rejected: identical to {', '.join(others)} to the last digit: {rate[index]:.7g}"
            one = found[index]
            found[index] = replace(
                one,
                verdict=Verdict.FAIL,
                reasons=[*one.reasons, f"{words}: {reason}"],
                derived={**one.derived, name: withdrawn(one.derived[name], reason)},
            )
    return found
