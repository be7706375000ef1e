"""Worker processes that live as long as the training; the death of one is an error, never a hang."""

from __future__ import annotations

import multiprocessing
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

import psutil

from lost_cities.errors import (
    LostCitiesError,
    NonFiniteTrainingError,
    WorkerLostError,
    is_memory_error,
    not_enough_memory,
)

Handler = Callable[[Any], Any]
BROADCAST, READY = -1, -2  # numbers of what is no job
PATIENCE = 5  # seconds without news, after which somebody looks whether a worker is stopped
GRACE = 2  # seconds in which workers may end by themselves


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    job: int | None = None
    ready: bool = False
    told_of: bool = False  # that it is stopped


class WorkerPool:
    """``count`` processes, each with a handler made by ``make_handler(*arguments)`` in the process itself.

    Jobs are given out in order to whoever is free. A handler's :class:`LostCitiesError` or
    :class:`NonFiniteTrainingError` is raised here; any other end of a worker raises :class:`WorkerLostError`. A worker
    that is stopped (SIGSTOP) is waited for, with a line on stderr that says so.
    """

    def __init__(self, make_handler: Callable[..., Handler], arguments: tuple[Any, ...], count: int, what: str) -> None:
        context = multiprocessing.get_context("spawn")  # forking a process with torch's threads can hang
        self._what = what
        self._workers: list[_Worker] = []
        self._waiting: deque[tuple[int, Any]] = deque()
        self._results: dict[int, Any] = {}
        self._submitted = 0
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, make_handler, arguments), daemon=True)
            _start_without_interrupts(process)
            theirs.close()
            self._workers.append(_Worker(process, ours))

    @property
    def process_ids(self) -> list[int]:
        return [worker.process.pid or 0 for worker in self._workers]

    def wait_ready(self) -> None:
        """Wait until every worker has made its handler, so that no job pays for it."""
        while not all(worker.ready for worker in self._workers):
            self._take_in(timeout=None)

    def broadcast(self, job: Any) -> None:
        """Give ``job`` to every worker; its result is not kept."""
        for worker in self._workers:
            self._send(worker, BROADCAST, job)

    def submit(self, jobs: Iterable[Any]) -> None:
        """Add jobs to those under way. Returns at once."""
        for job in jobs:
            self._waiting.append((self._submitted, job))
            self._submitted += 1
        self._give_out()

    @property
    def busy(self) -> bool:
        """Whether submitted jobs are unfinished; takes in what has finished, without waiting."""
        self._take_in(timeout=0)
        return len(self._results) < self._submitted

    def results(self) -> list[Any]:
        """Wait for all submitted jobs; their results in order of submission."""
        while len(self._results) < self._submitted:
            self._take_in(timeout=None)
        ordered = [self._results[number] for number in range(self._submitted)]
        self._results.clear()
        self._submitted = 0
        return ordered

    def close(self) -> None:
        """End the workers."""
        for worker in self._workers:
            worker.pipe.close()
        given_up = time.monotonic() + GRACE
        for worker in self._workers:
            worker.process.join(timeout=max(0.0, given_up - time.monotonic()))
        for worker in self._workers:
            worker.process.kill()  # a worker that is stopped would never notice anything milder
            worker.process.join()
        self._workers.clear()

    def _give_out(self) -> None:
        for worker in self._workers:
            if worker.job is None and self._waiting:
                worker.job, job = self._waiting.popleft()
                self._send(worker, worker.job, job)

    def _send(self, worker: _Worker, number: int, job: Any) -> None:
        try:
            worker.pipe.send((number, job))
        except OSError:
            self._lost(worker)

    def _take_in(self, timeout: float | None) -> None:
        pipes = {worker.pipe: worker for worker in self._workers}
        arrived = wait(list(pipes), PATIENCE if timeout is None else timeout)
        if not arrived and timeout is None:
            self._tell_of_stopped()
        for ready in arrived:  # a dead worker's pipe is ready too, and then at its end
            worker = pipes[ready]  # type: ignore[index]
            try:
                number, error, result = worker.pipe.recv()
            except (EOFError, OSError):
                self._lost(worker)
            if error is not None:
                raise error
            if number == READY:
                worker.ready = True
            else:
                worker.job = None
                self._results[number] = result
        self._give_out()

    def _tell_of_stopped(self) -> None:
        """A line on stderr, once per worker: nobody would find out otherwise what a training waits for."""
        for worker in self._workers:
            number = worker.process.pid
            if number and not worker.told_of and psutil.Process(number).status() == psutil.STATUS_STOPPED:
                worker.told_of = True
                print(
                    f"lost_cities: {self._what} worker (process {number}) is stopped; "
                    f"waiting for it to go on (kill -CONT {number}) or to end",
                    file=sys.stderr,
                    flush=True,
                )

    def _lost(self, worker: _Worker) -> None:
        worker.process.join(timeout=5)
        code = worker.process.exitcode
        how = f"signal {signal.Signals(-code).name}" if code is not None and code < 0 else f"exit code {code}"
        raise WorkerLostError(
            f"{self._what} worker (process {worker.process.pid}) ended with {how} before its work was done; "
            "nothing of this iteration was kept, --resume goes on from the last checkpoint"
        )


def _start_without_interrupts(process: BaseProcess) -> None:
    """Start ``process`` with SIGINT blocked from its first instruction: on Ctrl-C the parent decides and speaks."""
    resource_tracker.ensure_running()  # its own first start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, make_handler: Callable[..., Handler], arguments: tuple[Any, ...]) -> None:
    """The life of a worker: jobs until the other end of the pipe is closed."""
    number, job = READY, None
    handle: Handler | None = None
    while True:
        try:
            if handle is None:
                handle, result, error = make_handler(*arguments), None, None
            else:
                result, error = handle(job), None
        except (LostCitiesError, NonFiniteTrainingError) as complaint:
            result, error = None, complaint
        except (MemoryError, RuntimeError) as complaint:
            if not is_memory_error(complaint):
                raise
            result, error = None, LostCitiesError(not_enough_memory(complaint))
        try:
            if number != BROADCAST or error is not None:
                pipe.send((number, error, result))
            number, job = pipe.recv()
        except (EOFError, OSError):
            return
