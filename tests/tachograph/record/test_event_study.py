"""A study of a trainer that writes nothing but TensorBoard events, from its command to its record."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tachograph_study import execute_study, lay_out, make, one_arm

from tachograph.analysis.sealed import read_sealed
from tachograph.execution.judging import judge
from tachograph.execution.progress import Progress
from tachograph.files import read_json, sha256_file
from tachograph.record.verify import verify
from tachograph.study.layout import StudyFolder

EVENTS = Path(__file__).parents[2] / "data/tensorboard/events.out.tfevents.six-steps"
TRAINER = """
schema = "trainer/1"
name = "stub"
title = "A trainer with a TensorBoard writer"
about = "Leaves the event file of a real writer."
command = ["{python}", "leave_events.py", "{out}", "{seed}", "{iterations}"]

[code]
paths = ["leave_events.py"]

[history]
file = "log/events.out.tfevents"
format = "tensorboard"
iteration = "step"
work = { column = "samples", unit = "samples" }
iteration_seconds = "elapsed"
cumulative_seconds = true
stage = { name = "training", column = "elapsed" }
metrics = ["train/loss"]
sparse_metrics = ["eval/score"]
wall = "wall_time"
"""
PROGRAM = """
import os, pathlib, sys, time
log = pathlib.Path(sys.argv[1]) / "log"
log.mkdir()
name = f"events.out.tfevents.{int(time.time())}.host.{os.getpid()}.0"
(log / name).write_bytes(pathlib.Path("events").read_bytes())
"""
STUDY = one_arm("One arm of a trainer with a TensorBoard writer", 6, 7)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    root = tmp_path_factory.mktemp("events")
    lay_out(root, lambda _: STUDY)
    (root / "config/trainers/stub.toml").write_text(TRAINER)
    (root / "leave_events.py").write_text(PROGRAM)
    shutil.copy(EVENTS, root / "events")
    folder = execute_study(root)
    make(folder)
    return folder


def test_record_of_events_verifies(made: StudyFolder) -> None:
    """The rate follows from the events, the file is sealed under the name that its writer gave it, the record holds."""
    record = read_json(made.record / "record.json")
    run = record["runs"][0]
    assert run["rates"]["iteration"]["whole run"]["value"] == pytest.approx(512 / 0.0025, rel=1e-3)
    facts = read_json(made.path / "runs/only/seed7/run.json")
    assert facts["result"].startswith("log/events.out.tfevents.")
    assert sha256_file(made.path / "runs/only/seed7/history.jsonl") == sha256_file(EVENTS)
    kept = next((made.record / "attempts/run-only-seed7/001/log").iterdir())
    assert sha256_file(kept) == sha256_file(EVENTS)
    assert verify(made.record) == []
    crate = json.loads((made.record / "ro-crate-metadata.json").read_text())
    entity = next(one for one in crate["@graph"] if one["@id"].endswith(kept.name))
    assert entity["encodingFormat"] == "application/octet-stream"


def test_progress_counts_the_steps_of_a_growing_file(made: StudyFolder, tmp_path: Path) -> None:
    """A writer flushes in the middle of an event: whole ones count once, the rest when it is whole."""
    sealed, whole = read_sealed(made), EVENTS.read_bytes()
    said: list[str] = []
    progress = Progress(sealed.planned[0], sealed.trainer.history, tmp_path, said.append)
    progress()  # nothing is there yet
    (tmp_path / "log").mkdir()
    for cut in (*range(0, len(whole), 100), len(whole)):
        (tmp_path / "log/events.out.tfevents.1").write_bytes(whole[:cut])
        progress()
    assert said
    assert all("stub: run only seed 7: iteration 6/6" in sentence for sentence in said)


def test_two_event_files_of_one_run_are_refused(made: StudyFolder, tmp_path: Path) -> None:
    """Which of them holds the run nobody says, so none is taken."""
    sealed = read_sealed(made)
    (tmp_path / "log").mkdir()
    for name in ("1.host.1.0", "2.host.2.0"):
        shutil.copy(EVENTS, tmp_path / "log" / f"events.out.tfevents.{name}")
    result = sealed.trainer.history.path_in(tmp_path)
    found = judge(sealed.planned[0], sealed.trainer, result, "finished", None)
    assert found.validity == "invalid"
    assert found.reason is not None
    assert "wrote not one file that begins with log/events.out.tfevents; found events.out.tfevents.1" in found.reason
