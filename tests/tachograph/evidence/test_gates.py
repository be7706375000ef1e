"""Each gate has a run that it stops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tachograph.evidence import gates
from tachograph.evidence.gates import Ended, Expected, Judgement, judge
from tachograph.evidence.history import read_history

from .build import history, rows

GOOD = rows([10.0] * 4, loss=[0.4, 0.3, 0.2, 0.1], kept=[9, 8, 7, 6])
SPEC: dict[str, Any] = {"metrics": ("loss",), "zero_work": ("kept",)}
EXPECTED = Expected(iterations=4, work_unit="steps", metrics=("loss",), cache="warm")
ENDED = Ended(exit_code=0, cache="warm")


def judged(
    tmp_path: Path,
    data: list[dict[str, Any]],
    ended: Ended = ENDED,
    expected: Expected = EXPECTED,
    **spec: Any,
) -> Judgement:
    return judge(history(tmp_path, data, **{**SPEC, **spec}), ended, expected)


def changed(row: int, **values: Any) -> list[dict[str, Any]]:
    return [{**data, **(values if place == row else {})} for place, data in enumerate(GOOD)]


def failed(judgement: Judgement) -> list[str]:
    return [check.name for check in judgement.checks if not check.ok]


def test_good_run_passes_every_gate(tmp_path: Path) -> None:
    """A run as registered is valid and gives no reason."""
    judgement = judged(tmp_path, GOOD)
    assert failed(judgement) == []
    assert judgement.valid
    assert judgement.reason is None


@pytest.mark.parametrize(
    ("gate", "data"),
    [
        ("iterations", GOOD[:3]),
        ("iterations", [*GOOD, {**GOOD[3], "it": 5}]),
        ("columns", [*GOOD[:3], {k: v for k, v in GOOD[3].items() if k != "loss"}]),
        ("finite metrics", changed(1, loss=float("nan"))),
        ("finite metrics", changed(1, loss=None)),
        ("durations", changed(1, d=float("inf"))),
        ("work", changed(1, w=0)),
        ("zero work", changed(1, kept=0)),
        ("zero work", changed(1, kept=float("nan"))),
        ("clock", [{**row, "d": -1.0} for row in GOOD[:3]] + GOOD[3:]),
        ("resume", [*GOOD[:2], *GOOD[1:]]),
    ],
)
def test_gate_stops_a_history(tmp_path: Path, gate: str, data: list[dict[str, Any]]) -> None:
    """Each fault of a history is stopped by the gate of its name, with a reason."""
    judgement = judged(tmp_path, data)
    assert gate in failed(judgement)
    assert not judgement.valid
    assert judgement.reason


@pytest.mark.parametrize(
    ("gate", "ended"),
    [
        ("exit status", Ended(exit_code=1, cache="warm")),
        ("exit status", Ended(exit_code=None, signal="SIGKILL", cache="warm")),
        ("exit status", Ended(exit_code=None, cache="warm")),
        ("cache", Ended(exit_code=0, cache="cold")),
        ("cache", Ended(exit_code=0)),
    ],
)
def test_gate_stops_an_end(tmp_path: Path, gate: str, ended: Ended) -> None:
    """A bad end and a cache in another state (I27), or in an unknown one, stop the run."""
    assert failed(judged(tmp_path, GOOD, ended)) == [gate]


def test_sparse_metric_may_be_null_but_never_nan(tmp_path: Path) -> None:
    """A metric declared sparse may be absent or null (a short run has none of it), and is never NaN."""
    assert judged(tmp_path, changed(1, loss=None), sparse=("loss",)).valid
    assert judged(tmp_path, [{**row, "loss": None} for row in GOOD], sparse=("loss",)).valid
    assert failed(judged(tmp_path, changed(1, loss=float("nan")), sparse=("loss",))) == ["finite metrics"]


def test_lost_first_iteration(tmp_path: Path) -> None:
    """The right number of rows does not make up for a first iteration that is not there."""
    expected = Expected(4, "steps", ("loss",), first_iteration=1, cache="warm")
    assert judged(tmp_path, GOOD, expected=expected).valid
    later = [{**row, "it": row["it"] + 1} for row in GOOD]
    assert failed(judged(tmp_path, later, expected=expected)) == ["iterations"]


def test_work_unit_gate(tmp_path: Path) -> None:
    """A trainer that counts games where steps are registered is stopped."""
    assert failed(judged(tmp_path, GOOD, work_unit="games")) == ["work unit"]


def test_torn_run_is_incomplete(tmp_path: Path) -> None:
    """I4: two of three planned rows and a torn one make an incomplete run."""
    path = tmp_path / "history.jsonl"
    spec = history(tmp_path, GOOD, **SPEC).spec
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:3]) + '{"it":4,"d":1')
    judgement = judge(read_history(path, spec), ENDED, EXPECTED)
    assert failed(judgement) == ["iterations"]
    assert "torn" in (judgement.reason or "")


def test_unreadable_history_stops_the_run() -> None:
    """A refused history gives an invalid run with the reader's sentence."""
    judgement = judge(None, ENDED, EXPECTED, "history.jsonl, line 2: damaged")
    assert judgement.reason == "history: history.jsonl, line 2: damaged"


def test_registered_resume_may_count(tmp_path: Path) -> None:
    """I3: a resumed run counts only where the resume was registered."""
    expected = Expected(4, "steps", ("loss",), resume_allowed=True, cache="warm")
    assert judged(tmp_path, [*GOOD[:2], *GOOD[1:]], expected=expected).valid


def test_single_clock_step_leaves_the_run_valid(tmp_path: Path) -> None:
    """I1: one impossible row is told, and the run still counts by its other rows."""
    judgement = judged(tmp_path, changed(1, d=-0.13))
    assert judgement.valid
    assert "1 of 4 rows" in next(c.detail for c in judgement.checks if c.name == "clock")


def test_exception_while_judging_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever breaks inside a gate, the run does not pass by it, and the reason says what broke."""

    def broken(*_: object) -> tuple[bool, str]:
        raise ZeroDivisionError("no rows")

    monkeypatch.setattr(gates, "_clock", broken)
    judgement = judged(tmp_path, GOOD)
    assert failed(judgement) == ["clock"]
    assert judgement.reason == "clock: it could not be judged, by a fault in the program or its input: no rows"


def test_no_check_is_no_pass() -> None:
    """A judgement without checks is not valid."""
    assert not Judgement(()).valid
    assert Judgement(()).reason == "no gate was judged"


def test_zero_rows_are_not_valid(tmp_path: Path) -> None:
    """An empty history fails, also where no iteration was registered."""
    expected = Expected(iterations=0, work_unit="steps")
    assert not judged(tmp_path, [], expected=expected).valid
