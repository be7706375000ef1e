"""What became of a cell, judged from its sealed file: how its process ended, what it said, what it measured."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tachograph.machine.cellrecord import UnreadableError
from tachograph.machine.cells import Cell
from tachograph.machine.judging import judge_record
from tachograph.machine.plausible import Peaks
from tachograph.machine.verdict import Verdict
from tachograph.models.bounds import Bounds

DONE, CRASHED, TIME_LIMIT, NOT_RUN, UNREADABLE = "done", "crashed", "time limit", "not run", "unreadable"
KERNEL, MEMORY, REFUSED, FAILED = "kernel failure", "out of memory", "refused", "failed"
REFUSAL_CODE = 2

# Sentences of libraries that could not build or find a kernel for this device.
KERNEL_ERRORS = re.compile(
    r"miopenStatus\w+|no kernel image|hipErrorNoBinaryForGpu|invalid device function"
    r"|CUDNN_STATUS_NOT_SUPPORTED|CUDNN_STATUS_ARCH_MISMATCH"
    r"|(?:failed|unable) to (?:compile|build).*kernel|comgr|hiprtc|nvrtc",
    re.IGNORECASE,
)
MEMORY_ERRORS = re.compile(r"out of memory|MemoryError|OutOfMemory|DefaultCPUAllocator: can't allocate", re.I)


@dataclass(frozen=True)
class CellOutcome:
    """``verdict`` can be PASS only through numbers that the cell itself wrote; ``derived`` are those from them."""

    outcome: str
    verdict: Verdict
    reasons: list[str]
    derived: dict[str, Any] = field(default_factory=dict)


def judge_cell(cell: Cell, file: dict[str, Any], bounds: Bounds, peaks: Peaks) -> CellOutcome:
    """Judge a ``cell/1`` file. A process that died after it wrote its record crashed all the same."""
    ended, record = file["ended"], file["record"]
    if not ended["started"]:
        return CellOutcome(NOT_RUN, Verdict.INCOMPLETE, [ended["reason"]])
    if ended["status"] == "time_limit":
        reason = f"still running after {ended['limit_seconds']:.3g} s"
        if ended["limit_seconds"] < cell.seconds:
            reason += f", all that was left of the time for all cells (its own limit is {cell.seconds:g} s)"
        return CellOutcome(TIME_LIMIT, Verdict.INCOMPLETE, [reason])
    if ended["signal"] is not None:
        out_of_memory = " (the kernel killed processes for want of memory meanwhile)" if ended["oom_kills"] else ""
        return CellOutcome(CRASHED, Verdict.INCOMPLETE, [f"crashed({ended['signal']}){out_of_memory}"])
    if ended["status"] == "finished" and record is not None:
        try:
            found = judge_record(cell, record, bounds, peaks)
        except UnreadableError as error:
            return CellOutcome(UNREADABLE, Verdict.INCOMPLETE, [str(error)])
        return CellOutcome(DONE, found.verdict, found.reasons, found.derived)
    if ended["status"] == "finished" and file["unreadable"]:
        return CellOutcome(UNREADABLE, Verdict.INCOMPLETE, [file["unreadable"]])
    if ended["status"] == "finished":
        return CellOutcome(
            FAILED, Verdict.INCOMPLETE, [f"it ended without an error and wrote no result: {file['said']}"]
        )
    said = file["unreadable"] or file["said"]
    if MEMORY_ERRORS.search(said):
        return CellOutcome(MEMORY, Verdict.INCOMPLETE, [said])
    if KERNEL_ERRORS.search(said):
        return CellOutcome(KERNEL, Verdict.WARN, [said])
    if ended["exit_code"] == REFUSAL_CODE:
        return CellOutcome(REFUSED, Verdict.INCOMPLETE, [said])
    return CellOutcome(FAILED, Verdict.INCOMPLETE, [f"{ended['reason']}: {said}"])
