"""Several users of one host share the lease."""

from __future__ import annotations

from pathlib import Path

import pytest
from lease_helpers import (
    HOLD,
    as_user,
    can_be,
    finish,
    heard,
    python,
)


def test_three_users_share_one_lease(tmp_path: Path) -> None:
    """The folder and file that one user has made serve two others, and each sees who holds."""
    users = [65534, 12345, 0]
    if not all(can_be(uid) for uid in users):
        pytest.skip("this user cannot become another, or others cannot read the sources")
    tmp_path.chmod(0o1777)
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    folder = tmp_path / "shared"
    for uid in users:
        holder = python(HOLD, folder, wrap=as_user(uid))
        heard(holder)
        for other in users:
            late = python(
                """
                try:
                    acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
                except Exception as error:
                    tell(type(error).__name__, error)
                """,
                folder,
                wrap=as_user(other),
            )
            said = heard(late)
            finish(late)
            assert said.startswith("LeaseUnavailableError"), said
            assert f"pid {holder.pid} " in said
            assert "run fast-seed1 of study stars" in said
        finish(holder)
    assert folder.stat().st_uid == users[0]


def test_file_of_another_user_that_is_closed_to_us(tmp_path: Path) -> None:
    """A lock file that we may not open is an error that says which mode is expected, not a holder."""
    if not can_be(65534):
        pytest.skip("this user cannot become another, or others cannot read the sources")
    for parent in list(tmp_path.parents)[:2]:
        parent.chmod(0o755)
    tmp_path.chmod(0o755)
    lock = tmp_path / "cpu-0.lock"
    lock.touch()
    lock.chmod(0o644)
    late = python(
        """
        try:
            acquire(CPU, Path(sys.argv[1]), max_wait_s=0, max_hold_s=60)
        except Exception as error:
            tell(error.exit_code, error)
        """,
        tmp_path,
        wrap=as_user(65534),
    )
    said = heard(late)
    finish(late)
    assert said.startswith("2 lock file")
    assert "expected a file of mode 0666" in said
