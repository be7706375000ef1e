"""What the trainer file says about a history, as the gates of a planned run see it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tachograph_study import lay_out, opened

from tachograph.errors import TachographError
from tachograph.evidence.history import read_history
from tachograph.evidence.throughput import whole_run
from tachograph.execution.judging import Judgement, history_spec, judge
from tachograph.models.trainer import HistoryFile, Trainer
from tachograph.study.planning import PlannedRun
from tachograph.study.timers import check_timers


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> tuple[PlannedRun, Trainer]:
    root = tmp_path_factory.mktemp("study")
    lay_out(root)
    study = opened(root)
    return next(run for run in study.planned if run.role == "run"), study.trainer


BASE: dict[str, Any] = {
    "file": "history.jsonl",
    "iteration": "it",
    "work": {"column": "steps", "unit": "steps"},
    "iteration_seconds": "d",
    "stage": {"name": "stage", "column": "d"},
}


def judged(
    one: tuple[PlannedRun, Trainer], folder: Path, rows: list[dict[str, Any]], policy: str | None, **keys: Any
) -> Judgement:
    """Judge a history of these rows; ``keys`` are added to ``[history]`` of the trainer file."""
    planned, trainer = one
    path = folder / "history.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    described = trainer.model_copy(update={"history": HistoryFile.model_validate({**BASE, **keys})})
    return judge(
        replace(planned, amount=len({row["it"] for row in rows}), cache=policy), described, path, "finished", None
    )


ROWS = [{"it": i, "d": 1.0, "steps": 100, "kept": 5, "kernels": "warm"} for i in (1, 2, 3)]
RESUMED = [*ROWS, {**ROWS[2]}]


@pytest.mark.parametrize(
    ("rows", "policy", "keys", "gate"),
    [
        (ROWS, None, {}, None),
        (ROWS, "warm", {"cache": "kernels"}, None),
        (ROWS, "cold", {"cache": "kernels"}, "cache"),
        (ROWS, "cold", {}, "cache"),
        (ROWS, None, {"first_iteration": 1}, None),
        (ROWS, None, {"first_iteration": 0}, "iterations"),
        (ROWS, None, {"zero_work": ["kept"], "zero_work_floor": 4}, None),
        (ROWS, None, {"zero_work": ["kept"], "zero_work_floor": 5}, "zero work"),
        (RESUMED, None, {}, "resume"),
        (RESUMED, None, {"resume": True}, None),
    ],
)
def test_gates_follow_the_registration(
    one: tuple[PlannedRun, Trainer],
    tmp_path: Path,
    rows: list[dict[str, Any]],
    policy: str | None,
    keys: dict[str, Any],
    gate: str | None,
) -> None:
    """Cache (I27), first iteration, floor of zero work and resume (I3) are judged as they are registered."""
    found = judged(one, tmp_path, rows, policy, **keys)
    assert [check["name"] for check in found.checks if not check["ok"]] == ([] if gate is None else [gate])
    assert (found.validity == "valid") is (gate is None)
    assert found.ingest["rows"] == len(rows)


@pytest.mark.parametrize(
    ("lived", "keys", "gate"),
    [
        (3.5, {}, None),
        (0.0035, {}, "process"),
        (0.0035, {"seconds_scale": 0.001}, None),
        (2.0, {"resume": True}, None),
        (None, {}, None),
    ],
)
def test_iterations_happen_while_their_process_lives(
    one: tuple[PlannedRun, Trainer], tmp_path: Path, lived: float | None, keys: dict[str, Any], gate: str | None
) -> None:
    """Three rows of 1.0 in a process of 3.5 ms are milliseconds without their scale: no rate comes of them."""
    planned, trainer = one
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    described = trainer.model_copy(update={"history": HistoryFile.model_validate({**BASE, **keys})})
    found = judge(replace(planned, amount=3), described, path, "finished", None, lived=lived)
    assert found.gate == gate
    if gate is not None:
        assert "d of all rows adds up to 3 s, the process lived 0.0035 s" in str(found.reason)


@pytest.mark.parametrize(("parallel", "validity"), [(True, "valid"), (False, "invalid")])
def test_timers_of_parallel_workers_may_exceed_the_clock(
    one: tuple[PlannedRun, Trainer], tmp_path: Path, parallel: bool, validity: str
) -> None:
    """3.5: eight workers of 0.9 s each in an iteration of 1 s are 7.2 s; undeclared, that is an impossible duration."""
    rows: list[dict[str, Any]] = [
        {"it": i, "d": 1.0, "workers": 7.2, "steps": 100, "m": 50.0 + i, "kept": 5} for i in range(1, 5)
    ]
    phases = [{"name": "workers", "column": "workers", "parallel": parallel}]
    found = judged(one, tmp_path, rows, None, monotonic="m", phases=phases)
    assert found.validity == validity
    assert ("invalid clock" in found.ingest["counts"]) is not parallel


def test_clock_readings_of_a_trainer_file(one: tuple[PlannedRun, Trainer], tmp_path: Path) -> None:
    """I1: rows of clock readings, one of which NTP set back by 10.13 s: 200 samples in 20.03 s, and the run counts."""
    readings = [(1000.00, 1010.00), (1010.00, 1009.87), (1009.87, 1019.90)]
    rows: list[dict[str, Any]] = [
        {"it": i, "t0": a, "t1": b, "half": (a + b) / 2, "steps": 100} for i, (a, b) in enumerate(readings, 1)
    ]
    keys = {"iteration_seconds": "t1", "iteration_start": "t0"}
    keys["stage"] = {"name": "stage", "column": "half", "start": "t0"}
    found = judged(one, tmp_path, rows, None, **keys)
    assert found.validity == "valid"
    assert found.ingest["counts"]["wall-clock source"] == 2  # of the iteration and of the stage
    described = HistoryFile.model_validate({**BASE, **keys})
    history = read_history(tmp_path / "history.jsonl", history_spec(described))
    assert list(history.clock_ok) == [True, False, True]
    assert whole_run(history, "iteration").value == pytest.approx(200 / 20.03)
    assert whole_run(history, "stage").value == pytest.approx(200 / 10.015)


@pytest.mark.parametrize(("step", "lived"), [(-10.13, 30.0), (3600.0, 60.0)])
def test_step_of_the_wall_clock_leaves_the_run_valid(
    one: tuple[PlannedRun, Trainer], tmp_path: Path, step: float, lived: float
) -> None:
    """I1: NTP steps back by 10.13 s, or on by an hour, in one of four rows: its stage and sum speak against nothing."""
    rows: list[dict[str, Any]] = [{"it": i, "d": 10.0, "s": 4.0, "steps": 100} for i in (1, 2, 3, 4)]
    rows[1]["d"] += step
    planned, trainer = one
    path = tmp_path / "history.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    file = HistoryFile.model_validate({**BASE, "stage": {"name": "stage", "column": "s"}})
    described = trainer.model_copy(update={"history": file})
    found = judge(replace(planned, amount=4), described, path, "finished", None, lived=lived)
    assert (found.validity, found.reason) == ("valid", None)
    assert found.ingest["counts"]["invalid clock"] == 1
    assert whole_run(read_history(path, history_spec(file)), "iteration").value == pytest.approx(300 / 30)


def test_cumulative_seconds_of_sessions(tmp_path: Path) -> None:
    """D16: steps over the whole training, seconds since the session began, a resume: 100 steps/s, not 300."""
    path = tmp_path / "history.jsonl"
    path.write_text(
        "".join(f'{{"it":{i},"steps":{s},"d":{d}}}\n' for i, s, d in [(1, 1000, 10), (2, 2000, 20), (3, 3000, 10)])
    )
    described = HistoryFile.model_validate(
        {**BASE, "cumulative_seconds": True, "work": {"column": "steps", "unit": "steps", "cumulative": True}}
    )
    assert whole_run(read_history(path, history_spec(described)), "iteration").value == pytest.approx(100.0)


def test_log_in_milliseconds(tmp_path: Path) -> None:
    """A trainer that only prints: named groups are the columns, milliseconds are scaled, the work is constant."""
    path = tmp_path / "log"
    path.write_text("hello\niter 0: loss 3.0, time 500.0ms\niter 1: loss 2.5, time 250.0ms\nsaved\n")
    described = HistoryFile.model_validate(
        {
            **BASE,
            "format": "log",
            "patterns": [r"^iter (?P<it>\d+): loss (?P<loss>\S+), time (?P<d>\S+)ms"],
            "seconds_scale": 0.001,
            "work": {"constant": 300, "unit": "tokens"},
            "metrics": ["loss"],
        }
    )
    history = read_history(path, history_spec(described))
    assert whole_run(history, "iteration").value == pytest.approx(600 / 0.75)
    assert list(history.curve("loss")) == [3.0, 2.5]


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ({"format": "log"}, "expected some for a log"),
        ({"patterns": ["(?P<it>x)"]}, "expected some for a log"),
        ({"format": "log", "patterns": ["("]}, "no regular expression"),
        ({"format": "log", "patterns": ["iter"]}, "named group"),
        ({"iteration_start": "t0", "cumulative_seconds": True}, "start column 't0'"),
        ({"work": {"unit": "steps"}}, "expected one"),
        ({"work": {"unit": "steps", "constant": 1, "cumulative": True}}, "expected one"),
    ],
)
def test_history_that_cannot_be_read_so_is_refused(keys: dict[str, Any], words: str) -> None:
    """What contradicts itself in the trainer file is refused before anything runs."""
    with pytest.raises((ValueError, TachographError), match=words):
        HistoryFile.model_validate({**BASE, **keys})


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (
            {"phases": [{"name": "a", "column": "a"}, {"name": "a", "column": "a"}]},
            r"phases\[0\].name: found 'a' twice",
        ),
        ({"phases": [{"name": "a", "column": "a", "parent": "A"}]}, r"phases\[0\].parent: found 'A'"),
        (
            {"phases": [{"name": "a", "column": "a", "parent": "b"}, {"name": "b", "column": "b", "parent": "a"}]},
            r"phases\[0\].parent: found 'b', expected a phase that contains 'a' and is no part of it: none",
        ),
        ({"phases": [{"name": "iteration", "column": "a"}]}, r"phases\[0\].name: .* names the column 'd' already"),
        (
            {"phases": [{"name": "stage", "column": "d", "start": "a"}]},
            r"phases\[0\].name: found 'stage' for the columns 'a' to 'd', but it names the column 'd' already",
        ),
        ({"stage": {"name": "iteration", "column": "a"}}, "stage.name: found 'iteration' for another column"),
    ],
)
def test_timers_that_cannot_be_told_apart_are_refused(keys: dict[str, Any], words: str) -> None:
    """A name with two columns, or a parent that is none, would take seconds out of a sum in silence."""
    with pytest.raises(TachographError, match=rf"t\.toml: history\.{words}"):
        check_timers(HistoryFile.model_validate({**BASE, **keys}), "t.toml")


def test_study_of_a_trainer_with_such_timers_is_not_opened(tmp_path: Path) -> None:
    """A parent with a typing error is told before anything runs, with the name that was meant."""
    lay_out(tmp_path)
    file = tmp_path / "config/trainers/stub.toml"
    file.write_text(
        file.read_text().replace('"move_update_seconds" }', '"move_update_seconds", parent = "colection" }')
    )
    with pytest.raises(TachographError, match=r"stub\.toml: .*found 'colection'.*did you mean 'collection'"):
        opened(tmp_path)


def test_timers_as_they_are_meant_pass() -> None:
    """The stage may be a phase, a phase may be the whole iteration, and parts may lie two deep."""
    phases = [{"name": "stage", "column": "d"}, {"name": "iteration", "column": "d"}, {"name": "a", "column": "a"}]
    phases += [{"name": "b", "column": "b", "parent": "a"}, {"name": "c", "column": "c", "parent": "b"}]
    check_timers(HistoryFile.model_validate({**BASE, "phases": phases}), "t.toml")
