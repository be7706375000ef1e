"""A process that is killed at the n-th thing it does to files, and what it would have done by then."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = {"os.rename", "os.mkdir", "os.remove", "os.truncate", "os.rmdir", "os.chmod", "tempfile.mkstemp"}


def _changes_files(event: str, arguments: tuple[Any, ...]) -> bool:
    """Whether an audit event (PEP 578) is a step at which a file or folder may be left half done."""
    if event in CHANGES:
        return True
    if event != "open" or str(arguments[0]).startswith(("/proc", "/dev", "/sys")):
        return False
    return bool(arguments[2] & WRITING)


def steps_of(action: Callable[[], None]) -> int:
    """How many changes of files ``action`` makes. Fails if it raises."""
    return _forked(0, action)[1]


def killed_at(step: int, action: Callable[[], None]) -> bool:
    """Do ``action`` in a process that SIGKILL ends just before its ``step``-th change of files.

    Returns False if ``action`` came to its end before. Fails if it raised.
    """
    return _forked(step, action)[0]


def _forked(step: int, action: Callable[[], None]) -> tuple[bool, int]:
    """Whether the process was killed, and the number of steps that it made if not."""
    said = Path(f"crash-{os.getpid()}.txt")
    child = os.fork()
    if child == 0:
        _act_and_die(step, action, said)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), said.read_text()
    steps = int(said.read_text()) if code == 0 else 0
    said.unlink(missing_ok=True)
    return code != 0, steps


def _act_and_die(step: int, action: Callable[[], None], said: Path) -> None:
    seen = 0

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        if _changes_files(event, arguments):
            seen += 1
            if seen == step:
                os.kill(os.getpid(), signal.SIGKILL)

    signal.set_wakeup_fd(-1)
    sys.addaudithook(watch)  # cannot be removed, hence a process of its own
    try:
        action()
    except BaseException:
        said.write_text(traceback.format_exc())
        os._exit(1)
    steps = seen
    said.write_text(str(steps))
    os._exit(0)
