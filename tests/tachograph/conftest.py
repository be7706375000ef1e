"""A whole study of the stub trainer, executed once by the real engine, and copies of it to break."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tachograph_study import execute_study, lay_out


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of an executed study. Not to be changed: see :func:`workshop`."""
    root = tmp_path_factory.mktemp("executed")
    lay_out(root)
    execute_study(root)
    return root


@pytest.fixture
def workshop(executed: Path, tmp_path: Path) -> Path:
    """A copy of the executed study's working directory, to be changed at will."""
    root = tmp_path / "work"
    shutil.copytree(executed, root)
    return root
