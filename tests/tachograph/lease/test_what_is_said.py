"""Who holds the device is said at once and again, and nothing of their arguments."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from lease_helpers import (
    CPU,
    HOLD,
    can_hide_processes,
    finish,
    flock_holder,
    heard,
    python,
    refusal,
)

from tachograph.commands.lease import status_table
from tachograph.lease.acquire import acquire
from tachograph.lease.processes import printable


def test_refusal_names_the_lease_that_holds(folder: Path) -> None:
    """Refused with exit code 75 and a sentence: process, command, run, study, since when, until when."""
    holder = python(HOLD, folder)
    heard(holder)
    sentence = refusal(folder)
    record = json.loads((folder / "cpu-0.lock").read_text())
    for part in (f"pid {holder.pid} ", "run fast-seed1 of study stars", record["since"], record["deadline"]):
        assert part in sentence
    finish(holder)


def test_refusal_names_a_user_of_flock(folder: Path, lock: Path) -> None:
    """A program that knows only flock(1) is named by process number and program."""
    holder = flock_holder(lock)
    sentence = refusal(folder)
    assert f"pid {holder.pid} (flock, user " in sentence
    assert "left over" not in sentence
    finish(holder)


def test_waiting_speaks_at_once_and_ends_with_the_holder(folder: Path, lock: Path) -> None:
    """The first sentence comes before any waiting; when the holder goes, the lease is ours."""
    holder = flock_holder(lock)
    said: list[str] = []

    def say(sentence: str) -> None:
        said.append(sentence)
        finish(holder)

    with acquire(CPU, folder, max_wait_s=20, max_hold_s=60, say=say) as lease:
        assert f"pid {holder.pid} " in said[0]
        assert len(said) == 1
        record = lease.as_record()
        assert record["contended"] is True
        assert [h["pid"] for h in record["waited_for"]] == [holder.pid]
        assert 0 < record["waited_s"] < 20


def test_waiting_speaks_again_every_thirty_seconds(folder: Path, lock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The holder is named again after each period (shortened here), and not at each try."""
    monkeypatch.setattr("tachograph.lease.patience.SAY_EVERY_SECONDS", 0.2)
    monkeypatch.setattr("tachograph.lease.patience.POLL_SECONDS", 0.01)
    holder = flock_holder(lock)
    said: list[str] = []
    refusal(folder, max_wait_s=1.0, say=said.append)
    assert 3 <= len(said) <= 6
    finish(holder)


def test_holder_in_another_namespace_is_said_to_be_unseen(folder: Path, lock: Path) -> None:
    """From within a container the holder outside cannot be named; the sentence says why."""
    if not can_hide_processes():
        pytest.skip("this user cannot make a process namespace")
    holder = flock_holder(lock)
    inside = python(
        """
        try:
            acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        except Exception as error:
            tell(error)
        """,
        folder,
        wrap=["unshare", "-m", "-p", "-f", "--mount-proc"],
    )
    assert "/proc does not show" in heard(inside)
    finish(inside)
    finish(holder)


def test_text_of_others_cannot_drive_the_terminal(folder: Path, lock: Path) -> None:
    """Control characters in a record or a command do not reach our sentence; garbage is no record."""
    assert printable("a\x1b[31mb\nc\x07") == "a [31mb c"
    holder = python(HOLD, folder)
    heard(holder)
    record = json.loads(lock.read_text())
    record["study"] = "evil\x1b[2J"
    lock.write_text(json.dumps(record))
    assert "\x1b" not in refusal(folder)
    lock.write_bytes(b"\xff" * 10_000)
    assert f"pid {holder.pid} " in refusal(folder)
    finish(holder)


def test_arguments_of_others_are_not_kept(folder: Path, lock: Path) -> None:
    """A command line may hold a secret: only the status table shows its arguments, no file does."""
    folder.mkdir()
    holder = subprocess.Popen(
        ["flock", lock, "sh", "-c", "echo held; cat", "--api-key=canary"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert heard(holder) == "held"
    said: list[str] = []

    def say(sentence: str) -> None:
        said.append(sentence)
        assert "canary" in status_table(None, folder)
        finish(holder)

    with acquire(CPU, folder, max_wait_s=20, max_hold_s=60, say=say) as lease:
        assert "canary" not in said[0]
        assert "canary" not in json.dumps(lease.as_record()) + lock.read_text()
        assert lease.as_record()["waited_for"][0]["program"] == "flock"
