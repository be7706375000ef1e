"""Timing blocks of calls, with the device drained before the clock starts and before it stops."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from queue import Queue

from machinecheck.devices import Clocked, Device, Run
from machinecheck.errors import MachineCheckError
from machinecheck.faults import NO_SYNCHRONISATION


@dataclass(frozen=True)
class Block:
    """Calls timed together, seconds.

    ``drained`` says that the device had nothing left to do when the timer was stopped; ``clock_mhz`` is the lowest
    reading of its clock meanwhile.
    """

    calls: int
    seconds: float
    drained: bool = True
    clock_mhz: float | None = None


class Unsynchronised:
    """A device whose ``synchronize`` does nothing: the planted fault of timing."""

    def __init__(self, device: Clocked) -> None:
        self._device = device

    def synchronize(self) -> None:
        """Return at once, as a forgotten call would."""

    def pending(self) -> bool:
        return self._device.pending()

    def drain(self) -> None:
        self._device.synchronize()


class Background:
    """A device made of one thread, which works while the caller goes on, as an accelerator does."""

    LONGEST_QUEUE = 64

    def __init__(self) -> None:
        self._queue: Queue[Run] = Queue(self.LONGEST_QUEUE)
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            self._queue.get()()
            self._queue.task_done()

    def queued(self, run: Run) -> Run:
        """A call that only queues ``run``."""
        return lambda: self._queue.put(run)

    def synchronize(self) -> None:
        self._queue.join()

    def pending(self) -> bool:
        return self._queue.unfinished_tasks > 0

    def drain(self) -> None:
        self.synchronize()


def timed_by(device: Device, runs: Sequence[Run], fault: str | None) -> tuple[Clocked, Sequence[Run]]:
    """The device to time with and the calls to time: as given, unless the missing synchronisation is planted.

    A processor has nothing to forget, so there the fault is planted into a device that works behind.
    """
    if fault != NO_SYNCHRONISATION:
        return device, runs
    if not device.is_cpu:
        return Unsynchronised(device), runs
    background = Background()
    return Unsynchronised(background), [background.queued(run) for run in runs]


def time_block(runs: Sequence[Run], calls: int, device: Clocked) -> Block:
    """Time ``calls`` calls, taking ``runs`` in turn, with one synchronisation at each end.

    ``drained`` is asked of the device itself after the clock was stopped, so that a synchronisation that
    does not wait is seen.
    """
    device.synchronize()
    start = time.perf_counter()
    for index in range(calls):
        runs[index % len(runs)]()
    device.synchronize()
    seconds = time.perf_counter() - start
    return Block(calls, seconds, drained=not device.pending())


def time_at_least(runs: Sequence[Run], calls: int, device: Clocked, seconds: float) -> Block:
    """Blocks of ``calls`` calls, added up until they took ``seconds``, whatever a busy host does."""
    total = time_block(runs, calls, device)
    while total.drained and total.seconds < seconds:
        more = time_block(runs, calls, device)
        total = Block(total.calls + more.calls, total.seconds + more.seconds, more.drained)
    return total


def calls_per_block(runs: Sequence[Run], device: Clocked, min_seconds: float) -> int:
    """How many calls fill a block with a tenth to spare, so that few blocks need a second round; also the warm-up.

    The first round is not timed: it loads libraries and chooses kernels, which on an accelerator takes longer than
    many calls. MachineCheckError for blocks of no length.
    """
    if min_seconds <= 0:
        raise MachineCheckError(f"block: found {min_seconds:g} s, expected more than 0")
    calls = len(runs)
    time_block(runs, calls, device)
    while True:
        block = time_block(runs, calls, device)
        if block.seconds >= min_seconds or not block.drained:
            return math.ceil(1.1 * calls * min_seconds / block.seconds) if block.drained else calls
        calls *= 2 if block.seconds <= 0 else min(16, max(2, round(1.5 * min_seconds / block.seconds)))
