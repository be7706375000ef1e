"""Where a cell cannot leave its result, one sentence names the file, and nothing half-written stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from machinecheck.errors import UnwritableError
from machinecheck.files import write_json


def test_folder_in_the_place_of_the_file(tmp_path: Path) -> None:
    """The folder stays as it was."""
    place = tmp_path / "cell.json"
    place.mkdir()
    with pytest.raises(UnwritableError, match=r"cell\.json: cannot be written: Is a directory"):
        write_json(place, {})
    assert list(tmp_path.iterdir()) == [place]


def test_place_where_nothing_can_be_made() -> None:
    """The system refuses files in /proc to everybody."""
    with pytest.raises(UnwritableError, match=r"/proc/cell\.json: cannot be written: "):
        write_json(Path("/proc/cell.json"), {})
