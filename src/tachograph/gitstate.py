"""What git says about the code that ran: commit, whether it was clean, and the hash of the difference."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path
from typing import Any


def _git(folder: Path, *arguments: str) -> bytes | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def git_state(folder: Path) -> dict[str, Any]:
    """``{"commit", "dirty", "diff_sha256"}`` of the repository around ``folder``; null with a reason if there is none.

    The difference covers tracked changes and the names and contents of untracked files that git does not ignore,
    so two different uncommitted edits give two hashes.
    """
    top = _git(folder, "rev-parse", "--show-toplevel")
    head = _git(folder, "rev-parse", "HEAD") if top else None
    if top is None or head is None:
        reason = "no git repository with a commit" if top is None else "the repository has no commit yet"
        return {"commit": None, "dirty": None, "diff_sha256": None, "reason": reason}
    root = Path(top.decode().strip())
    difference = _git(root, "diff", "HEAD", "--binary") or b""
    untracked = _git(root, "ls-files", "--others", "--exclude-standard", "-z") or b""
    dirty = bool(difference or untracked)
    hashed = hashlib.sha256(difference)
    for name in sorted(filter(None, untracked.split(b"\0"))):
        path = root / name.decode(errors="surrogateescape")
        hashed.update(name + b"\0")
        if path.is_file():
            hashed.update(path.read_bytes())
    return {
        "commit": head.decode().strip(),
        "dirty": dirty,
        "diff_sha256": hashed.hexdigest() if dirty else None,
    }
