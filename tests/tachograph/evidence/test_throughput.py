"""Rates are ratios of sums over named windows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tachograph.evidence.history import Counter
from tachograph.evidence.throughput import ThroughputError, end_to_end, rate, retained, spread, whole_run

from .build import history, rows


def test_whole_and_steady_rate(tmp_path: Path) -> None:
    """D17: ten iterations of 1000 steps, the first of 60 s, give 66.7 in all and 100.0 after one."""
    run = history(tmp_path, rows([60.0] + [10.0] * 9))
    assert whole_run(run, "iteration").value == pytest.approx(10_000 / 150)
    kept = retained(run, "iteration", 1)
    steady = rate(run, "iteration", kept.rows, kept.window)
    assert steady.value == pytest.approx(100.0)
    assert (steady.iterations, steady.window) == (9, "after 1 warm-up iteration")


def test_rate_is_the_ratio_of_sums_not_the_mean_of_rates(tmp_path: Path) -> None:
    """1000 steps in 1 s and 1000 in 9 s are 200/s, not (1000 + 111)/2."""
    run = history(tmp_path, rows([1.0, 9.0]))
    assert whole_run(run, "iteration").value == pytest.approx(200.0)


def test_fewer_rows_than_warm_up_is_an_error(tmp_path: Path) -> None:
    """D17: with nothing left after the warm-up there is an error, not a silent other window."""
    run = history(tmp_path, rows([10.0, 10.0, 10.0]))
    with pytest.raises(ThroughputError, match="3 iterations with a warm-up of 3"):
        retained(run, "iteration", 3)


def test_clock_step_leaves_its_row_out(tmp_path: Path) -> None:
    """I1: a row of -0.13 s gives no rate; the others give 200 / 20.03 = 9.985/s."""
    run = history(tmp_path, rows([10.0, -0.13, 10.03], work=100))
    assert whole_run(run, "iteration").value == pytest.approx(9.985, abs=5e-4)
    assert retained(run, "iteration", 0).left_out == {"clock": 1}


def test_resumed_segment_loses_its_first_row(tmp_path: Path) -> None:
    """I3: all executed rows count but the first one of a resumed segment; end to end each costs."""
    data = [{"it": i, "d": d, "w": 100} for i, d in [(1, 10.0), (2, 10.0), (3, 10.0), (2, 14.0), (3, 10.0), (4, 10.0)]]
    run = history(tmp_path, data)
    kept = retained(run, "iteration", 0)
    assert list(kept.rows) == [0, 1, 2, 4, 5]
    assert kept.left_out == {"resumed": 1}
    total = end_to_end(run, "iteration")
    assert (total.work, total.seconds) == (400, 64)


def test_checkpoints_are_left_out(tmp_path: Path) -> None:
    """An iteration that wrote a checkpoint gives no rate, but is part of the phases and of the whole run."""
    data = rows([10.0, 10.0, 30.0, 10.0], save=[0, 0, 20.0, None])
    run = history(tmp_path, data, checkpoint="save")
    kept = retained(run, "iteration", 1)
    assert list(kept.rows) == [1, 3]
    assert kept.left_out == {"warm-up": 1, "checkpoint": 1}
    assert list(retained(run, "iteration", 1, checkpoints=True).rows) == [1, 2, 3]
    assert end_to_end(run, "iteration").seconds == 60


def test_evaluations_and_compilations_are_left_out(tmp_path: Path) -> None:
    """Rows with an evaluation or a compilation count end to end, not in the steady rate."""
    data = rows([10.0, 40.0, 10.0, 25.0, 10.0], ev=[0, 18, 0, 0, 0], jit=[0, 0, 0, 1, 0])
    run = history(tmp_path, data, evaluation="ev", compile_flag="jit")
    kept = retained(run, "iteration", 1)
    assert list(kept.rows) == [2, 4]
    assert kept.left_out == {"warm-up": 1, "evaluation": 1, "compilation": 1}
    assert end_to_end(run, "iteration").seconds == 95
    assert end_to_end(run, "iteration", total_seconds=100.0).value == pytest.approx(50.0)


@pytest.mark.parametrize(("n", "warmup", "enough"), [(6, 1, True), (5, 1, False), (10, 5, True), (10, 6, False)])
def test_retained_rows_must_be_enough(tmp_path: Path, n: int, warmup: int, enough: bool) -> None:
    """At least five retained iterations and at least half of all."""
    run = history(tmp_path, rows([10.0] * n))
    assert retained(run, "iteration", warmup).enough() is enough


def test_end_to_end_rate_needs_a_clock(tmp_path: Path) -> None:
    """A clock step leaves no end-to-end rate by the durations; the wall time of the process gives one."""
    stepped = history(tmp_path, rows([10.0] * 4 + [-1.0] + [10.0] * 5))
    with pytest.raises(ThroughputError, match="the clock stepped"):
        end_to_end(stepped, "iteration")
    assert end_to_end(stepped, "iteration", total_seconds=200.0).value == pytest.approx(50.0)


def test_coarse_clock_rows_of_no_time_count(tmp_path: Path) -> None:
    """Rows of 0 s, as a clock of whole seconds shows them, stay in the sums; no time gives no rate."""
    run = history(
        tmp_path,
        rows([1.0, 0.0, 1.0, 0.0], c=[0.0] * 4),
        durations={"iteration": Counter("d"), "evaluation": Counter("c")},
    )
    assert rate(run, "iteration", retained(run, "iteration", 0).rows, "all").value == pytest.approx(2000.0)
    with pytest.raises(ThroughputError, match="no rate"):
        rate(run, "evaluation", retained(run, "evaluation", 0).rows, "all")


def test_document_000_steps_per_second(tmp_path: Path) -> None:
    """Document 000: 206,848 transitions an iteration; 1024 per 97.31 ms are 10,523/s, per 235.11 ms 4,355."""
    for ms, expected in [(97.31, 10_523), (235.11, 4_355)]:
        steps = history(tmp_path, rows([ms / 1e3] * 202, work=1024), durations={"collection": Counter("d")})
        found = whole_run(steps, "collection")
        assert found.work == 206_848
        assert round(found.value) == expected


def test_document_000_spreads() -> None:
    """Document 000: its two reference seeds lie 2.6 % apart, the iterations of its baseline 19 %."""
    assert f"{spread([4231, 4341]):.1%}" == "2.6%"
    assert f"{spread([3601, 4291, 3900]):.0%}" == "19%"
    assert spread([4231]) is None


def test_a_rate_without_rows_is_an_error(tmp_path: Path) -> None:
    """No rate comes out of nothing."""
    run = history(tmp_path, rows([10.0, 10.0], work=0))
    with pytest.raises(ThroughputError, match="no rate"):
        whole_run(run, "iteration")
