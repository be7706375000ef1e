"""Real processes for the tests of the lease; every handshake goes through a pipe, never through a sleep."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tachograph.errors import LeaseUnavailableError
from tachograph.host.device import Device
from tachograph.lease.acquire import acquire

SOURCE = Path(__file__).parents[2] / "src"
CPU = Device("cpu", "cpu", "cpu-0", "the test's processor")

PREAMBLE = """
import os, signal, subprocess, sys
from pathlib import Path
import tachograph.lease.patience
from tachograph.host.device import Device
from tachograph.lease.acquire import acquire
from tachograph.execution.supervise import supervise
CPU = Device("cpu", "cpu", "cpu-0", "the test's processor")
def tell(*words):
    print(*words, flush=True)
"""


def python(body: str, *arguments: object, wrap: Sequence[str] = (), **environment: str) -> subprocess.Popen[str]:
    """Start a Python program with the lease at hand; talk to it over its standard input and output."""
    return subprocess.Popen(
        [*wrap, sys.executable, "-c", PREAMBLE + textwrap.dedent(body), *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
    )


def heard(process: subprocess.Popen[str]) -> str:
    """The next line that the process prints; fails with its error output if it has ended instead."""
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        _, errors = process.communicate()
        raise AssertionError(f"the process ended with {process.returncode}: {errors}")
    return line.strip()


def finish(process: subprocess.Popen[str], text: str = "") -> tuple[str, str]:
    """Close the standard input of the process and wait for its end; what it still printed."""
    return process.communicate(text, timeout=30)


def kill(process: subprocess.Popen[str]) -> None:
    """SIGKILL, reaped."""
    process.kill()
    process.wait(timeout=30)


def is_free(path: Path) -> bool:
    """The word of flock(1), which knows nothing of us."""
    return subprocess.run(["flock", "-n", path, "true"], check=False).returncode == 0


def flock_holder(path: Path) -> subprocess.Popen[str]:
    """``flock(1)`` holding ``path`` until its standard input is closed; it has the lock when this returns."""
    path.parent.mkdir(exist_ok=True)
    process = subprocess.Popen(
        ["flock", path, "sh", "-c", "echo held; cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert heard(process) == "held"
    return process


@functools.cache
def can_mount() -> bool:
    """Whether a file system can be mounted in a mount namespace of its own."""
    return _works(["unshare", "-m", "sh", "-c", "mount -t tmpfs none /mnt"])


@functools.cache
def can_hide_processes() -> bool:
    """Whether a process namespace of its own can be made."""
    return _works(["unshare", "-m", "-p", "-f", "--mount-proc", "true"])


@functools.cache
def can_be(uid: int) -> bool:
    """Whether this user may become another, and that one may read the sources and the interpreter."""
    probe = "import tachograph.lease.acquire"
    return _works([*as_user(uid), "env", f"PYTHONPATH={SOURCE}", sys.executable, "-c", probe])


def as_user(uid: int) -> list[str]:
    """Become ``uid``, able to read files (the interpreter may lie in a private folder), not to write them."""
    reading = "dac_read_search"
    user = ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups"]
    capabilities = [
        f"--inh-caps=-all,+{reading}",
        f"--ambient-caps=+{reading}",
        f"--bounding-set=-all,+{reading}",
    ]
    return [*user, *capabilities, "--"]


def _works(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except OSError:
        return False


HOLD = """
lease = acquire(CPU, Path(sys.argv[1]), study="stars", run="fast-seed1", max_wait_s=20, max_hold_s=60)
tell("held", lease.token)
sys.stdin.read()
lease.release()
"""


def refusal(folder: Path, max_wait_s: float = 0.0, say: Callable[[str], None] = lambda sentence: None) -> str:
    """The sentence with which an acquisition is refused for want of the device."""
    with pytest.raises(LeaseUnavailableError) as caught:
        acquire(CPU, folder, max_wait_s=max_wait_s, max_hold_s=60, say=say)
    assert caught.value.exit_code == 75
    return str(caught.value)
