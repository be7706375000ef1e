"""The lease excludes everybody else, and only them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from lease_helpers import (
    CPU,
    HOLD,
    finish,
    heard,
    is_free,
    kill,
    python,
    refusal,
)

from tachograph.errors import LeaseUnavailableError, TachographError
from tachograph.lease.acquire import acquire
from tachograph.lease.holders import find_holders
from tachograph.lease.processes import read_stat


def test_lease_excludes_flock_and_says_held_then_free(folder: Path, lock: Path) -> None:
    """flock(1) is kept out while we hold, the file says who, and after release both say free."""
    with acquire(CPU, folder, study="stars", run="fast-seed1", max_wait_s=0, max_hold_s=60) as lease:
        assert not is_free(lock)
        record = json.loads(lock.read_text())
        assert record["state"] == "held"
        assert (record["pid"], record["uid"]) == (os.getpid(), os.getuid())
        assert (record["study"], record["run"]) == ("stars", "fast-seed1")
        stat = read_stat(os.getpid())
        assert stat is not None
        assert record["start_ticks"] == stat.start_ticks
        assert not lease.nested
    assert is_free(lock)
    assert json.loads(lock.read_text())["state"] == "free"
    assert find_holders(lock) == []
    assert lease.as_record()["contended"] is False


def test_files_are_for_everybody_whatever_the_umask(folder: Path, lock: Path) -> None:
    """Under umask 077 the folder is still 0755 and the file 0666, or other users could not share the lock."""
    holder = python("os.umask(0o077)\n" + HOLD, folder)
    heard(holder)
    assert folder.stat().st_mode & 0o777 == 0o755
    assert lock.stat().st_mode & 0o777 == 0o666
    finish(holder)


def test_old_text_of_a_dead_holder_means_nothing(folder: Path, lock: Path) -> None:
    """After SIGKILL of a holder the text says "held" for ever; the kernel says free, and that counts."""
    holder = python(HOLD, folder)
    heard(holder)
    kill(holder)
    assert json.loads(lock.read_text())["state"] == "held"
    assert find_holders(lock) == []
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60):
        pass


def test_second_lease_in_one_process_is_an_error(folder: Path) -> None:
    """Asking twice in one process is a mistake of the caller, and never a deadlock."""
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60):
        refused = (LeaseUnavailableError, TachographError)
        with pytest.raises(refused, match=r"already holds|could never end|still taken"):
            acquire(CPU, folder, max_wait_s=0.1, max_hold_s=60)


def test_removed_lock_file_is_reported(folder: Path, lock: Path) -> None:
    """If somebody removes the file that we hold, exclusion is no longer sure, and the record says so."""
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        lock.unlink()
        lock.touch(0o666)
    assert lease.as_record()["lock_file_replaced"] is True


def test_removed_lock_file_does_not_let_a_second_program_in(folder: Path, lock: Path) -> None:
    """If somebody removes the file of a running lease, flock(1) sees a free file, and we see the program."""
    holder = python(
        """
        lease = acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        supervise(["sh", "-c", "echo $$; exec sleep 60"], lease=lease, log_path=None, max_hold_s=60)
        """,
        folder,
    )
    program = int(heard(holder))
    lock.unlink()
    sentence = refusal(folder)
    assert f"pid {program} (" in sentence
    assert "lock file has been removed" in sentence
    holder.terminate()
    finish(holder)


def test_lock_files_are_leases_of_their_own(folder: Path, tmp_path: Path) -> None:
    """Another lease folder is another lease: its holders, tokens and nesting do not reach over here."""
    with acquire(CPU, tmp_path / "other", max_wait_s=0, max_hold_s=60) as outer:
        inner = python(
            """
            with acquire(CPU, Path(sys.argv[1]), max_wait_s=5, max_hold_s=60) as lease:
                tell(lease.nested)
            """,
            folder,
            **outer.environment(),
        )
        assert heard(inner) == "False"
        finish(inner)


def test_lock_on_a_replaced_file_is_tried_again(folder: Path, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock on a file that was replaced between opening and locking excludes nobody: take the new file."""
    import filelock._native._unix as unix

    genuine = unix.lock_fd_nonblocking
    replaced = []

    def replace_once(fd: int) -> bool:
        if not replaced:
            replaced.append(os.fstat(fd).st_ino)
            lock.rename(folder / "old")
            lock.touch(0o666)
        return genuine(fd)

    monkeypatch.setattr(unix, "lock_fd_nonblocking", replace_once)
    with acquire(CPU, folder, max_wait_s=10, max_hold_s=60):
        assert not is_free(lock)
        assert lock.stat().st_ino != replaced[0]
