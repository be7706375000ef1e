"""A whole study of the stub trainer, executed once by the real engine, and copies of it to break."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from tachograph_study import execute_study, lay_out, make

from tachograph.analysis.sealed import SealedStudy, read_sealed
from tachograph.analysis.study import sections
from tachograph.study.layout import StudyFolder


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The working directory of an executed study. Not to be changed: see :func:`workshop`."""
    root = tmp_path_factory.mktemp("executed")
    lay_out(root)
    execute_study(root)
    return root


@pytest.fixture(scope="module")
def sealed(executed: Path) -> SealedStudy:
    """The executed study's sealed files, as the analysis reads them."""
    return read_sealed(StudyFolder(executed / "results/stub"))


@pytest.fixture(scope="module")
def analysis(sealed: SealedStudy) -> dict[str, Any]:
    """Every section of the analysis of the executed study."""
    return sections(sealed)


@pytest.fixture
def workshop(executed: Path, tmp_path: Path) -> Path:
    """A copy of the executed study's working directory, to be changed at will."""
    root = tmp_path / "work"
    shutil.copytree(executed, root)
    return root


@pytest.fixture(scope="session")
def recorded(executed: Path, tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    """A study with its record. Not to be changed."""
    root = tmp_path_factory.mktemp("recorded")
    shutil.copytree(executed, root, dirs_exist_ok=True)
    folder = StudyFolder(root / "results/stub")
    make(folder)
    return folder


@pytest.fixture
def study(recorded: StudyFolder, tmp_path: Path) -> StudyFolder:
    """A copy of the study with its record, to be changed at will."""
    shutil.copytree(recorded.path.parents[1], tmp_path / "work")
    return StudyFolder(tmp_path / "work/results/stub")
