"""A study that was never executed, and one that was, for tests to change."""

from __future__ import annotations

from pathlib import Path

import pytest

from study_project import Project, make_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A study that was never executed."""
    return make_project(tmp_path / "project")


@pytest.fixture(scope="session")
def executed_once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The study executed to its end; not to be changed, see ``executed``."""
    project = make_project(tmp_path_factory.mktemp("executed") / "project")
    done = project.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    return project


@pytest.fixture
def executed(executed_once: Project, tmp_path: Path) -> Project:
    """A copy of the executed study that a test may change."""
    return executed_once.copy_to(tmp_path / "project")
