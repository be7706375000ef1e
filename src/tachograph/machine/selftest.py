"""What this check would have caught today: faults that were planted on purpose, and whether each was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import NOT_RUN
from tachograph.machine.verdict import Verdict, worst
from tachograph.models.checker import Fault


def caught(one: MeasuredCell, fault: Fault) -> bool:
    """Whether the cell ended as it must with this fault; a record that it wrote has to name the fault."""
    if fault.caught == "FAIL":
        named = one.record is not None and one.record.get("fault") == one.cell.fault
        return named and one.verdict is Verdict.FAIL
    return one.outcome == fault.caught and one.verdict is not Verdict.PASS


def selftest(measured: Sequence[MeasuredCell], faults: Mapping[str, Fault]) -> dict[str, Any]:
    """A row per known fault, and the verdict: PASS only if each was planted and caught every time.

    A fault that was not planted has 0 of 0, which is not "caught". INCOMPLETE where nothing is known of it.
    """
    rows = [_row(name, fault, [one for one in measured if one.cell.fault == name]) for name, fault in faults.items()]
    registered = any(row["planted"] for row in rows)
    verdict = str(worst(Verdict(row["verdict"]) for row in rows)) if registered else None
    return {"registered": registered, "verdict": verdict, "rows": rows}


def _row(name: str, fault: Fault, cells: Sequence[MeasuredCell]) -> dict[str, Any]:
    found = [one for one in cells if caught(one, fault)]
    unknown = not cells or any(one.outcome == NOT_RUN for one in cells)
    verdict = Verdict.INCOMPLETE if unknown else Verdict.PASS if len(found) == len(cells) else Verdict.FAIL
    return {
        "fault": name,
        "planted": len(cells),
        "caught": len(found),
        "must": fault.caught,
        "verdict": str(verdict),
        "by": ["; ".join(one.reasons)[:200] for one in found],
        "missed": [f"{one.cell.name}: {one.outcome}, {one.verdict}" for one in cells if one not in found],
    }


def clean(measured: Sequence[MeasuredCell]) -> list[MeasuredCell]:
    """The cells that nothing was planted in: those that speak of the machine."""
    return [one for one in measured if one.cell.fault is None]
