"""A folder of lock files, and the lock file of the test's processor in it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "leases"


@pytest.fixture
def lock(folder: Path) -> Path:
    return folder / "cpu-0.lock"
