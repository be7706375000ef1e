"""The verdict on what a cell measured, derived from its numbers and the registered bounds.

Nothing that the cell itself thinks of them is asked: a verdict in its file is ignored.
"""

from __future__ import annotations

from typing import Any

from tachograph.files import canonical_json
from tachograph.machine.cellrecord import (
    Correctness,
    Matmul,
    OfMatmul,
    OfTraining,
    Probe,
    Record,
    Refused,
    Repeats,
    Steps,
    Training,
    UnreadableError,
    read,
)
from tachograph.machine.cells import PROBE, Cell
from tachograph.machine.correctness import judge_comparisons
from tachograph.machine.plausible import Peaks, declared_peak
from tachograph.machine.repeats import judge_repeats
from tachograph.machine.throughput import judge_matmul, judge_training
from tachograph.machine.training import judge_soak, judge_steps
from tachograph.machine.verdict import Judged, Verdict
from tachograph.models.bounds import Bounds


def judge_record(cell: Cell, value: Any, bounds: Bounds, peaks: Peaks) -> Judged:
    """Judge the file that ``cell`` wrote. Raises UnreadableError, naming place and reason, where it cannot be."""
    if cell.kind == PROBE:
        read(Probe, value)
        return Judged(Verdict.PASS)
    record = read(Record, value)
    given = value["settings"]
    for name, asked in cell.settings.items():
        found = given.get(name)
        if found != asked and str(found) != str(asked):
            raise UnreadableError(f"settings.{name}: found {found!r}, expected {asked!r}, which was asked for")
    if cell.fault is None and record.fault is not None:
        raise UnreadableError(f"fault: found {record.fault!r}, expected none: its numbers are not the machine's")
    peak = declared_peak(record.device_name, str(given.get("dtype", "")), peaks)
    found = _judge(cell, record.measured, given, bounds, peak)
    try:
        canonical_json(found.derived)
    except ValueError:
        raise UnreadableError("measured: found numbers from which no finite rate or share follows") from None
    return found


def _judge(cell: Cell, numbers: dict[str, Any], given: dict[str, Any], bounds: Bounds, peak: float | None) -> Judged:
    dtype = str(given.get("dtype", ""))
    if cell.kind == "soak":
        read(OfTraining, given, "settings")
        return judge_soak(read(Steps, numbers, "measured"), bounds)
    if cell.kind == "repeatability":
        return judge_repeats(read(Repeats, numbers, "measured"), dtype, bounds)
    if cell.kind == "correctness":
        if "losses" in numbers:
            return judge_steps(read(Steps, numbers, "measured"))
        if numbers.get("refused") is not None:
            return Judged(Verdict.WARN, [read(Refused, numbers, "measured").refused])
        return judge_comparisons(read(Correctness, numbers, "measured"), dtype, bounds)
    if "flop_per_call" in numbers:
        read(OfMatmul, given, "settings")
        return judge_matmul(read(Matmul, numbers, "measured"), dtype, peak, bounds)
    read(OfTraining, given, "settings")
    return judge_training(read(Training, numbers, "measured"), bounds)
