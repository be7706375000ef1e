"""What git says of the code that ran (D27)."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tachograph.study.gitstate import git_state


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    done = subprocess.run(["git", "-C", str(folder), *who, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_two_uncommitted_edits_have_two_hashes(tmp_path: Path) -> None:
    """Clean, edited, edited otherwise, with another file beside: each is told apart; undone is clean again."""
    file = tmp_path / "trainer.py"
    file.write_text("rate = 1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    clean = git_state(tmp_path)
    assert clean == {"commit": git(tmp_path, "rev-parse", "HEAD"), "dirty": False, "diff_sha256": None}
    hashes = set()
    for text in ("rate = 2\n", "rate = 3\n"):
        file.write_text(text)
        state = git_state(tmp_path)
        assert state["dirty"]
        hashes.add(state["diff_sha256"])
    (tmp_path / "more.py").write_text("x = 1\n")
    hashes.add(git_state(tmp_path)["diff_sha256"])
    (tmp_path / "more.py").write_text("x = 2\n")
    hashes.add(git_state(tmp_path)["diff_sha256"])
    assert len(hashes) == 4
    (tmp_path / "more.py").unlink()
    file.write_text("rate = 1\n")
    assert git_state(tmp_path) == clean


def test_no_repository_is_unknown_with_its_reason(tmp_path: Path) -> None:
    """Null and a sentence, never "clean"."""
    state = git_state(tmp_path)
    assert (state["commit"], state["dirty"], state["diff_sha256"]) == (None, None, None)
    assert state["reason"]
