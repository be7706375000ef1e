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
    """A row per known fault, and the verdict over those that were planted: PASS only if each was caught every time.

    A fault that was not planted has no verdict, whether some others were or none: the power to detect it is not
    shown, which is told and changes nothing else. One that was planted and did not run is INCOMPLETE.
    """
    rows = [_row(name, fault, [one for one in measured if one.cell.fault == name]) for name, fault in faults.items()]
    verdicts = [Verdict(row["verdict"]) for row in rows if row["verdict"] is not None]
    return {"registered": bool(verdicts), "verdict": str(worst(verdicts)) if verdicts else None, "rows": rows}


def _row(name: str, fault: Fault, cells: Sequence[MeasuredCell]) -> dict[str, Any]:
    found = [one for one in cells if caught(one, fault)]
    return {
        "fault": name,
        "planted": len(cells),
        "caught": len(found),
        "must": fault.caught,
        "verdict": str(_verdict(cells, len(found))) if cells else None,
        "about": fault.about,
        "by": [_short("; ".join(one.reasons)) for one in found],
        "missed": [f"{one.cell.name}: {one.outcome}, {one.verdict}" for one in cells if one not in found],
    }


def _short(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


def _verdict(cells: Sequence[MeasuredCell], caught: int) -> Verdict:
    if any(one.outcome == NOT_RUN for one in cells):
        return Verdict.INCOMPLETE
    return Verdict.PASS if caught == len(cells) else Verdict.FAIL


def clean(measured: Sequence[MeasuredCell]) -> list[MeasuredCell]:
    """The cells that nothing was planted in: those that speak of the machine."""
    return [one for one in measured if one.cell.fault is None]
