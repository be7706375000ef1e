"""`tachograph prune`: names first, removes only what nothing speaks of, and leaves a line for it."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tachograph.cli import main
from tachograph.files import sha256_file, write_json
from tachograph.record.verify import verify
from tachograph.study.integrity import damaged_files
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.session import exclusive_session
from tachograph.study.state import read_state

KEY = "run-fast-seed1"


def add_failed_attempt(folder: StudyFolder, key: str, size: int) -> Path:
    """An attempt that failed after it had written a checkpoint of ``size`` bytes; returns the checkpoint."""
    number = len(read_state(folder).attempts[key]) + 1
    first = read_state(folder).attempts[key][0]
    place = folder.attempts / key / f"{number:03d}"
    place.mkdir()
    (place / "checkpoint.bin").write_bytes(os.urandom(size))
    (place / "history.jsonl").write_bytes(bytes(size))
    write_json(place / "run.json", {"result": "history.jsonl"})
    ledger = Ledger(folder.ledger)
    ledger.append("started", run=key, attempt=number, identity=first.identity, process=first.process, block=0)
    ledger.append(
        "ended",
        run=key,
        attempt=number,
        status="failed",
        exit_code=1,
        signal=None,
        validity="invalid",
        reason="exit code 1",
        files={path.name: sha256_file(path) for path in place.iterdir()},
        hold_seconds=1.0,
    )
    return place / "checkpoint.bin"


@pytest.fixture
def folder(study: StudyFolder, monkeypatch: pytest.MonkeyPatch) -> StudyFolder:
    """An executed study with its record, from whose working directory the commands are given."""
    monkeypatch.chdir(study.path.parents[1])
    return StudyFolder(study.path.relative_to(study.path.parents[1]))


def test_nothing_is_removed_without_yes(folder: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """Every file is named with its size; neither it nor the ledger changes."""
    checkpoint = add_failed_attempt(folder, KEY, 3 << 20)
    before = folder.ledger.read_bytes()
    assert main(["prune", folder.path.name]) == 0
    said = capsys.readouterr().out
    assert f"{checkpoint}  3.0 MiB" in said
    assert "history.jsonl" not in said
    assert "nothing was removed" in said
    assert checkpoint.exists()
    assert folder.ledger.read_bytes() == before


def test_pruned_file_is_told_and_not_lost(folder: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """It goes, the ledger names it, and neither start, restore nor status takes it for damage."""
    checkpoint = add_failed_attempt(folder, KEY, 2 << 20)
    assert main(["prune", folder.path.name, "--yes"]) == 0
    assert not checkpoint.exists()
    assert checkpoint.with_name("history.jsonl").exists()
    line = len(folder.ledger.read_text().splitlines())
    assert json.loads(folder.ledger.read_text().splitlines()[-1])["files"] == {"checkpoint.bin": 2 << 20}
    assert damaged_files(folder, read_state(folder), whole=True) == []
    capsys.readouterr()
    assert main(["status", folder.path.name]) == 0
    page = capsys.readouterr().out
    assert f"checkpoint.bin: 2.0 MiB, pruned (ledger line {line})" in page
    assert "On disk: attempts " in page
    assert "Damaged" not in page


def test_what_a_record_speaks_of_stays(folder: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """Attempts of the counted runs, and all that the standing record lists, are not offered."""
    assert main(["prune", folder.path.name, "--at-least", "0", "--yes"]) == 0
    assert "nothing may go" in capsys.readouterr().out
    assert verify(folder.record) == []


def test_small_files_stay(folder: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """The threshold is 1 MiB, or as given."""
    checkpoint = add_failed_attempt(folder, KEY, 1000)
    assert main(["prune", folder.path.name, "--yes"]) == 0
    assert checkpoint.exists()
    assert main(["prune", folder.path.name, "--at-least", "0", "--yes"]) == 0
    assert not checkpoint.exists()


def test_refused_while_a_session_is_at_work(folder: StudyFolder, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever executes the study is named, and nothing goes."""
    checkpoint = add_failed_attempt(folder, KEY, 2 << 20)
    with exclusive_session(folder):
        assert main(["prune", folder.path.name, "--yes"]) == 75
    assert f"process {os.getpid()} of" in capsys.readouterr().err
    assert checkpoint.exists()


def test_record_tells_of_a_pruned_file(folder: StudyFolder) -> None:
    """The next record lists it by hash and size as pruned, and verifies."""
    from tachograph_study import make

    checkpoint = add_failed_attempt(folder, KEY, 2 << 20)
    assert main(["prune", folder.path.name, "--yes"]) == 0
    make(folder)
    external = json.loads((folder.record / "record.json").read_text())["external"]
    listed = next(one for one in external if one["path"].endswith("checkpoint.bin"))
    assert listed["storage"].startswith("pruned (ledger line ")
    assert listed["bytes"] == 2 << 20
    assert str(checkpoint.relative_to(folder.path)) == listed["path"]
    assert "pruned" in (folder.record / "record.md").read_text()
    assert verify(folder.record) == []
