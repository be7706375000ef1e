"""What a killed program leaves behind still holds the device, by its lock or by its token."""

from __future__ import annotations

import getpass
import os
import signal
import time
from pathlib import Path

from lease_helpers import (
    CPU,
    HOLD,
    finish,
    flock_holder,
    heard,
    is_free,
    kill,
    python,
    refusal,
)

from tachograph.lease.acquire import acquire


def test_orphan_with_the_inherited_lock_holds_and_is_named(folder: Path, lock: Path) -> None:
    """I20: the owner that /proc/locks names is dead, the lock lives on in a child: that one is named."""
    holder = python(
        """
        lease = acquire(CPU, Path(sys.argv[1]), study="stars", run="fast-seed1", max_wait_s=0, max_hold_s=60)
        child = subprocess.Popen(["sleep", "60"], pass_fds=lease.descriptors)
        tell(child.pid)
        sys.stdin.read()
        """,
        folder,
    )
    orphan = int(heard(holder))
    kill(holder)
    assert not is_free(lock)
    sentence = refusal(folder)
    assert f"pid {orphan} (sleep, user {getpass.getuser()}), run fast-seed1 of study stars" in sentence
    assert "left over from a lease whose owner has ended" in sentence
    os.kill(orphan, signal.SIGKILL)
    with acquire(CPU, folder, max_wait_s=10, max_hold_s=60):
        pass


def test_orphan_with_the_token_alone_holds_and_is_named(folder: Path, lock: Path) -> None:
    """A worker that did not inherit the file is left when all else is killed: flock says free, we do not."""
    holder = python(
        """
        worker = "import signal, subprocess as s; print(s.Popen(['sleep', '9']).pid, flush=1); signal.pause()"
        lease = acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        supervise([sys.executable, "-c", worker], lease=lease, log_path=None, max_hold_s=60)
        """,
        folder,
    )
    worker = int(heard(holder))
    kill(holder)
    deadline = time.monotonic() + 10
    while not is_free(lock) and time.monotonic() < deadline:
        time.sleep(0.01)  # the trainer dies with its supervisor
    assert is_free(lock)
    said: list[str] = []
    sentence = refusal(folder, max_wait_s=0.6, say=said.append)
    assert f"pid {worker} (sleep, user " in sentence
    assert "carries its token" in sentence
    assert f"pid {worker} " in said[0]
    assert is_free(lock)  # a refused acquisition leaves nothing locked
    os.kill(worker, signal.SIGKILL)
    with acquire(CPU, folder, max_wait_s=10, max_hold_s=60):
        pass


def test_token_of_a_dead_lease_gives_no_free_pass(folder: Path, lock: Path) -> None:
    """A token whose owner has ended does not nest: the device is taken properly, or refused."""
    holder = python(HOLD, folder)
    token = heard(holder).split()[1]
    kill(holder)
    flock = flock_holder(lock)
    late = python(
        """
        try:
            acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        except Exception as error:
            tell(type(error).__name__)
        """,
        folder,
        TACHOGRAPH_LEASE=token,
    )
    assert heard(late) == "LeaseUnavailableError"
    finish(late)
    finish(flock)
