"""Where a cell cannot leave its result, one sentence names the file, and nothing half-written stays."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from machinecheck.errors import UnwritableError
from machinecheck.files import write_json
from tachograph.errors import TachographError
from tachograph.files import write_json as tachograph_write_json


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


@pytest.mark.parametrize(("write", "error"), [(write_json, UnwritableError), (tachograph_write_json, TachographError)])
def test_a_device_does_not_become_a_file(tmp_path: Path, write: Callable[..., None], error: type[Exception]) -> None:
    """A file that is renamed to the place of a pipe, or of /dev/null, would be there instead of it from then on."""
    place = tmp_path / "null"
    os.mkfifo(place)
    with pytest.raises(error, match="null: found a device, pipe or socket, expected a file or none"):
        write(place, {})
    assert place.is_fifo()
    assert list(tmp_path.iterdir()) == [place]
