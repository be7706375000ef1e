"""Histories of other people's trainers: CSV files and logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tachograph.evidence.findings import HistoryError, Kind
from tachograph.evidence.history import Counter, History, HistorySpec, read_history
from tachograph.evidence.throughput import rate, retained

SB3 = HistorySpec(
    work=Counter("time/total_timesteps", cumulative=True),
    work_unit="environment steps",
    durations={"iteration": Counter("time/time_elapsed", cumulative=True)},
    format="csv",
    iteration="time/iterations",
    metrics=("train/loss",),
    sparse=("train/loss",),
)


def read(tmp_path: Path, content: str, spec: HistorySpec = SB3) -> History:
    path = tmp_path / "progress.csv"
    path.write_text(content, newline="")
    return read_history(path, spec)


def test_stable_baselines_progress(tmp_path: Path) -> None:
    """Cumulative steps and whole seconds give increments; the first row lacks the training columns."""
    content = (
        "time/iterations,time/total_timesteps,time/time_elapsed,train/loss\r\n"
        "1,2048,2,\r\n2,4096,5,0.5\r\n3,6144,7,0.4\r\n"
    )
    history = read(tmp_path, content)
    assert list(history.work) == [2048, 2048, 2048]
    assert list(history.durations["iteration"]) == [2, 3, 2]
    assert list(history.columns["train/loss"][1:]) == [0.5, 0.4]
    assert Kind.COARSE_CLOCK in history.counts
    assert Kind.SCHEMA_CHANGE not in history.counts


def test_header_that_stands_again_with_more_columns(tmp_path: Path) -> None:
    """A logger that was restarted writes its header again; columns count from there."""
    content = (
        "time/iterations,time/total_timesteps,time/time_elapsed\n1,2048,2\n"
        "time/iterations,train/loss,time/total_timesteps,time/time_elapsed\n2,0.5,4096,5\n"
    )
    history = read(tmp_path, content)
    assert list(history.work) == [2048, 2048]
    assert history.columns["train/loss"][1] == 0.5
    assert Kind.HEADER_CHANGED in history.counts


def test_padding_after_the_last_row_does_not_tear_it(tmp_path: Path) -> None:
    """NUL bytes behind a whole last row leave it whole."""
    content = "time/iterations,time/total_timesteps,time/time_elapsed\n1,2048,2\n2,4096,5\n"
    history = read(tmp_path, content + "\0" * 100)
    assert list(history.iteration) == [1, 2]
    assert Kind.TORN_TAIL not in history.counts
    assert Kind.NUL_PADDING in history.counts


def test_renamed_columns_of_a_table(tmp_path: Path) -> None:
    """Declared aliases hold for the header, too, also for the column of the iteration."""
    spec = replace(SB3, aliases={"iterations": "time/iterations", "loss": "train/loss"})
    content = "iterations,time/total_timesteps,time/time_elapsed,loss\n1,2048,2,0.5\n2,4096,5,0.4\n"
    history = read(tmp_path, content, spec)
    assert list(history.curve("train/loss")) == [0.5, 0.4]
    assert Kind.ALIAS in history.counts


def test_sparse_rows_of_one_step_are_one_iteration(tmp_path: Path) -> None:
    """PyTorch Lightning writes training and validation metrics of a step in separate rows."""
    spec = HistorySpec(
        work=Counter(constant=32.0),
        work_unit="samples",
        durations={},
        format="csv",
        iteration="step",
        metrics=("train_loss", "val_loss"),
        sparse=("train_loss", "val_loss"),
    )
    history = read(tmp_path, "step,train_loss,val_loss\n9,0.5,\n9,,0.7\n19,0.4,\n19,,0.6\n", spec)
    assert list(history.iteration) == [9, 19]
    assert list(history.curve("val_loss")) == [0.7, 0.6]
    assert history.counts[Kind.SPARSE_ROWS] == 2


@pytest.mark.parametrize("tail", ["3,61", "3,6144,7,0.4", "3,6144\n", '3,6144,7,"0.', '3,6144,7,"0.\n'])
def test_torn_last_row(tmp_path: Path, tail: str) -> None:
    """A last row without its newline, or with too few cells, is left out: a cut number still reads."""
    content = "time/iterations,time/total_timesteps,time/time_elapsed,train/loss\n1,2048,2,\n2,4096,5,0.5\n"
    history = read(tmp_path, content + tail)
    assert list(history.iteration) == [1, 2]
    assert history.counts[Kind.TORN_TAIL] == 1


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("time/iterations,a,a\n1,2,3\n", "line 1: column 'a' stands twice"),
        ("step,x\n1,2\n", "line 1: no column 'time/iterations'"),
        ("time/iterations,x\n1\n2,3\n", "line 2: found 1 cell, expected 2"),
        ("time/iterations,x\n1,2,3\n2,3\n", "line 2: found 3 cells, expected 2"),
        ('time/iterations,x\n1,"2\n2,3\n', "line 2: damaged"),
    ],
)
def test_damaged_csv_is_refused(tmp_path: Path, content: str, place: str) -> None:
    """A row that does not fit its header is refused, naming the line."""
    with pytest.raises(HistoryError, match=place):
        read(tmp_path, content)


NANOGPT = HistorySpec(
    work=Counter(constant=491_520.0),
    work_unit="tokens",
    durations={"iteration": Counter("ms", scale=1e-3)},
    format="log",
    iteration="iter",
    metrics=("loss",),
    evaluation="val",
    patterns=(
        r"^step (?P<iter>\d+): train loss (?P<train>\S+), val loss (?P<val>\S+)$",
        r"^iter (?P<iter>\d+): loss (?P<loss>\S+), time (?P<ms>\S+)ms",
    ),
)
LOG = """tokens per iteration will be: 491,520
step 0: train loss 10.9, val loss 10.8
iter 0: loss 10.99, time 9000.00ms, mfu -100.00%
iter 1: loss 9.00, time 2000.00ms, mfu 30.0%
iter 2: loss 8.00, time 2000.00ms, mfu 30.0%
step 3: train loss 7.4, val loss 7.5
saving checkpoint to out
"""


def test_log_of_a_printing_trainer(tmp_path: Path) -> None:
    """Two kinds of lines, milliseconds, a constant of work, an evaluation inside an iteration's time."""
    history = read(tmp_path, LOG.replace("saving", "iter 3: loss 7.5, time 8000.00ms\nsaving"), NANOGPT)
    assert list(history.iteration) == [0, 1, 2, 3]
    assert list(history.durations["iteration"]) == [9.0, 2.0, 2.0, 8.0]
    assert list(history.is_evaluation) == [True, False, False, True]
    assert Kind.MISSING not in history.counts
    kept = retained(history, "iteration", 1)
    assert rate(history, "iteration", kept.rows, kept.window).value == 491_520 / 2.0


def test_log_lines_that_never_match_are_an_error(tmp_path: Path) -> None:
    """A changed wording is an error, and a torn last line is left out."""
    with pytest.raises(HistoryError, match="no line matches"):
        read(tmp_path, LOG.replace("iter ", "it ").replace("step ", "at "), NANOGPT)
    torn = read(tmp_path, "iter 0: loss 1.0, time 5.0ms\niter 1: loss 1.0, time 5.0ms", NANOGPT)
    assert list(torn.iteration) == [0]
    assert torn.counts[Kind.TORN_TAIL] == 1
