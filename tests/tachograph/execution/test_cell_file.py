"""The file that is left of a cell holds an object that the cell wrote, or why there is none."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from tachograph.execution.cellfile import cell_file
from tachograph.execution.outcome import not_started
from tachograph.files import write_json

PLANNED = SimpleNamespace(arm="one", max_hold_seconds=60.0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("null", "found 'None', expected a JSON object"),
        ("[1]", "found '[1]', expected a JSON object"),
        ('{"x": 1e400}', "1e400 is larger than any float64"),
        ('{"x": "\\ud800"}', "surrogates not allowed"),
        (None, "found a folder, expected a file"),
    ],
)
def test_what_is_no_record(tmp_path: Path, text: str | None, words: str) -> None:
    """Whatever a checker leaves, the cell's file can be written, and says what was wrong with it."""
    measured = tmp_path / "measured.json"
    measured.mkdir() if text is None else measured.write_text(text)
    found = cell_file(PLANNED, not_started("finished", "exit code 0"), measured, "")
    assert found["record"] is None
    assert found["unreadable"].startswith(f"{measured}: ")
    assert words in found["unreadable"]
    write_json(tmp_path / "cell.json", found)
