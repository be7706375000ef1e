"""How a supervised program ended, in the words of the ledger."""

from __future__ import annotations

import signal
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from tachograph.lease.processes import boot_id

TIME_LIMIT = "time limit"


@dataclass(frozen=True)
class Outcome:
    """How a supervised program ended.

    ``status`` is ``finished`` (exit code 0), ``failed`` (another), ``killed`` (a signal that was not ours),
    ``time_limit`` or ``interrupted`` (this process got ``interrupted_by``). ``exit_code`` is None and
    ``signal`` the name if a signal ended the program. Times are seconds: ``*_monotonic`` of CLOCK_MONOTONIC,
    ``*_wall`` of Unix time. ``cpu_user_s``, ``cpu_system_s`` are those of the whole tree of processes,
    ``max_rss_bytes`` the largest of any one of them. ``survivors_killed`` counts processes left over at the
    end of the program, ``unkillable`` names those that even SIGKILL did not end. ``oom_kills`` counts
    processes that the kernel killed for want of memory meanwhile, on the whole host (None: unknown).
    ``started`` is False if the program was not run at all.
    """

    status: str
    exit_code: int | None
    signal: str | None
    reason: str
    interrupted_by: str | None
    started_monotonic: float
    ended_monotonic: float
    started_wall: float
    ended_wall: float
    boot_id: str
    cpu_user_s: float
    cpu_system_s: float
    max_rss_bytes: int
    survivors_killed: int
    unkillable: list[int] = field(default_factory=list)
    oom_kills: int | None = None
    started: bool = True

    @property
    def shell_code(self) -> int:
        """The exit code a shell would give: 128 + signal, and 124 for the time limit as timeout(1) does."""
        if self.status == "time_limit":
            return 124
        if self.interrupted_by is not None:
            return 128 + _number(self.interrupted_by)
        if self.signal is not None:
            return 128 + _number(self.signal)
        return 0 if self.status == "finished" else self.exit_code or 1

    def as_record(self) -> dict[str, Any]:
        return asdict(self)


def not_started(status: str, reason: str) -> Outcome:
    """The outcome where no program was run, and why not."""
    now, wall = time.monotonic(), time.time()
    return Outcome(
        status=status,
        exit_code=None,
        signal=None,
        reason=reason,
        interrupted_by=None,
        started_monotonic=now,
        ended_monotonic=now,
        started_wall=wall,
        ended_wall=wall,
        boot_id=boot_id(),
        cpu_user_s=0.0,
        cpu_system_s=0.0,
        max_rss_bytes=0,
        survivors_killed=0,
        started=False,
    )


def _number(name: str) -> int:
    return signal.Signals[name].value if name in signal.Signals.__members__ else int(name.removeprefix("SIG"))


def signal_name(code: int | None) -> str | None:
    """The signal that ended a process, by its code as `subprocess` gives it; None if none did."""
    if code is None or code >= 0:
        return None
    try:
        return signal.Signals(-code).name
    except ValueError:  # the real-time signals between the first and the last have no name
        return f"SIG{-code}"


def judge(cause: str, code: int | None, max_hold_s: float) -> tuple[str, str]:
    """Status and reason, from why the program was asked to end ("": it was not) and its code.

    ``code`` is that of `subprocess`: negative for a signal, None if the program did not end even by SIGKILL.
    """
    name = signal_name(code)
    ended = f"killed by {name}" if name else "it does not end by SIGKILL" if code is None else f"exit code {code}"
    if cause == TIME_LIMIT:
        return "time_limit", f"ended at the limit of {max_hold_s:g} s ({ended})"
    if cause:
        return "interrupted", f"{cause} received by the supervisor ({ended})"
    if name:
        return "killed", ended
    if code is not None and code > 128 and (inner := signal_name(128 - code)):
        ended += f", as a shell reports {inner} of a command in it"
    return ("finished" if code == 0 else "failed"), ended
