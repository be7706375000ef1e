"""Leases within a lease: they proceed, and take turns."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from lease_helpers import (
    CPU,
    finish,
    heard,
    is_free,
    kill,
    python,
)

from tachograph.lease.acquire import acquire


def test_nested_lease_proceeds(folder: Path, lock: Path) -> None:
    """D15: a program under the lease that asks for the same lease gets it at once, and does not free it."""
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        inner = python(
            """
            with acquire(CPU, Path(sys.argv[1]), max_wait_s=5, max_hold_s=60) as lease:
                tell(lease.nested, lease.token)
            """,
            folder,
            **lease.environment(),
        )
        nested, token = heard(inner).split()
        finish(inner)
        assert nested == "True"
        assert token.startswith(lease.token + ".")
        assert not is_free(lock)


def test_nested_leases_take_turns(folder: Path) -> None:
    """Two programs under one outer lease take turns: the second waits, and names the first."""
    inner = """
        lease = acquire(CPU, Path(sys.argv[1]), max_wait_s=20, max_hold_s=60, say=tell)
        tell("held", lease.nested, bool(lease.waited_for))
        sys.stdin.read()
        lease.release()
        """
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        first = python(inner, folder, **lease.environment())
        assert heard(first) == "held True False"
        second = python(inner, folder, **lease.environment())
        said = heard(second)
        assert f"held by pid {first.pid} (" in said
        assert "same outer lease" in said
        finish(first)
        assert heard(second) == "held True True"
        kill(second)  # its turn ends with it
        third = python(inner, folder, **lease.environment())
        assert heard(third) == "held True False"
        finish(third)


def test_turn_stays_with_a_program_whose_supervisor_was_killed(folder: Path) -> None:
    """Under an outer lease too, what is left over keeps its turn until it ends."""
    with acquire(CPU, folder, max_wait_s=0, max_hold_s=60) as lease:
        first = python(
            """
            lease = acquire(CPU, Path(sys.argv[1]), max_wait_s=20, max_hold_s=60)
            child = subprocess.Popen(["sleep", "60"], pass_fds=lease.descriptors)
            tell(child.pid)
            sys.stdin.read()
            """,
            folder,
            **lease.environment(),
        )
        orphan = int(heard(first))
        kill(first)
        second = python(
            """
            try:
                acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
            except Exception as error:
                tell(error)
            """,
            folder,
            **lease.environment(),
        )
        assert f"held by pid {orphan} (sleep, user " in heard(second)
        finish(second)
        os.kill(orphan, signal.SIGKILL)


def test_started_under_flock_is_told_at_once(folder: Path, lock: Path) -> None:
    """`flock LOCK program` that asks for the same lock could wait for ever: it is told so without waiting."""
    folder.mkdir()
    inner = python(
        """
        try:
            acquire(CPU, Path(sys.argv[1]), max_wait_s=1000, max_hold_s=60)
        except Exception as error:
            tell(error)
        """,
        folder,
        wrap=["flock", str(lock)],
    )
    assert "could never end" in heard(inner)
    finish(inner)
