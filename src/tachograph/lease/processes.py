"""Facts about processes, read from ``/proc`` (Linux)."""

from __future__ import annotations

import contextlib
import os
import pwd
import time
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class ProcessStat:
    """The fields of ``/proc/PID/stat`` that are used here (proc_pid_stat(5)); times in clock ticks.

    ``reaped_ticks`` is the processor time of children that have ended and were waited for, and of theirs.
    """

    pid: int
    name: str
    state: str
    parent: int
    user_ticks: int
    system_ticks: int
    reaped_ticks: int
    threads: int
    start_ticks: int

    @property
    def running(self) -> bool:
        """False for a process that has ended and only waits to be reaped.

        A leader whose other threads live on is shown as a zombie too, yet it still uses the machine.
        """
        return self.state not in "ZX" or self.threads > 1

    @property
    def started(self) -> float:
        """Unix time of the start, in seconds, by the wall clock of now."""
        uptime = time.clock_gettime(time.CLOCK_BOOTTIME)
        return time.time() - uptime + self.start_ticks / TICKS_PER_SECOND


def read_stat(pid: int, proc: Path = PROC) -> ProcessStat | None:
    """The status of ``pid``, or None if there is no such process (or ``/proc`` hides it)."""
    try:
        text = (proc / str(pid) / "stat").read_bytes().decode(errors="replace")
    except OSError:
        return None
    name_end = text.rindex(")")  # the name may hold blanks and parentheses itself
    fields = text[name_end + 2 :].split()
    return ProcessStat(
        pid=pid,
        name=text[text.index("(") + 1 : name_end],
        state=fields[0],
        parent=int(fields[1]),
        user_ticks=int(fields[11]),
        system_ticks=int(fields[12]),
        reaped_ticks=int(fields[13]) + int(fields[14]),
        threads=int(fields[17]),
        start_ticks=int(fields[19]),
    )


def all_pids(proc: Path = PROC) -> list[int]:
    """Every process that ``/proc`` shows."""
    return [int(name) for name in os.listdir(proc) if name.isdecimal()]


def is_alive(pid: int, start_ticks: int | None = None) -> bool:
    """Whether process ``pid`` runs; with ``start_ticks`` only if it is the one that started then.

    A number of a process is used again after its end, its start is not.
    """
    stat = read_stat(pid)
    return stat is not None and stat.running and start_ticks in (None, stat.start_ticks)


def own_start_ticks() -> int:
    """When this process started, in clock ticks since boot."""
    stat = read_stat(os.getpid())
    if stat is None:
        raise OSError("/proc does not show this process; Tachograph needs Linux with /proc mounted")
    return stat.start_ticks


def boot_id() -> str:
    """The kernel's random name of this boot."""
    return (PROC / "sys/kernel/random/boot_id").read_text().strip()


def ancestors(pid: int) -> list[int]:
    """The parent of ``pid``, its parent, and so on."""
    found: list[int] = []
    stat = read_stat(pid)
    while stat is not None and stat.parent > 0 and stat.parent not in found:
        found.append(stat.parent)
        stat = read_stat(stat.parent)
    return found


def descendants(pid: int) -> list[ProcessStat]:
    """All processes below ``pid``, zombies included, parents before their children."""
    by_parent: dict[int, list[ProcessStat]] = {}
    for other in all_pids():
        stat = read_stat(other)
        if stat is not None:
            by_parent.setdefault(stat.parent, []).append(stat)
    found: list[ProcessStat] = []
    waiting = list(by_parent.get(pid, []))
    while waiting:
        stat = waiting.pop(0)
        found.append(stat)
        waiting.extend(by_parent.get(stat.pid, []))
    return found


def printable(text: str, limit: int = 160) -> str:
    """``text`` without control characters, at most ``limit`` long: names of others may go to a terminal."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    clean = " ".join(clean.split())
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def command_line(pid: int, proc: Path = PROC) -> str:
    """The command of ``pid`` in one printable line; its short name in brackets if it shows none; or ''.

    For people who ask. Arguments may hold secrets; for sentences and files there is :func:`program_name`.
    """
    try:
        raw = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    words = [printable(word.decode(errors="replace")) for word in raw.rstrip(b"\0").split(b"\0", 1)]
    if raw and words[0]:
        return " ".join(words)
    name = program_name(pid, proc)
    return f"[{name}]" if name else ""


def program_name(pid: int, proc: Path = PROC) -> str:
    """The name of the program that ``pid`` executes, without its folder and without anything that it was told; or ''.

    A program may write what it likes over its arguments, the first one included, so these are not asked.
    """
    try:
        return printable(os.path.basename(os.readlink(proc / str(pid) / "exe")).removesuffix(" (deleted)"), 64)
    except OSError:  # of another user, or of the kernel
        stat = read_stat(pid, proc)
        return printable(stat.name, 64) if stat else ""


def user_name(pid: int, proc: Path = PROC) -> str:
    """Whose process it is: the name of the user, or the number where the machine has no name for it; or ''."""
    try:
        uid = os.stat(proc / str(pid)).st_uid
    except OSError:
        return ""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def environment_value(pid: int, name: str) -> str | None:
    """A variable in the environment that ``pid`` was started with; None if it is unset or unreadable."""
    try:
        raw = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    prefix = name.encode() + b"="
    for entry in raw.split(b"\0"):
        if entry.startswith(prefix):
            return entry[len(prefix) :].decode(errors="replace")
    return None


def open_files(pid: int) -> list[tuple[int, str, os.stat_result]]:
    """Each open file of ``pid`` as (descriptor, path, status); [] if there is no such process.

    Raises PermissionError if we may not look (a process of another user).
    """
    folder = PROC / str(pid) / "fd"
    found = []
    try:
        for name in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):  # closed meanwhile
                found.append((int(name), os.readlink(folder / name), os.stat(folder / name)))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def locks_of(pid: int, descriptor: int) -> list[list[str]]:
    """The locks that this open file of ``pid`` carries: the words after ``lock: N:`` in ``/proc/PID/fdinfo``.

    A lock is listed only with the open file that owns it, also when that was inherited, so a process that
    merely waits for a lock is told apart from one that has it (proc_pid_fdinfo(5)). Words: kind,
    ``ADVISORY``, ``WRITE`` or ``READ``, owner, file, first byte, last byte.
    """
    try:
        text = (PROC / str(pid) / "fdinfo" / str(descriptor)).read_text()
    except OSError:
        return []
    return [line.split()[2:] for line in text.splitlines() if line.startswith("lock:")]
