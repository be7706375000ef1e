"""Reading histories: damage refused, torn tails told, resumes and clocks understood."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pytest

from tachograph.evidence.columns import Missing
from tachograph.evidence.findings import HistoryError, Kind
from tachograph.evidence.history import Counter, History, HistorySpec, read_history
from tachograph.evidence.ingest import DEVIATIONS, ingest_report
from tachograph.evidence.throughput import whole_run

SIMPLE = HistorySpec(
    work=Counter(constant=100.0), work_unit="samples", durations={"iteration": Counter("d")}, iteration="it"
)


def read(tmp_path: Path, content: str | bytes, spec: HistorySpec = SIMPLE) -> History:
    path = tmp_path / "history.jsonl"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_history(path, spec)


def kinds(history: History) -> set[Kind]:
    return {finding.kind for finding in history.findings}


def lines(*rows: dict[str, object]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("tail", ["", "\n", "\n\n", "\r\n"])
def test_torn_last_line_is_left_out_and_told(tmp_path: Path, tail: str) -> None:
    """I4: two whole rows and a cut one give two rows, one torn tail, the hash of all original bytes."""
    content = '{"it":1,"d":10.0}\n{"it":2,"d":10.1}\n{"it":3,"d":1' + tail
    history = read(tmp_path, content)
    assert list(history.iteration) == [1, 2]
    assert history.counts[Kind.TORN_TAIL] == 1
    assert history.sha256 == hashlib.sha256(content.encode()).hexdigest()
    assert history.size == len(content)


ROW = '{"it": 12, "d": -1.5e-3, "name": "a\\u00e9b", "ok": true, "no": false, "x": null, "l": [1, {"y": 2}]}'


def test_every_cut_of_a_row_is_a_torn_tail(tmp_path: Path) -> None:
    """A file cut at any byte of its last row is torn, never damaged: no beginning of an object parses."""
    for cut in range(1, len(ROW)):
        history = read(tmp_path, '{"it":1,"d":10.0}\n' + ROW[:cut])
        assert len(history) == 1
        assert history.counts.get(Kind.TORN_TAIL) == 1, ROW[:cut]


def test_cut_inside_a_character_is_a_torn_tail(tmp_path: Path) -> None:
    """The cut may fall between the bytes of one UTF-8 character."""
    whole = '{"it":2,"d":1,"name":"é"}'.encode()
    history = read(tmp_path, b'{"it":1,"d":10.0}\n' + whole[: whole.index(b"\xc3") + 1])
    assert history.counts[Kind.TORN_TAIL] == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"it":1,"d":1}\n{"it":2,"d"\n{"it":3,"d":1}\n', 2),
        ('{"it":1,"d":1}\n[]', 2),
        ('{"it":1,"d":1}\nnull\n', 2),
        ('{"it":1,"d":1}\n7', 2),
        ('{"it":1,"d":1}\nTraceback (most recent call last)', 2),
        ('{"it":1,"d":1}\n{"it":2,,"d":1}', 2),
        ('{"it":1,"d":1}\n{"it":2,"d":1}x', 2),
        ('{"it":1,"d":1}\n{"it":2,"d":1}{"it":3,"d":1}\n', 2),
        ('{"it":1,"d":1,"d":2}\n', 1),
        ('{"it":1,"d":1}\n{"it":1.5,"d":1}\n', 2),
        ('{"it":1,"d":1}\n{"d":1}\n', 2),
        ('{"it":1,"d":1}\n{"it":-2,"d":1}\n', 2),
        ('{"it":1,"d":1}\n{"it":NaN,"d":1}\n', 2),
        (b'{"it":1,"d":1}\n{"it":2,"d":1,"x":"\xff"}\n{"it":3,"d":1}\n', 2),
        ('{"it":1,"d":1}\n{"it":2\0,"d":1}\n{"it":3,"d":1}\n', 2),
        ('{"it":1,"d":1}\n{"it":2,"d":' + "[" * 100_000 + "\n", 2),
        ('{"it":1,"d":1}\n{"it":2,"d":' + "9" * 5000 + "}\n", 2),
    ],
)
def test_damage_is_refused_with_file_and_line(tmp_path: Path, content: str | bytes, line: int) -> None:
    """I4: whatever is not one object per line with unique keys is refused, naming file and line."""
    with pytest.raises(HistoryError, match=rf"history\.jsonl, line {line}:"):
        read(tmp_path, content)


def test_oversized_line_is_refused_without_reading_it_whole(tmp_path: Path) -> None:
    """A line without an end is refused once it exceeds the bound."""
    with pytest.raises(HistoryError, match="line 2: longer than"):
        read(tmp_path, '{"it":1,"d":1}\n{"it":2,"x":"' + "a" * 3_000_000)


def test_windows_line_ends_and_byte_order_mark(tmp_path: Path) -> None:
    """A file that went through Windows reads the same, and the ingest report says so."""
    history = read(tmp_path, b'\xef\xbb\xbf{"it":1,"d":10.0}\r\n{"it":2,"d":10.1}\r\n')
    assert list(history.durations["iteration"]) == [10.0, 10.1]
    assert {Kind.BYTE_ORDER_MARK, Kind.CRLF} <= kinds(history)


@pytest.mark.parametrize("count", [1, 100, 5_000_000])
def test_nul_padding_of_any_length(tmp_path: Path, count: int) -> None:
    """Blocks of NUL bytes, as a power loss leaves them, end the history and are told with their number."""
    history = read(tmp_path, b'{"it":1,"d":10.0}\n{"it":2,"d":10.1}\n' + b"\0" * count)
    assert len(history) == 2
    assert f"{count} NUL bytes" in next(f.sentence for f in history.findings if f.kind is Kind.NUL_PADDING)


def test_nul_padding_before_a_resumed_row(tmp_path: Path) -> None:
    """NUL bytes in the middle are told at their line, and the rows after them are read."""
    history = read(tmp_path, b'{"it":1,"d":10.0}\n\0\0\0\0{"it":2,"d":10.1}\n{"it":3,"d":1}\n')
    assert list(history.iteration) == [1, 2, 3]
    assert next(f for f in history.findings if f.kind is Kind.NUL_PADDING).line == 2


RESUMED = lines(
    {"it": 1, "d": 10.0, "loss": 2.0},
    {"it": 2, "d": 10.0, "loss": 1.8},
    {"it": 3, "d": 10.0, "loss": 1.7},
    {"it": 2, "d": 14.0, "loss": 1.9},
    {"it": 3, "d": 10.0, "loss": 1.6},
    {"it": 4, "d": 10.0, "loss": 1.5},
)
WITH_LOSS = HistorySpec(
    work=Counter(constant=100.0),
    work_unit="samples",
    durations={"iteration": Counter("d")},
    iteration="it",
    metrics=("loss",),
)


def test_repeated_iterations_become_segments(tmp_path: Path) -> None:
    """I3: two segments, the curve takes the last occurrence, wasted work and conflicts are counted."""
    history = read(tmp_path, RESUMED, WITH_LOSS)
    spans = [(s.first_iteration, s.last_iteration) for s in history.segments]
    assert spans == [(1, 3), (2, 4)]
    assert list(history.curve("loss")) == [2.0, 1.9, 1.6, 1.5]
    assert len(history) == 6
    assert history.wasted == 2
    assert history.counts[Kind.CONFLICT] == 2
    assert list(history.resumed_first) == [False, False, False, True, False, False]


def test_cumulative_steps_over_session_time(tmp_path: Path) -> None:
    """D16: steps count over the whole training, seconds since the session began: 100 steps/s, not 300."""
    spec = HistorySpec(
        work=Counter("steps", cumulative=True),
        work_unit="steps",
        durations={"iteration": Counter("elapsed", cumulative=True)},
        iteration=None,
    )
    rows = [{"steps": 1000, "elapsed": 10}, {"steps": 2000, "elapsed": 20}, {"steps": 3000, "elapsed": 10}]
    history = read(tmp_path, lines(*rows), spec)
    assert list(history.work) == [1000, 1000, 1000]
    assert list(history.durations["iteration"]) == [10, 10, 10]
    assert {Kind.SESSION, Kind.COARSE_CLOCK} <= kinds(history)


def test_cumulative_counters_restart_from_the_restored_checkpoint(tmp_path: Path) -> None:
    """After a restore, increments count from the row that was restored, not from the last one written."""
    spec = HistorySpec(
        work=Counter("steps", cumulative=True),
        work_unit="steps",
        durations={"iteration": Counter("d")},
        iteration="it",
    )
    rows = [(1, 1000), (2, 2000), (3, 3000), (2, 2010), (3, 3010)]
    history = read(tmp_path, lines(*({"it": i, "steps": s, "d": 1.0} for i, s in rows)), spec)
    assert list(history.work) == [1000, 1000, 1000, 1010, 1000]


def test_a_longer_second_session_is_told_apart_by_its_session_number(tmp_path: Path) -> None:
    """Where the first row of a session took longer than the whole session before, only its number tells."""
    spec = HistorySpec(
        work=Counter("steps", cumulative=True),
        work_unit="steps",
        durations={"iteration": Counter("elapsed", cumulative=True)},
        iteration=None,
        session="pid",
    )
    rows = [(1000, 10, 1), (2000, 20, 1), (3000, 25, 2)]
    history = read(tmp_path, lines(*({"steps": s, "elapsed": e, "pid": p} for s, e, p in rows)), spec)
    assert list(history.durations["iteration"]) == [10, 10, 25]
    assert list(history.work) == [1000, 1000, 1000]


PAIR = HistorySpec(
    work=Counter("w"), work_unit="samples", durations={"iteration": Counter("t1", start="t0")}, iteration="it"
)


def test_clock_step_back_invalidates_its_row(tmp_path: Path) -> None:
    """I1: a negative duration is neither clamped nor made positive; its row is invalid, the source named."""
    rows = [(1, 1000.00, 1010.00), (2, 1010.00, 1009.87), (3, 1009.87, 1019.90)]
    history = read(tmp_path, lines(*({"it": i, "t0": a, "t1": b, "w": 100} for i, a, b in rows)), PAIR)
    assert list(history.clock_ok) == [True, False, True]
    assert history.durations["iteration"][1] == pytest.approx(-0.13)
    assert {Kind.INVALID_CLOCK, Kind.WALL_CLOCK} <= kinds(history)


def test_clock_jump_while_no_stage_grew(tmp_path: Path) -> None:
    """I1: an iteration of over ten medians whose stages took their usual time is a step of the clock."""
    spec = HistorySpec(
        work=Counter("w"),
        work_unit="samples",
        durations={"iteration": Counter("d"), "collection": Counter("c")},
        iteration="it",
    )
    rows = [{"it": i, "d": 10.0, "c": 8.0, "w": 1} for i in range(1, 6)]
    rows[3]["d"] = 3610.0
    history = read(tmp_path, lines(*rows), spec)
    assert list(history.clock_ok) == [True, True, True, False, True]
    rows[3]["c"] = 3608.0  # the stage grew too: slow, not a step
    assert read(tmp_path, lines(*rows), spec).clock_ok.all()


@pytest.mark.parametrize("flag", ["evaluation", "compile_flag", "checkpoint"])
def test_row_that_says_why_it_took_long_is_no_step_of_the_clock(tmp_path: Path, flag: str) -> None:
    """An evaluation of 30 s in an iteration of 1 s happened although no stage grew: it costs in the whole run."""
    rows = [{"it": i, "d": 1.0, "c": 0.8, "w": 100} for i in range(1, 11)]
    rows[5].update(d=31.0, long=30.0)
    spec = HistorySpec(
        work=Counter("w"),
        work_unit="samples",
        durations={"iteration": Counter("d"), "collection": Counter("c")},
        iteration="it",
        **{flag: "long"},
    )
    history = read(tmp_path, lines(*rows), spec)
    assert history.clock_ok.all()
    assert not {Kind.INVALID_CLOCK, Kind.CLOCK_STEP} & kinds(history)
    assert whole_run(history, "iteration").value == pytest.approx(1000 / 40)
    del rows[5]["long"]  # nothing says why
    assert not read(tmp_path, lines(*rows), spec).clock_ok[5]


def test_duration_beyond_the_monotonic_clock(tmp_path: Path) -> None:
    """A duration longer than the monotonic time between two rows cannot be true."""
    spec = HistorySpec(
        work=Counter("w"),
        work_unit="samples",
        durations={"iteration": Counter("d")},
        iteration="it",
        monotonic="m",
        wall="t",
    )
    rows = [{"it": i, "d": 1.0, "w": 1, "m": 50.0 + i, "t": 1e9 + i} for i in range(1, 6)]
    rows[2]["d"] = 1.4
    rows[4]["t"] = 1e9 + 3605
    history = read(tmp_path, lines(*rows), spec)
    assert list(history.clock_ok) == [True, True, False, True, True]
    assert "+3600" in next(f.sentence for f in history.findings if f.kind is Kind.CLOCK_STEP)


def test_non_finite_values_are_typed_missing(tmp_path: Path) -> None:
    """NaN, infinity, null, text and an absent key are five different things, and none of them is 0."""
    text = (
        '{"it":1,"d":1,"loss":NaN}\n{"it":2,"d":1,"loss":-Infinity}\n{"it":3,"d":1,"loss":1e999}\n'
        '{"it":4,"d":1,"loss":null}\n{"it":5,"d":1,"loss":"bad"}\n{"it":6,"d":1}\n{"it":7,"d":1,"loss":0.5}\n'
    )
    history = read(tmp_path, text, WITH_LOSS)
    expected = [
        Missing.NAN,
        Missing.INFINITE,
        Missing.INFINITE,
        Missing.NULL,
        Missing.NOT_A_NUMBER,
        Missing.ABSENT,
        Missing.PRESENT,
    ]
    assert [Missing(kind) for kind in history.missing["loss"]] == expected
    assert [math.isnan(v) for v in history.columns["loss"]] == [True] * 6 + [False]
    assert history.counts[Kind.NON_FINITE] == 3


RENAMED = lines(
    {"it": 1, "iteration_seconds": 10.0, "episode_reward_mean": 5},
    {"it": 2, "time/iteration_seconds": 10.0, "env_runners/episode_return_mean": 6},
)
OLD_NAMES = HistorySpec(
    work=Counter(constant=1.0),
    work_unit="episodes",
    durations={"iteration": Counter("iteration_seconds")},
    iteration="it",
    metrics=("episode_reward_mean",),
)


def test_renamed_columns_are_a_schema_change(tmp_path: Path) -> None:
    """I19: without a declared alias the rename is told at its row; the missing value is not 0."""
    history = read(tmp_path, RENAMED, OLD_NAMES)
    sentences = [f.sentence for f in history.findings if f.kind is Kind.SCHEMA_CHANGE]
    assert all(s.startswith("schema change at row 2") for s in sentences)
    assert "env_runners/episode_return_mean" in sentences[0]
    assert np.isnan(history.durations["iteration"][1])


def test_declared_aliases_join_renamed_columns(tmp_path: Path) -> None:
    """I19: with the alias map both rows are one curve, and the use of the alias is told."""
    spec = HistorySpec(
        work=Counter(constant=1.0),
        work_unit="episodes",
        durations={"iteration": Counter("time/iteration_seconds")},
        iteration="it",
        metrics=("env_runners/episode_return_mean",),
        aliases={
            "iteration_seconds": "time/iteration_seconds",
            "episode_reward_mean": "env_runners/episode_return_mean",
        },
    )
    history = read(tmp_path, RENAMED, spec)
    assert list(history.curve("env_runners/episode_return_mean")) == [5, 6]
    assert list(history.durations["iteration"]) == [10, 10]
    assert Kind.ALIAS in kinds(history)
    assert Kind.SCHEMA_CHANGE not in kinds(history)
    both = lines({"it": 1, "iteration_seconds": 10.0, "time/iteration_seconds": 11.0})
    with pytest.raises(HistoryError, match=r"line 1: .*alias"):
        read(tmp_path, both, spec)


def test_truth_values_are_flags_not_numbers(tmp_path: Path) -> None:
    """true is a flag where a flag is declared, and no number of seconds elsewhere."""
    spec = HistorySpec(
        work=Counter(constant=1.0),
        work_unit="x",
        durations={"iteration": Counter("d")},
        iteration="it",
        compile_flag="compiled",
    )
    rows = [{"it": 1, "d": 1.0, "compiled": True}, {"it": 2, "d": True, "compiled": False}]
    history = read(tmp_path, lines(*rows), spec)
    assert list(history.is_compile) == [True, False]
    assert Missing(history.missing["d"][1]) is Missing.NOT_A_NUMBER


def test_ingest_report_is_plain_and_tells_deviations(tmp_path: Path) -> None:
    """The ingest report is strict JSON with every finding, and a cut-off line is one that touches a number."""
    history = read(tmp_path, RESUMED + '{"it":5,"d":1', WITH_LOSS)
    report = ingest_report(history)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    assert (report["rows"], report["iterations"], report["wasted_iterations"]) == (6, 4, 2)
    assert report["counts"]["torn tail"] == 1
    assert [s["reason"] for s in report["segments"]] == ["first", "iteration repeated"]
    assert {one["kind"] for one in report["findings"]} & DEVIATIONS == {
        "torn tail",
        "repeated iterations",
        "conflicting repeats",
        "session reset",
    }


def test_missing_iterations_are_told(tmp_path: Path) -> None:
    """A gap in the iterations is told with its range."""
    history = read(tmp_path, lines(*({"it": i, "d": 1.0} for i in (1, 2, 5, 6, 8))))
    sentences = [f.sentence for f in history.findings if f.kind is Kind.MISSING]
    assert sentences == ["iterations 3 to 4 are missing", "iteration 7 is missing"]
    assert history.counts[Kind.MISSING] == 3


def test_evaluation_rows_are_flagged_by_their_column(tmp_path: Path) -> None:
    """An iteration holds an evaluation where the column is present and not 0."""
    spec = HistorySpec(
        work=Counter(constant=1.0),
        work_unit="x",
        durations={"iteration": Counter("d")},
        iteration="it",
        evaluation="evaluation_seconds",
    )
    rows = [{"it": 1, "d": 1.0}, {"it": 2, "d": 9.0, "evaluation_seconds": 8.0}]
    rows.append({"it": 3, "d": 1.0, "evaluation_seconds": 0.0})
    assert list(read(tmp_path, lines(*rows), spec).is_evaluation) == [False, True, False]


def test_empty_history_has_no_rows(tmp_path: Path) -> None:
    """An empty file is a history of no rows, for the gates to judge."""
    history = read(tmp_path, "")
    assert len(history) == 0
    assert history.segments == ()
    assert len(history.curve_rows) == 0


def test_findings_are_bounded(tmp_path: Path) -> None:
    """A file full of faults gives a short report and full counts."""
    history = read(tmp_path, "".join(f'{{"it":{i},"d":NaN}}\n' for i in range(1, 1001)))
    assert history.counts[Kind.NON_FINITE] == 1000
    assert len(history.findings) == 6
    assert "1000 in all" in history.findings[-1].sentence
