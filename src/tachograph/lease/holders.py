"""Who holds a device: the kernel's locks, the processes that inherited one, the carriers of a lease token."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tachograph.lease.lockfile import read_record
from tachograph.lease.processes import (
    PROC,
    all_pids,
    ancestors,
    boot_id,
    command_line,
    environment_value,
    is_alive,
    locks_of,
    open_files,
    printable,
    program_name,
    read_stat,
    user_name,
)

TOKEN_VARIABLE = "TACHOGRAPH_LEASE"
_TOKEN = re.compile(r".+:[0-9a-f]{8}\.(?P<pid>\d+)\.(?P<start>\d+)(\.[0-9a-f]+)+")


@dataclass(frozen=True)
class Holder:
    """One process that keeps a device, and what is known of it. ``how`` is one of

    * ``lease``: a lease of ours;
    * ``inherited``: left over, it inherited the lock of a lease whose owner has ended;
    * ``token``: left over likewise, it carries the token of the lease but not its lock;
    * ``detached``: it runs under a lease whose lock file somebody has removed;
    * ``flock``: another program that locks the file;
    * ``nested``: it runs under the same outer lease as we do;
    * ``unseen``: the lock is held, but /proc does not show by whom (``pid`` is 0).

    ``command`` has the arguments, which may hold secrets: it is for the table of `tachograph lease --status` alone.
    """

    how: str
    pid: int
    start_ticks: int
    command: str
    since: str
    until: str = ""
    work: str = ""
    program: str = ""
    user: str = ""

    def sentence(self) -> str:
        """For people and for logs: who, what, since when, until when; no argument of its command."""
        if self.how == "unseen":
            return "a process that /proc does not show (in another container, of another user, or just ended)"
        text = f"pid {self.pid} ({self.program or 'program not shown'}, user {self.user or 'unknown'})"
        if self.work:
            text += f", {self.work}"
        text += f", since {self.since}"
        if self.until:
            text += f", until {self.until} at the latest"
        if self.how == "inherited":
            text += "; it is left over from a lease whose owner has ended, and still has its lock"
        if self.how == "nested":
            text += "; it runs under the same outer lease as this program"
        if self.how == "detached":
            text += "; it runs under a lease whose lock file has been removed"
        if self.how == "token":
            text += "; it is left over from a lease whose owner has ended, and carries its token"
        return text

    def row(self) -> list[str]:
        """State, holder, work, since, until: for a table."""
        states = {
            "lease": "held",
            "flock": "held by flock",
            "detached": "held, but the lock file was removed",
            "unseen": "held, not visible here",
        }
        who = f"pid {self.pid} ({self.command})" if self.pid else "?"
        return [states.get(self.how, f"left over ({self.how})"), who, self.work, self.since, self.until]


UNSEEN = Holder("unseen", 0, 0, "", "")


def utc(seconds: float) -> str:
    """Unix time as ``2026-01-31 12:00:00 UTC``."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def token_prefix(path: Path) -> str:
    """How the tokens of the leases of this lock file begin: with the device, and a digest of the file's path.

    The path and not the file, so that those who hold are found also after somebody has removed the file.
    """
    digest = hashlib.sha256(os.path.realpath(path).encode()).hexdigest()
    return f"{path.name.removesuffix('.lock')}:{digest[:8]}."


def find_holders(path: Path) -> list[Holder]:
    """Everything that keeps the device of lock file ``path`` from being free; [] if it is free.

    Nothing is locked or written by looking.
    """
    record = read_record(path)
    locked = _lock_holders(path, record)
    seen = {holder.pid for holder in locked}
    carriers = [] if any(h.how == "lease" for h in locked) else token_carriers(path)
    return locked + [holder for holder in carriers if holder.pid not in seen]


def is_locked(path: Path) -> bool:
    """Whether anybody has the lock, seen or not, by trying to share it for an instant.

    In that instant somebody else's try may fail: for people who ask, not for a loop.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False


def token_carriers(path: Path, spare: Iterable[int] = ()) -> list[Holder]:
    """Processes that were started under a lease by this lock file, by the token in their environment.

    ``spare`` are process numbers to leave out. Environments of other users cannot be read without root.
    """
    left_out, prefix = set(spare), token_prefix(path)
    found = []
    for pid in all_pids():
        if pid in left_out:
            continue
        token = environment_value(pid, TOKEN_VARIABLE)
        if token is not None and token.startswith(prefix):
            holder = _holder("detached" if _owner(token) else "token", pid)
            if holder is not None:
                found.append(holder)
    return found


def live_outer_lease(path: Path) -> str | None:
    """The token that this process itself runs under, if the lease it names is still held; else None."""
    token = os.environ.get(TOKEN_VARIABLE, "")
    owner = _owner(token)
    if owner is None or not token.startswith(token_prefix(path)):
        return None
    try:
        return token if inherited_descriptor(path, owner) is not None else None
    except PermissionError:
        return token  # started through a change of user: we may not look, the owner lives


def _owner(token: str) -> int | None:
    """The process that took the lease of this token, if it lives."""
    match = _TOKEN.fullmatch(token)
    if match is None or not is_alive(int(match["pid"]), int(match["start"])):
        return None
    return int(match["pid"])


def inherited_descriptor(path: Path, pid: int) -> int | None:
    """The descriptor in process ``pid`` that carries the lock of the device, or None.

    Raises PermissionError if we may not look.
    """
    place = os.path.realpath(path)
    for descriptor, name, _ in open_files(pid):
        if name.removesuffix(" (deleted)") == place and _is_flocked(pid, descriptor):
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
    # Of a lease, the owner speaks for what it has started. If it has ended, those who inherited the lock
    # hold it. The kernel's word must do for owners of another user, where we may not look.
    living = [pid for pid in owners if is_alive(pid) and _has(pid, target) is not False]
    having = living or [pid for pid in all_pids() if _has(pid, target)]
    how = "inherited" if not living and record.get("pid") in owners else "flock"
    found = [_holder(how, pid, record) for pid in having]
    holders = [holder for holder in found if holder is not None]
    return holders or [UNSEEN]


def nested_holders(path: Path, byte: int) -> list[Holder]:
    """Other processes that have this byte of the lock file, as those do that share an outer lease with us."""
    target = os.stat(path, follow_symlinks=False)
    found = []
    for pid in all_pids():
        try:
            files = open_files(pid)
        except PermissionError:
            continue
        for descriptor, _, status in files:
            if pid != os.getpid() and os.path.samestat(status, target):
                locks = locks_of(pid, descriptor)
                if any(lock[0] == "OFDLCK" and lock[5] == str(byte) for lock in locks):
                    found.append(_holder("nested", pid))
    return [holder for holder in found if holder is not None]


def _is_flocked(pid: int, descriptor: int) -> bool:
    return any(lock[0] == "FLOCK" and lock[2] == "WRITE" for lock in locks_of(pid, descriptor))


def _has(pid: int, target: os.stat_result) -> bool | None:
    """Whether the process has the lock on this file; None if we may not look."""
    try:
        files = open_files(pid)
    except PermissionError:
        return None
    return any(os.path.samestat(status, target) and _is_flocked(pid, fd) for fd, _, status in files)


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
        writer = (record.get("boot_id"), record.get("pid"), record.get("start_ticks"))
        written_by_it = writer == (boot_id(), pid, stat.start_ticks)
        if written_by_it and record.get("state") == "held":
            how = "lease"
            since = printable(str(record.get("since", since)), 40)
            until = printable(str(record.get("deadline") or ""), 40)
        if written_by_it or how == "inherited":
            names = [("run", record.get("run")), ("of study", record.get("study"))]
            work = " ".join(f"{word} {printable(str(value), 80)}" for word, value in names if value)
    told = (command_line(pid), since, until, work, program_name(pid), user_name(pid))
    return Holder(how, pid, stat.start_ticks, *told)


def started_us(holders: Iterable[Holder]) -> Holder | None:
    """The first of ``holders`` that is an ancestor of this process: waiting for it could never end."""
    above = set(ancestors(os.getpid()))
    return next((holder for holder in holders if holder.pid in above), None)
