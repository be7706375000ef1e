"""``tachograph phases`` on document 001's run: iterations 70 to 95 so far, with the key names of that time."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.cli import main

TRAINER = """
schema = "trainer/1"
name = "coorl"
title = "A stranger's Deep CFR trainer"
about = "as document 001 describes it"
command = ["python", "-m", "deep_cfr", "--seed", "{seed}", "--iterations", "{iterations}", "--out", "{out}"]

[code]
version_command = ["true"]

[history]
file = "metrics.jsonl"
iteration = "iteration"
work = { column = "traversal/nodes", unit = "decision nodes" }
iteration_seconds = "iteration_seconds"
stage = { name = "traversal", column = "traversal_seconds" }
phases = [
    { name = "traversal", column = "traversal_seconds" },
    { name = "advantage_train", column = "advantage_train_seconds" },
    { name = "strategy_train", column = "strategy_train_seconds" },
    { name = "memory_add", column = "memory_add_seconds" },
    { name = "checkpoint", column = "checkpoint_seconds" },
]

[history.evaluation]
seconds = "evaluation_seconds"
subjects = ["random", "safe_heuristic", "safe_heuristic_strict"]
column = "eval/{subject}/{timer}"
elapsed = "elapsed_seconds"
timers = ["policy_network_seconds", "opponent_act_seconds"]
inference = "policy_network_seconds"

[history.alias_patterns]
"eval_{opponent}_{metric}" = "eval/{opponent}/{metric}"
"""
MEANS = {
    "traversal_seconds": 10.71,
    "advantage_train_seconds": 4.72,
    "strategy_train_seconds": 2.39,
    "memory_add_seconds": 1.25,
    "checkpoint_seconds": 0.02,
    "traversal/nodes": 205810,
}
EVALUATION = {
    "eval_random_elapsed_seconds": 0.57,
    "eval_random_policy_network_seconds": 0.18,
    "eval_random_opponent_act_seconds": 0.06,
    "eval/safe_heuristic/elapsed_seconds": 14.54,  # the newer names, in the same row
    "eval/safe_heuristic/policy_network_seconds": 2.65,
    "eval/safe_heuristic/opponent_act_seconds": 7.57,
    "eval_safe_heuristic_strict_elapsed_seconds": 15.94,
    "eval_safe_heuristic_strict_policy_network_seconds": 2.51,
    "eval_safe_heuristic_strict_opponent_act_seconds": 9.22,
}


@pytest.fixture
def run(tmp_path: Path) -> list[str]:
    """The document's run: still going on, so that its last line is torn."""
    rows = [{"iteration": i, "iteration_seconds": 17.85, **MEANS} for i in range(60, 96)]
    for i in (61, 62):
        rows[i - 60]["iteration_seconds"] = 500.0  # outside of the window
    rows[75 - 60] |= {"iteration_seconds": 40.30, "evaluation_seconds": 18.29, **EVALUATION}
    history = tmp_path / "metrics.jsonl"
    history.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"iteration": 96, "iter')
    trainer = tmp_path / "coorl.toml"
    trainer.write_text(TRAINER)
    return ["phases", str(trainer), str(history)]


def test_document_001_comes_out_of_its_history(run: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Shares, the overlap of 1.24 s that the document missed, and the excess of 22.45 s beside its 18.29 s."""
    assert main([*run, "--first", "70"]) == 0
    printed = capsys.readouterr().out
    assert "iterations 70–95 so far" in printed
    assert "the timers sum to 106.9% of the iteration, 1.24 s too much: memory\\_add" in printed
    for phase, seconds, share in (("traversal", "10.7", "60.0%"), ("strategy\\_train", "2.39", "13.4%")):
        row = next(line for line in printed.splitlines() if line.startswith(f"| {phase} "))
        assert seconds in row
        assert share in row
    assert "1 evaluation (iteration 75). An iteration with one took 40.30 s on average" in printed
    assert "one without 17.85 s (25 of them): an excess of 22.45 s" in printed
    assert "own timer says 18.29 s, 4.160 s less than the iteration shows" in printed


def test_opponents_are_read_under_old_and_new_names(run: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One declared pattern joins eval_random_elapsed_seconds and eval/random/elapsed_seconds."""
    assert main([*run, "--first", "70"]) == 0
    printed = capsys.readouterr().out
    row = next(line for line in printed.splitlines() if line.startswith("| safe\\_heuristic\\_strict "))
    assert [cell.strip() for cell in row.split("|")[2:6]] == ["1", "15.9", "2.51", "9.22"]
    assert "| random " in printed
    assert "at the same time, so their seconds are no sum" in printed


def test_evaluations_at_other_intervals(run: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """0.73, 1.83, 3.66 and 7.3 s per iteration by the document's timer; 0.898 s by what the iteration shows."""
    assert main([*run, "--first", "70", "--evaluation-every", "25,10,5", "--evaluation-games", "100,1000"]) == 0
    rows = [
        line.split("|")[1:5] for line in capsys.readouterr().out.splitlines() if line.startswith(("| 100 ", "| 1000 "))
    ]
    found = [[cell.strip() for cell in row] for row in rows]
    assert found[:3] == [
        ["100", "25", "0.8980", "0.7316"],
        ["100", "10", "2.245", "1.829"],
        ["100", "5", "4.490", "3.658"],
    ]
    assert [row[3] for row in found[3:]] == ["7.316", "18.29", "36.58"]


def test_excess_that_cannot_be_told_is_not_spread(run: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Where iterations vary by more than the evaluation takes, only the trainer's own timer is spread, and why."""
    history = Path(run[2])
    rows = [json.loads(line) for line in history.read_text().splitlines()[:-1]]
    for row in rows:
        row["iteration_seconds"] += (row["iteration"] % 5) * 15
    history.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert main([*run, "--first", "70", "--evaluation-every", "25"]) == 0
    printed = capsys.readouterr().out
    assert "cannot be told from one without" in printed
    assert "excess, s/iteration" not in printed
    row = next(line for line in printed.splitlines() if line.startswith("| as run") and " 25 |" in line)
    assert "0.7316" in row


def test_window_without_iterations_is_an_error(run: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """One sentence with what was found and what there is."""
    assert main([*run, "--first", "200"]) == 2
    assert "found no iteration from 200 to 95, expected some of 60 to 95" in capsys.readouterr().err


def test_missing_history_is_an_error(run: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is not there is named."""
    assert main([*run[:2], "/nowhere/metrics.jsonl"]) == 2
    assert "/nowhere/metrics.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--evaluation-games", "10"], "found no --evaluation-every"),
        (["--evaluation-every", "0"], "expected whole numbers"),
        (["--evaluation-every", "9" * 30], "expected whole numbers"),
        (["--first", "-1"], "--first: found '-1', expected the number of an iteration"),
        (["--last", "x"], "--last: found 'x', expected the number of an iteration"),
        (["--first", "80", "--last", "70"], "--first: found 80, expected at most --last 70"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    run: list[str], capsys: pytest.CaptureFixture[str], more: list[str], words: str
) -> None:
    """Games without an interval, and intervals of 0 iterations, give a sentence and no table."""
    try:
        code = main([*run, *more])
    except SystemExit as ended:
        code = int(str(ended.code))
    printed = capsys.readouterr()
    assert code != 0
    assert words in printed.err
    assert printed.out == ""


def test_history_of_nothing_but_evaluations_has_no_table(run: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Every iteration of the window holds an evaluation: told, and no division by nothing."""
    assert main([*run, "--first", "75", "--last", "75"]) == 0
    printed = capsys.readouterr().out
    assert "There is no phase table: the phases could not be judged: no iteration without an evaluation" in printed
    assert "Error" not in printed


def test_what_is_odd_about_the_file_is_told(run: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """The torn last line of a run that goes on, and durations that are no numbers, stand above the tables."""
    history = Path(run[2])
    history.write_text(history.read_text().replace('"iteration_seconds": 17.85', '"iteration_seconds": "long"'))
    assert main(run) == 0
    printed = capsys.readouterr().out
    assert "'iteration_seconds' is 'long' in line" in printed
    assert " more\n" in printed
    assert "Error" not in printed


def test_reader_that_leaves_early_is_no_traceback(run: list[str]) -> None:
    """`tachograph phases … | head -1` ends without a traceback."""
    words = shlex.join([sys.executable, "-m", "tachograph.cli", *run])
    ended = subprocess.run(f"{words} | head -c 1", shell=True, capture_output=True, text=True, check=False)
    assert ended.stdout
    assert "Traceback" not in ended.stderr
