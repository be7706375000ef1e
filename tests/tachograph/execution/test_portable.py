"""A record can be given away: what it tells of a run holds no folder of whoever made it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tachograph.execution.environment import portable


@pytest.mark.parametrize(
    ("told", "written"),
    [
        ("/home/ada/study/.venv/bin/python", ".venv/bin/python"),
        ("--config=/home/ada/study/config/a.yaml", "--config=config/a.yaml"),
        ("/home/ada/studying/a", "/home/ada/studying/a"),
        ("/usr/bin/python3", "/usr/bin/python3"),
    ],
)
def test_paths_below_the_working_directory_are_relative(told: str, written: str) -> None:
    """Only what lies below it changes; its neighbours and the system's files keep their names."""
    assert portable(told, Path("/home/ada/study")) == written


def test_root_as_working_directory_changes_nothing() -> None:
    """Every path lies below /, and none becomes clearer without it."""
    assert portable("/usr/bin/python3", Path("/")) == "/usr/bin/python3"
