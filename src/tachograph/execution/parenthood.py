"""Ties between a supervisor and what it starts: adopt orphans, let children die with their parent (Linux)."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER = 36, 37  # prctl(2)

# For a machine whose setpriv(1) cannot do it: die with the parent, then become the program.
_DIE_WITH_PARENT = (
    "import ctypes,os,sys\n"
    "ctypes.CDLL(None).prctl(1,9)\n"
    "os.getppid()==int(sys.argv[1]) or sys.exit('the supervisor has ended')\n"
    "try: os.execvp(sys.argv[2],sys.argv[2:])\n"
    "except OSError as error: sys.stderr.write(f'program {sys.argv[2]!r} could not be started: {error.strerror}\\n'); "
    "sys.exit(127)\n"
)


@contextmanager
def adopting_orphans() -> Iterator[None]:
    """Be the new parent of processes below us whose own parent ends, as PID 1 would be otherwise."""
    libc = ctypes.CDLL(None, use_errno=True)
    was = ctypes.c_int(0)
    libc.prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(was), 0, 0, 0)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")
    try:
        yield
    finally:
        libc.prctl(PR_SET_CHILD_SUBREAPER, was.value, 0, 0, 0)


def die_with_parent() -> list[str]:
    """The words before a command that make it die when this process does, however that ends."""
    setpriv = _capable_setpriv()
    if setpriv is not None:
        return [setpriv, "--pdeathsig", "KILL", "--"]
    return [sys.executable, "-I", "-S", "-c", _DIE_WITH_PARENT, str(os.getpid())]


def plainly(line: str) -> str:
    """A line of a log; where setpriv wrote it, in words that do not speak of what the reader never started."""
    return re.sub(r"^setpriv: failed to execute (.+): (.+)$", r"program '\1' could not be started: \2", line)


@functools.cache
def _capable_setpriv() -> str | None:
    """The path of util-linux setpriv(1), None if there is none; the one of BusyBox lacks the option."""
    path = shutil.which("setpriv")
    if path is None:
        return None
    try:
        shown = subprocess.run([path, "--help"], capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return path if "--pdeathsig" in shown.stdout else None
