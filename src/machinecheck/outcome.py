"""What became of a cell's process, from its exit status and its log; pure functions."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from typing import Any

from machinecheck.verdict import Verdict

DONE, CRASHED, TIMED_OUT = "done", "crashed", "timed out"
KERNEL, MEMORY, REFUSED, FAILED, NOT_RUN = (
    "kernel failure", "out of memory", "refused", "failed", "not run",
)  # fmt: skip

# Sentences of libraries that could not build or find a kernel for this device.
KERNEL_ERRORS = re.compile(
    r"miopenStatus\w+|no kernel image|hipErrorNoBinaryForGpu|invalid device function"
    r"|CUDNN_STATUS_NOT_SUPPORTED|CUDNN_STATUS_ARCH_MISMATCH"
    r"|(?:failed|unable) to (?:compile|build).*kernel|comgr|hiprtc|nvrtc",
    re.IGNORECASE,
)
MEMORY_ERRORS = re.compile(r"out of memory|MemoryError|OutOfMemory|DefaultCPUAllocator: can't allocate", re.I)


@dataclass(frozen=True)
class Outcome:
    """``verdict`` can be PASS only through a record that the cell itself wrote."""

    outcome: str
    verdict: Verdict
    reasons: list[str]
    signal: str | None = None


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; the number where the system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def last_line(log: str) -> str:
    """The last line that says something."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    return lines[-1][:300] if lines else "nothing was printed"


def classify(exit_code: int | None, record: dict[str, Any] | None, log: str, limit_seconds: float) -> Outcome:
    """``exit_code`` is ``None`` if the time limit ended it, and minus the signal's number if a signal did.

    A process that died after it wrote its record crashed all the same.
    """
    if exit_code is None:
        return Outcome(TIMED_OUT, Verdict.INCOMPLETE, [f"still running after {limit_seconds:g} s"])
    if exit_code < 0:
        name = signal_name(-exit_code)
        hint = " (the system's memory may have run out)" if name == "SIGKILL" else ""
        return Outcome(CRASHED, Verdict.INCOMPLETE, [f"crashed({name}){hint}"], name)
    if record is not None:
        return Outcome(DONE, Verdict(record["verdict"]), list(record["reasons"]))
    said = last_line(log)
    if MEMORY_ERRORS.search(said):
        return Outcome(MEMORY, Verdict.INCOMPLETE, [said])
    if KERNEL_ERRORS.search(said):
        return Outcome(KERNEL, Verdict.WARN, [said])
    if exit_code == 2:
        return Outcome(REFUSED, Verdict.INCOMPLETE, [said])
    return Outcome(FAILED, Verdict.INCOMPLETE, [f"exit code {exit_code}: {said}"])
