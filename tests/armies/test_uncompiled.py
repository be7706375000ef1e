"""The engine's tests pass without numba's compiler as well (``make test-uncompiled`` runs all of the trainer's)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import compiled
import pytest

HERE = Path(__file__).parent


@pytest.mark.skipif(not compiled.COMPILED, reason="this is the run without the compiler")
def test_engine_as_plain_python() -> None:
    """Rules, examples, trees, kept games and invariants hold for the kernels as the Python that they are."""
    files = [HERE / f"test_{name}.py" for name in ("rules", "perft", "playthroughs")]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *files, *sorted(HERE.glob("test_engine*.py"))],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout[-2000:]
