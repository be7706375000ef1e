"""Who holds a device: the kernel's locks, the processes that inherited one, the carriers of a lease token."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tachograph.lockfile import read_record
from tachograph.processes import (
    PROC,
    all_pids,
    ancestors,
    command_line,
    environment_value,
    holds_flock,
    is_alive,
    open_files,
    printable,
    read_stat,
)

TOKEN_VARIABLE = "TACHOGRAPH_LEASE"
_TOKEN = re.compile(r"(?P<device>.+):(?P<pid>\d+)\.(?P<start>\d+)\.(?P<random>[0-9a-f]+)(\.[0-9a-f]+)*")


@dataclass(frozen=True)
class Holder:
    """One process that keeps a device, and what is known of it. ``how`` is one of

    ``lease`` (a lease of ours), ``inherited`` (left over: it inherited the lock of a lease whose owner has
    ended), ``token`` (left over: it carries the token of a lease but not its lock), ``flock`` (some other
    program), ``unseen`` (the lock is held, but /proc does not show by whom; ``pid`` is 0).
    """

    how: str
    pid: int
    start_ticks: int
    command: str
    since: str
    until: str = ""
    work: str = ""

    def sentence(self) -> str:
        """For people: who, what, since when, until when."""
        if self.how == "unseen":
            return "a process that /proc does not show (another container, or another user)"
        text = f"pid {self.pid} ({self.command or 'command not shown'})"
        if self.work:
            text += f", {self.work}"
        text += f", since {self.since}"
        if self.until:
            text += f", until {self.until} at the latest"
        if self.how == "inherited":
            text += "; it is left over from a lease whose owner has ended, and still has its lock"
        if self.how == "token":
            text += "; it is left over from a lease whose owner has ended, and carries its token"
        return text


def utc(seconds: float) -> str:
    """Unix time as ``2026-01-31 12:00:00 UTC``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def find_holders(path: Path, physical_id: str) -> list[Holder]:
    """Everything that keeps the device of lock file ``path`` from being free; [] if it is free.

    Nothing is locked or written by looking.
    """
    record = read_record(path)
    locked = _lock_holders(path, record)
    seen = {holder.pid for holder in locked}
    carriers = [] if any(h.how == "lease" for h in locked) else token_carriers(physical_id)
    return locked + [holder for holder in carriers if holder.pid not in seen]


def token_carriers(physical_id: str, spare: Iterable[int] = ()) -> list[Holder]:
    """Processes that were started under a lease of this device, by the token in their environment.

    ``spare`` are process numbers to leave out. Environments of other users cannot be read without root.
    """
    left_out = set(spare)
    found = []
    for pid in all_pids():
        if pid in left_out:
            continue
        token = environment_value(pid, TOKEN_VARIABLE)
        if token is not None and token.startswith(physical_id + ":"):
            holder = _holder("token", pid)
            if holder is not None:
                found.append(holder)
    return found


def live_outer_lease(physical_id: str) -> str | None:
    """The token that this process itself runs under, if the lease it names is still held; else None."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    match = _TOKEN.fullmatch(token)
    if (
        match is None
        or match["device"] != physical_id
        or not is_alive(int(match["pid"]), int(match["start"]))
    ):
        return None
    owner = int(match["pid"])
    try:
        os.listdir(PROC / str(owner) / "fd")
    except PermissionError:
        return token  # started through a change of user: we may not look, the owner lives
    except OSError:
        return None
    return token if inherited_descriptor(physical_id, owner) is not None else None


def inherited_descriptor(physical_id: str, pid: int | None = None) -> int | None:
    """The descriptor in process ``pid`` (default: this one) that carries the lock of the device, or None."""
    pid = os.getpid() if pid is None else pid
    for descriptor, _ in open_files(pid):
        try:
            target = os.readlink(PROC / str(pid) / "fd" / str(descriptor))
        except OSError:
            continue
        name = target.removesuffix(" (deleted)").rpartition("/")[2]
        if name == f"{physical_id}.lock" and holds_flock(pid, descriptor):
            return descriptor
    return None


def _lock_holders(path: Path, record: dict[str, Any]) -> list[Holder]:
    """The processes that have the kernel's lock on ``path``: the owner if it lives, else who inherited it."""
    try:
        target = os.stat(path, follow_symlinks=False)
    except OSError:
        return []
    owners = _lock_table(target)
    if not owners:
        return []
    # Of a lease, the owner speaks for what it has started. If it has ended, those who inherited the lock hold
    # it.
    living = [pid for pid in owners if _still_has(pid, target)]
    having = living or [pid for pid in all_pids() if _has(pid, target)]
    how = "inherited" if not living and record.get("pid") in owners else "flock"
    found = [_holder(how, pid, record) for pid in having]
    holders = [holder for holder in found if holder is not None]
    return holders or [Holder("unseen", 0, 0, "", "")]


def _has(pid: int, target: os.stat_result) -> bool:
    return any(os.path.samestat(status, target) and holds_flock(pid, fd) for fd, status in open_files(pid))


def _still_has(pid: int, target: os.stat_result) -> bool:
    """Whether a process named as owner is the owner still, and not a new process with a used number."""
    if not is_alive(pid):
        return False
    try:
        os.listdir(PROC / str(pid) / "fd")
    except PermissionError:
        return True  # of another user; the kernel's word must do
    except OSError:
        return False
    return _has(pid, target)


def _lock_table(target: os.stat_result) -> list[int]:
    """Process numbers that ``/proc/locks`` names as owners of a flock on this file; waiters are left out.

    The device numbers differ from those of stat(2) on some file systems (btrfs, overlay), so the inode alone
    decides where no line fits both.
    """
    by_inode, exact = [], []
    device = f"{os.major(target.st_dev):02x}:{os.minor(target.st_dev):02x}"
    for line in (PROC / "locks").read_text().splitlines():
        fields = line.split()
        if len(fields) < 6 or fields[1] != "FLOCK" or fields[3] != "WRITE":  # a waiter has "->" in place 1
            continue
        place, _, inode = fields[5].rpartition(":")
        if inode == str(target.st_ino):
            by_inode.append(int(fields[4]))
            if place == device:
                exact.append(int(fields[4]))
    return exact or by_inode


def _holder(how: str, pid: int, record: dict[str, Any] | None = None) -> Holder | None:
    """Describe process ``pid``, with what ``record`` says if this process wrote it. None if it has ended."""
    stat = read_stat(pid)
    if stat is None or not stat.running:
        return None
    since, until, work = utc(stat.started), "", ""
    if record:
        written_by_it = record.get("pid") == pid and record.get("start_ticks") == stat.start_ticks
        if written_by_it and record.get("state") == "held":
            how = "lease"
            since = printable(str(record.get("since", since)), 40)
            until = printable(str(record.get("deadline") or ""), 40)
        if written_by_it or how == "inherited":
            names = [("run", record.get("run")), ("of study", record.get("study"))]
            work = " ".join(f"{word} {printable(str(value), 80)}" for word, value in names if value)
    return Holder(how, pid, stat.start_ticks, command_line(pid), since, until, work)


def started_us(holders: Iterable[Holder]) -> Holder | None:
    """The first of ``holders`` that is an ancestor of this process: waiting for it could never end."""
    above = set(ancestors(os.getpid()))
    return next((holder for holder in holders if holder.pid in above), None)
