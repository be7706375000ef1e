"""Old records stay verifiable: another version's words and sections are its own, its numbers are checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tachograph.record.manifest import write_manifest
from tachograph.record.verify import verify
from tachograph.study.layout import StudyFolder


@pytest.fixture
def older(recorded: StudyFolder, tmp_path: Path) -> Path:
    """A record as an earlier version would have left it: other words, a section and a column less."""
    folder = Path(shutil.copytree(recorded.record, tmp_path / "older"))
    record = json.loads((folder / "record.json").read_text())
    record["generator"]["version"] = "0.0.9"
    del record["first_attempts"]
    for one in record["deviations"]:
        one["what_happened"] = "other words for it"
    (folder / "record.json").write_text(json.dumps(record))
    (folder / "record.md").write_text("another page\n")
    lines = (folder / "tables/factors.csv").read_text().splitlines()
    (folder / "tables/factors.csv").write_text("\n".join(line.split(",", 1)[1] for line in lines) + "\n")
    write_manifest(folder)
    return folder


def test_older_record_verifies(older: Path) -> None:
    """Its own words are no finding."""
    assert verify(older) == []


def test_forged_number_in_an_older_record_is_found(older: Path) -> None:
    """The raw files give another number, whichever version wrote the record."""
    record = json.loads((older / "record.json").read_text())
    record["factors"][0]["factor"] = 40.0
    (older / "record.json").write_text(json.dumps(record))
    write_manifest(older)
    assert any("factors[0].factor: it says 40.0" in finding for finding in verify(older))


def test_forged_table_in_an_older_record_is_found(older: Path) -> None:
    """A table must hold what record.json gives in the columns that both versions know."""
    path = older / "tables/factors.csv"
    path.write_text(path.read_text().replace("fast", "slow"))
    write_manifest(older)
    assert verify(older) == ["tables/factors.csv: it is not what record.json gives"]
