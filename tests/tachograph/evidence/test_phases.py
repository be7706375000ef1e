"""The phase table of document 001."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t, ttest_ind

from tachograph.analysis.evaluation import evaluation_of
from tachograph.evidence.interval import paired_log_t
from tachograph.evidence.overlap import find_overlap
from tachograph.evidence.phases import Phase, PhaseError, PhaseTable, evaluation_cost, phase_table, projected_hours
from tachograph.models.study import Projection
from tachograph.models.trainer import Evaluation

from .build import history, rows

MEANS = {
    "traversal": 10.71,
    "advantage_train": 4.72,
    "strategy_train": 2.39,
    "memory_add": 1.25,
    "checkpoint": 0.02,
}
ITERATION = 17.85


def document_001(phases: list[Phase] | None = None, **more: float) -> PhaseTable:
    """Iterations 70 to 95 without the evaluation in 75, every timer at its mean."""
    timers = {name: np.full(25, mean) for name, mean in {**MEANS, **more}.items()}
    return phase_table(np.full(25, ITERATION), timers, phases or [Phase(name) for name in timers])


def test_document_001_shares() -> None:
    """Shares 60, 26, 13, 7 and 0.1 % of the mean iteration of 17.85 s."""
    table = document_001()
    assert (table.total, table.iterations) == (pytest.approx(17.85), 25)
    assert [f"{row.share:.0%}" for row in table.rows] == ["60%", "26%", "13%", "7%", "0%"]


def test_document_001_overlap_is_found_undeclared() -> None:
    """The timers sum to 106.9 %, 1.24 s too much: memory_add must lie inside another, nobody declared it."""
    table = document_001()
    assert f"{table.overlap.share:.1%}" == "106.9%"
    assert f"{table.overlap.excess:.2f}" == "1.24"
    assert table.overlap.nested == ("memory_add",)
    assert "106.9% of the iteration, 1.24 s too much: memory_add" in table.warnings[0]
    assert next(row for row in table.rows if row.name == "memory_add").nested


def test_document_001_two_nested_timers() -> None:
    """With batch_tensor among the timers, both it and memory_add are found; the others make 99.94 %."""
    table = document_001(batch_tensor=4.60)
    assert set(table.overlap.nested) == {"memory_add", "batch_tensor"}
    fit = sum(MEANS[name] for name in table.overlap.siblings) / ITERATION
    assert f"{fit:.2%}" == "99.94%"


def test_timer_of_no_time_is_not_called_nested() -> None:
    """A timer of 0 s changes no sum: nothing shows that it lies inside another one."""
    table = document_001(idle=0.0)
    assert table.overlap.nested == ("memory_add",)
    assert table.overlap.rivals == 0


def test_two_choices_that_fit_are_not_told_as_one() -> None:
    """Of two equal timers either may be the nested one; the sentence says so and names no certainty."""
    timers = {"a": np.full(4, 0.5), "b": np.full(4, 0.5), "c": np.full(4, 1.0)}
    table = phase_table(np.full(4, 1.5), timers, [Phase(name) for name in timers])
    assert table.overlap.rivals == 1
    assert "1 more choice fits" in table.warnings[0]
    assert "must lie inside" not in table.warnings[0]


def test_declared_parents_close_the_table() -> None:
    """With memory_add declared inside traversal the sum closes and nothing is warned of."""
    table = document_001([Phase(name, "traversal" if name == "memory_add" else None) for name in MEANS])
    assert table.overlap.closed
    assert table.warnings == ()


def test_part_that_exceeds_its_parent_is_told() -> None:
    """4.72 s declared inside of 2.39 s close no sum: a parent that cannot be true is named, a parallel one is not."""
    parents = {"advantage_train": "strategy_train", "memory_add": "traversal"}
    table = document_001([Phase(name, parents.get(name)) for name in MEANS])
    assert "advantage_train, declared inside of strategy_train, takes longer than it" in table.warnings
    assert not any("memory_add" in sentence for sentence in table.warnings)
    beside = [*map(Phase, MEANS), Phase("opponent", "memory_add", parallel=True)]
    assert not any("declared inside" in sentence for sentence in document_001(beside, opponent=15.94).warnings)


def test_parallel_timers_are_never_summed() -> None:
    """Timers of opponents that run at the same time are labelled, not added."""
    phases = [Phase(n, "traversal" if n == "memory_add" else None) for n in MEANS]
    phases.append(Phase("opponent", parallel=True))
    table = document_001(phases, opponent=15.94)
    assert table.overlap.closed
    assert next(row for row in table.rows if row.name == "opponent").overlapping


def test_document_001_evaluation(tmp_path: Path) -> None:
    """The evaluation costs 22.45 s by the iteration, 18.29 by its timer: amortised 0.898 against 0.73 s."""
    held = [i in (75, 100) for i in range(70, 101)]
    every = history(
        tmp_path,
        rows([40.30 if one else ITERATION for one in held], evaluated=[18.29 if one else 0.0 for one in held]),
        evaluation="evaluated",
    )
    found = evaluation_of([every], Evaluation(seconds="evaluated"), 0, None)["kinds"][0]
    assert found["excess"] == pytest.approx(22.45)
    assert found["timer"] == pytest.approx(18.29)
    assert found["every"] == 25
    assert found["by_excess"] == pytest.approx(0.898)
    assert f"{found['by_timer']:.2f}" == "0.73"


NOISE = [10.0, 14.0, 9.0, 13.0, 12.0, 8.0, 11.0, 15.0]


def evaluated(tmp_path: Path, seconds: list[float], held: list[int], timer: float) -> dict[str, Any]:
    """One run of ``seconds`` with evaluations of ``timer`` seconds in the iterations at the positions ``held``."""
    flags = [timer if i in held else 0.0 for i in range(len(seconds))]
    one = history(tmp_path, rows(seconds, evaluated=flags), evaluation="evaluated")
    found = evaluation_of([one], Evaluation(seconds="evaluated"), 0, Projection(evaluation_every=[10]))
    (kind,) = found["kinds"]
    return dict(kind)


def test_excess_has_the_interval_of_welch(tmp_path: Path) -> None:
    """The 95 % interval is that of scipy's Welch test; above 0 the excess is told and spread."""
    found = evaluated(tmp_path, [*NOISE, 30.0, 36.0, 31.0], [8, 9, 10], 20.0)
    expected = ttest_ind([30.0, 36.0, 31.0], NOISE, equal_var=False).confidence_interval(0.95)
    assert (found["excess_low"], found["excess_high"]) == pytest.approx((expected.low, expected.high))
    assert found["told"]
    assert found["projected"][0]["by_excess"] == pytest.approx(found["excess"] / 10)


def test_excess_within_the_noise_is_not_told(tmp_path: Path) -> None:
    """An interval that holds 0 spreads nothing by the excess; the trainer's own timer remains, with its range."""
    found = evaluated(tmp_path, [*NOISE, 12.5, 11.0, 15.0], [8, 9, 10], 0.7)
    assert found["excess"] > 0 > found["excess_low"]
    assert not found["told"]
    assert (found["by_excess"], found["projected"][0]["by_excess"]) == (None, None)
    assert found["projected"][0]["by_timer"] == pytest.approx(0.07)
    assert (found["timer_low"], found["timer_high"]) == (0.7, 0.7)


def test_one_evaluation_is_taken_to_vary_like_plain_iterations(tmp_path: Path) -> None:
    """A single one has no spread of its own: a prediction interval with that of the eight plain iterations."""
    found = evaluated(tmp_path, [*NOISE, 14.0], [8], 1.0)
    half = t.ppf(0.975, 7) * np.std(NOISE, ddof=1) * np.sqrt(1 + 1 / 8)
    assert found["excess_high"] - found["excess"] == pytest.approx(half)
    assert (found["told"], found["every"], found["every_from"]) == (False, 9, "count")


def test_one_plain_iteration_tells_no_excess(tmp_path: Path) -> None:
    """Two iterations, one of them evaluated: no interval, so nothing is told."""
    found = evaluated(tmp_path, [10.0, 30.0], [1], 20.0)
    assert (found["excess_low"], found["told"], found["by_excess"]) == (None, False, None)


def test_document_001_projections() -> None:
    """Evaluating more often or with ten times the games: the document's own figures."""
    assert [f"{evaluation_cost(18.29, every):.2f}" for every in (25, 10, 5)] == ["0.73", "1.83", "3.66"]
    assert [f"{evaluation_cost(18.29, every, 10):.1f}" for every in (25, 10, 5)] == ["7.3", "18.3", "36.6"]
    assert [f"{projected_hours(mean, 1000):.2f}" for mean in (17.93, 18.79)] == ["4.98", "5.22"]


def test_document_001_compile_regression_has_no_interval() -> None:
    """One run per arm: +4.8 % is a factor without an interval."""
    factor = paired_log_t([1 / 17.93], [1 / 18.79])
    assert f"{1 / factor.factor - 1:.1%}" == "4.8%"
    assert factor.low is None


def test_timers_that_cover_too_little() -> None:
    """Timers that leave 20 % of the iteration unexplained are told."""
    table = document_001([Phase("traversal"), Phase("advantage_train")])
    assert table.warnings == ("the timers cover 86.4% of the iteration",)


def test_only_evaluations_are_an_error() -> None:
    """Without an iteration free of evaluation, or with a clock that stands still, there is no table."""
    for total in (np.zeros(0), np.zeros(2)):
        with pytest.raises(PhaseError, match="no iteration without an evaluation"):
            phase_table(total, {}, [])


def test_least_squares_tells_nested_from_sibling() -> None:
    """Across iterations the total's least squares give about 1 to siblings and 0 to a nested timer."""
    rng = np.random.default_rng(0)
    traversal, train = 10 + rng.normal(size=60), 5 + rng.normal(size=60)
    add = 0.12 * traversal + 0.2 * rng.normal(size=60)
    found = find_overlap(traversal + train, {"traversal": traversal, "train": train, "add": add})
    assert (found.siblings, found.nested, found.rivals) == (("traversal", "train"), ("add",), 0)


def test_least_squares_settles_between_subsets_that_fit() -> None:
    """Two timers of the same mean: the sums fit with either, the iterations show which one lies inside another."""
    rng = np.random.default_rng(1)
    work, inner, outer = rng.normal(10, 1, 60), rng.normal(2, 0.2, 60), rng.normal(2, 0.2, 60)
    inner, outer = inner * 2 / inner.mean(), outer * 2 / outer.mean()
    timers = {"work": work, "inner": inner, "outer": outer}
    found = find_overlap(work + outer, timers)
    assert (found.nested, found.rivals) == (("inner",), 0)
    once = {"work": np.array([10.0]), "inner": np.array([2.0]), "outer": np.array([2.0])}
    assert find_overlap(np.array([12.0]), once).rivals == 1  # one iteration shows nothing of that


def test_timer_beside_others_in_part_is_told() -> None:
    """Half of a loader's time passes while others work: no subset fits, it is called overlapping and not nested."""
    rng = np.random.default_rng(2)
    train, loader = rng.normal(10, 1, 60), rng.normal(4, 1, 60)
    table = phase_table(train + 0.5 * loader, {"train": train, "loader": loader}, [Phase("train"), Phase("loader")])
    assert table.overlap.overlapping == ("loader",)
    assert table.overlap.nested == ()
    assert "loader run in part beside other timers" in table.warnings[0]
