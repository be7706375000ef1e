"""Old records stay verifiable: another version's words and sections are its own, its numbers are checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tachograph_study import make

from tachograph.files import write_json
from tachograph.record.facts import read_record
from tachograph.record.manifest import write_manifest
from tachograph.record.verify import verify
from tachograph.study.layout import StudyFolder

KEPT = Path(__file__).parents[2] / "data" / "records"


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


@pytest.mark.parametrize("record", sorted(KEPT.iterdir()), ids=lambda path: path.name)
def test_kept_record_of_each_version_verifies(record: Path) -> None:
    """A real record by each version that wrote others: its seal holds, its numbers follow, this version reads it."""
    assert json.loads((record / "record.json").read_text())["generator"]["version"] == record.name
    assert verify(record) == []
    assert read_record(record).histories


def test_record_of_another_version_is_superseded_whole(study: StudyFolder) -> None:
    """A record that lacks what this version adds: it is set aside as it is, verifies there, and the new one says so."""
    for name in ("ro-crate-metadata.json", "provenance.intoto.json"):
        (study.record / name).unlink()
    for name in ("workflow", "schemas", "registration", "machine"):
        shutil.rmtree(study.record / name)
    record = json.loads((study.record / "record.json").read_text())
    del record["workflow"]
    record["generator"]["version"] = "0.0.9"
    write_json(study.record / "record.json", record)
    write_manifest(study.record)
    assert verify(study.record) == []
    written = make(study)
    assert not written.kept
    assert verify(study.record) == verify(study.records / "001") == []
    superseded = json.loads((study.record / "record.json").read_text())["supersedes"]
    assert (superseded["record_id"], superseded["folder"]) == (record["record_id"], "records/001")


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
