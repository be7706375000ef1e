"""Run a program under a lease: nothing that it starts outlives the lease, whatever becomes of any of them."""

from __future__ import annotations

import math
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.execution.outcome import TIME_LIMIT, Outcome, judge, signal_name
from tachograph.execution.parenthood import adopting_orphans, die_with_parent
from tachograph.lease.acquire import Lease
from tachograph.lease.holders import TOKEN_VARIABLE
from tachograph.lease.processes import (
    ProcessStat,
    all_pids,
    boot_id,
    descendants,
    environment_value,
    is_alive,
    read_stat,
)
from tachograph.wording import counted

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_REQUEST_SECONDS = 1.0  # Ctrl-C, or the end of a terminal, may come from the kernel and from Snakemake too
LINGER_SECONDS = 0.5  # helpers of a program (Python's resource tracker) end by themselves just after it
SURVIVOR_PATIENCE_SECONDS = 5.0  # after SIGKILL; only a process stuck in the kernel takes longer


def supervise(
    argv: Sequence[str],
    *,
    lease: Lease,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    log_path: Path | None,
    max_hold_s: float,
    grace_s: float = 10.0,
    on_tick: Callable[[int], None] | None = None,
    tick_s: float = 0.5,
    stdin: int | None = subprocess.DEVNULL,
) -> Outcome:
    """Run ``argv`` under ``lease`` to its end, or to ``max_hold_s`` seconds, and leave nothing of it behind.

    The program inherits the open lock file and the lease's token, runs in a session of its own with standard
    input empty and both outputs appended to ``log_path`` (None: those of this process), and dies with this
    process. If that fails, the lock or the token stays with what is left of it. ``env`` is its whole
    environment (None: ours). At the limit, and when SIGINT, SIGTERM or SIGHUP comes to this process, the
    program gets a signal, then ``grace_s`` seconds, then SIGKILL; a second signal means SIGKILL at once.
    ``on_tick(pid)`` is called every ``tick_s`` seconds in this thread; what it raises ends the program.

    To be called from the main thread (elsewhere signals are not forwarded), and by a process that starts no
    other children meanwhile, but in ``on_tick``: all new children are taken for the program's.
    """
    environment = {**(os.environ if env is None else env), **lease.environment()}
    ours = {(stat.pid, stat.start_ticks) for stat in descendants(os.getpid())}
    oom_before = _oom_kills()
    with adopting_orphans(), _caught_signals() as caught:
        program = _Program(argv, lease, cwd, environment, log_path, stdin, ours)
        try:
            cause = program.watch(caught, max_hold_s, grace_s, on_tick, tick_s)
        finally:
            program.end_all()
            lease.survivors = program.unkillable
    oom_after = _oom_kills()
    oom_kills = None if oom_before is None or oom_after is None else oom_after - oom_before
    return program.outcome(cause, max_hold_s, oom_kills)


class _Program:
    """The program, everything below it, and what they used."""

    def __init__(
        self,
        argv: Sequence[str],
        lease: Lease,
        cwd: Path | None,
        environment: Mapping[str, str],
        log_path: Path | None,
        stdin: int | None,
        ours: set[tuple[int, int]],
    ) -> None:
        self.token = lease.token
        self.ours = ours
        self.user_s = self.system_s = 0.0
        self.max_rss_bytes = 0
        self.survivors_killed = 0
        self.unkillable: list[int] = []
        self.status: int | None = None  # as wait4(2) gives it
        output = None
        try:
            output = os.open(log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644) if log_path else None
            self.started_wall, self.started_monotonic = time.time(), time.monotonic()
            self.process = subprocess.Popen(
                [*die_with_parent(), *argv],
                cwd=cwd,
                env=environment,
                stdin=stdin,
                stdout=output,
                stderr=output,
                pass_fds=lease.descriptors,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL byte in an argument
            raise TachographError(f"command {list(argv)!r} cannot be started in {cwd or '.'}: {error}") from error
        finally:
            if output is not None:
                os.close(output)
        self.pid = self.process.pid
        self.ended_wall = self.ended_monotonic = 0.0

    def watch(
        self,
        caught: _Caught,
        max_hold_s: float,
        grace_s: float,
        on_tick: Callable[[int], None] | None,
        tick_s: float,
    ) -> str:
        """Wait for the end of the program. Returns what ended it: "" (itself), TIME_LIMIT or a signal."""
        end_of_hold = self.started_monotonic + max_hold_s
        next_tick = self.started_monotonic + tick_s if on_tick else math.inf
        cause = ""
        asked = end_of_grace = killed = math.inf  # times: when it was asked to end, and so on
        exited = os.pidfd_open(self.pid)
        poll = select.poll()
        poll.register(exited, select.POLLIN)
        poll.register(caught.pipe, select.POLLIN)
        try:
            while True:
                until = min(next_tick, end_of_grace, end_of_hold if not cause else math.inf)
                events = poll.poll(min(max(until - time.monotonic(), 0.0), 3600.0) * 1000)
                ready = {descriptor for descriptor, _ in events}
                now = time.monotonic()
                if exited in ready or now > killed + SURVIVOR_PATIENCE_SECONDS:
                    self._reap_program()
                    return cause
                request = ""
                if caught.pipe in ready:
                    request = signal.Signals(os.read(caught.pipe, 1)[0]).name
                elif now >= end_of_hold:
                    request = TIME_LIMIT
                if request and not cause:
                    cause, asked, end_of_grace = request, now, now + grace_s
                    self._signal_session(signal.SIGTERM if cause == TIME_LIMIT else signal.Signals[cause])
                elif request and request != TIME_LIMIT and now > asked + SAME_REQUEST_SECONDS:
                    end_of_grace = now  # asked again
                if now >= end_of_grace:
                    end_of_grace, killed = math.inf, now
                    self._signal_session(signal.SIGKILL)
                if on_tick is not None and now >= next_tick:
                    next_tick = now + tick_s
                    on_tick(self.pid)
        finally:
            os.close(exited)

    def _signal_session(self, number: int) -> None:
        """To the program's group, stopped or not: only SIGKILL reaches a stopped process as it is."""
        for send in (number, signal.SIGCONT):
            try:
                os.killpg(self.pid, send)
            except ProcessLookupError:
                return

    def _reap_program(self) -> None:
        self.ended_wall, self.ended_monotonic = time.time(), time.monotonic()
        self.status = self._reap(self.pid)
        if self.status is not None:
            self.process.returncode = os.waitstatus_to_exitcode(self.status)

    def _reap(self, pid: int) -> int | None:
        """Collect a child that has ended, and what it and its own reaped children used."""
        try:
            reaped, status, usage = os.wait4(pid, os.WNOHANG)
        except ChildProcessError:
            return None
        if reaped == 0:
            return None
        self.user_s += usage.ru_utime
        self.system_s += usage.ru_stime
        self.max_rss_bytes = max(self.max_rss_bytes, usage.ru_maxrss * 1024)
        return status

    def end_all(self) -> None:
        """Kill and reap the program and all that it has left behind, in any session; bounded in time.

        Orphans have become our children (we are their subreaper); what carries the token is ours wherever it
        is.
        """
        kill_from = time.monotonic() + LINGER_SECONDS
        give_up = kill_from + SURVIVOR_PATIENCE_SECONDS
        pause = 0.001
        killed: set[tuple[int, int]] = set()
        while True:
            left = self._left()
            now = time.monotonic()
            for stat in left:
                if stat.running:
                    if now < kill_from and stat.pid != self.pid:
                        continue
                    with suppress(ProcessLookupError, PermissionError):
                        os.kill(stat.pid, signal.SIGKILL)
                    if stat.pid != self.pid:
                        killed.add((stat.pid, stat.start_ticks))
                elif stat.pid == self.pid:
                    self._reap_program()
                else:
                    self._reap(stat.pid)
            if not left:
                break
            if now > give_up:
                self.unkillable = [stat.pid for stat in left if is_alive(stat.pid, stat.start_ticks)]
                break
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        self.survivors_killed = len(killed)

    def _left(self) -> list[ProcessStat]:
        left = [s for s in descendants(os.getpid()) if (s.pid, s.start_ticks) not in self.ours]
        known = {os.getpid()} | {stat.pid for stat in left}
        for pid in all_pids():
            if pid in known:
                continue
            token = environment_value(pid, TOKEN_VARIABLE)
            if token is not None and (token == self.token or token.startswith(self.token + ".")):
                stat = read_stat(pid)
                if stat is not None and stat.running:
                    left.append(stat)
        return left

    def outcome(self, cause: str, max_hold_s: float, oom_kills: int | None) -> Outcome:
        code = self.process.returncode
        status, reason = judge(cause, code, max_hold_s)
        name = signal_name(code)
        if status == "killed" and name == "SIGKILL" and oom_kills:
            reason += f"; the kernel killed {counted(oom_kills, 'process')} for want of memory meanwhile"
        return Outcome(
            status=status,
            exit_code=None if name or code is None else code,
            signal=name,
            reason=reason,
            interrupted_by=cause if status == "interrupted" else None,
            started_monotonic=self.started_monotonic,
            ended_monotonic=self.ended_monotonic,
            started_wall=self.started_wall,
            ended_wall=self.ended_wall,
            boot_id=boot_id(),
            cpu_user_s=self.user_s,
            cpu_system_s=self.system_s,
            max_rss_bytes=self.max_rss_bytes,
            survivors_killed=self.survivors_killed,
            unkillable=self.unkillable,
            oom_kills=oom_kills,
        )


@dataclass
class _Caught:
    """The reading end of a pipe that gets the number of each signal, one byte each."""

    pipe: int


@contextmanager
def _caught_signals() -> Iterator[_Caught]:
    """Turn SIGINT, SIGTERM and SIGHUP into bytes of a pipe; ignored ones (nohup) stay ignored."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before: dict[signal.Signals, Any] = {}

    def note(number: int, _: object) -> None:
        with suppress(BlockingIOError):  # thousands of signals unread: enough said
            os.write(writing, bytes([number]))

    try:
        for number in STOP_SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                before[number] = signal.signal(number, note)
    except ValueError:  # not in the main thread
        pass
    try:
        yield _Caught(reading)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reading)
        os.close(writing)


def _oom_kills() -> int | None:
    """How many processes the kernel has killed for want of memory since boot; None if it does not tell."""
    try:
        for line in Path("/proc/vmstat").read_text().splitlines():
            name, _, value = line.partition(" ")
            if name == "oom_kill":
                return int(value)
    except OSError:
        pass
    return None
