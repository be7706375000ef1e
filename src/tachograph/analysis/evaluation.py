"""What evaluations cost: their iterations apart from the others, spread over training, and subject by subject."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tachograph.analysis.rates import ITERATION
from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence.breakdown import breakdown
from tachograph.evidence.history import Floats, History
from tachograph.evidence.judging import judged
from tachograph.evidence.phases import evaluation_cost, projected_hours
from tachograph.evidence.throughput import retained
from tachograph.models.study import Projection
from tachograph.models.trainer import Evaluation

Row = dict[str, Any]


def evaluation(sealed: SealedStudy) -> dict[str, Any]:
    """``arms`` (see :func:`evaluation_of`) or, for an arm without any, a ``reason``; ``registered`` False without
    a declaration in the trainer file."""
    declared = sealed.trainer.history.evaluation
    if declared is None:
        return {"registered": False, "arms": {}, "reason": "the trainer file declares no evaluation"}
    arms: dict[str, Row] = {}
    for arm in sealed.study.arms:
        histories = [run.history for run in sealed.of_arm(arm) if run.history is not None]
        found = judged(
            f"the evaluations of {arm}",
            lambda histories=histories: evaluation_of(  # type: ignore[misc]
                histories, declared, sealed.study.design.warmup, sealed.study.projection
            ),
        )
        arms[arm] = {"reason": found.reason} if found.result is None else found.result
    return {"registered": True, "arms": arms}


def evaluation_of(
    histories: Sequence[History], declared: Evaluation, warmup: int, projection: Projection | None
) -> Row:
    """Evaluation iterations of one arm's runs against its plain ones, both after ``warmup``.

    ``excess``: mean evaluation iteration minus mean plain one, seconds, ``excess_error`` its standard error; ``timer``
    the trainer's own timer, which may tell less. ``amortised``: seconds per iteration at the observed interval and at
    the registered ones, in proportion to the number of games. Raises ValueError if no run of the arm holds an
    evaluation, or holds nothing else.
    """
    plain, held, timers = [], [], []
    for history in histories:
        durations = history.durations[ITERATION]
        plain.append(durations[retained(history, ITERATION, warmup).rows])
        rows = _evaluation_rows(history, warmup)
        held.append(durations[rows])
        timers.append(history.columns[declared.seconds][rows])
    without, during = np.concatenate(plain), np.concatenate(held)
    if not len(during):
        raise ValueError("no iteration after the warm-up holds an evaluation")
    if not len(without):
        raise ValueError("every iteration holds an evaluation")
    excess = float(during.mean() - without.mean())
    timer = float(np.concatenate(timers).mean())
    every = _interval(histories)
    return {
        "evaluations": len(during),
        "iterations": [
            int(one) for history in histories for one in history.iteration[_evaluation_rows(history, warmup)]
        ],
        "plain_iterations": len(without),
        "seconds": float(during.mean()),
        "plain_seconds": float(without.mean()),
        "excess": excess,
        "excess_error": _standard_error(during, without),
        "timer": timer,
        "every": every,
        "amortised": evaluation_cost(excess, every),
        "amortised_timer": evaluation_cost(timer, every),
        "projected": _projected(excess, timer, projection),
        "breakdown": _breakdown(histories, declared, warmup, timer),
    }


def _standard_error(during: Floats, without: Floats) -> float | None:
    """Of the difference of the means; a single evaluation is taken to vary like the plain iterations. None from one
    plain iteration."""
    if len(without) < 2:
        return None
    plain = float(without.var(ddof=1))
    held = float(during.var(ddof=1)) if len(during) > 1 else plain
    return math.sqrt(held / len(during) + plain / len(without))


def _interval(histories: Sequence[History]) -> int:
    """Iterations from one evaluation to the next: the median, or rows per evaluation where no run holds two."""
    steps = np.concatenate([np.diff(np.unique(one.iteration[one.is_evaluation])) for one in histories])
    if len(steps):
        return int(np.median(steps))
    rows, held = sum(len(one) for one in histories), sum(int(one.is_evaluation.sum()) for one in histories)
    return max(1, round(rows / held))


def _evaluation_rows(history: History, warmup: int) -> Any:
    usable = history.is_evaluation & history.clock_ok & np.isfinite(history.durations[ITERATION])
    return np.flatnonzero(usable & (np.arange(len(history)) >= warmup))


def _projected(excess: float, timer: float, projection: Projection | None) -> list[Row]:
    """Seconds per iteration at other intervals and numbers of games; more games are taken to cost in proportion."""
    if projection is None:
        return []
    games: list[int | None] = list(projection.evaluation_games) or [None]
    return [
        {
            "games": number,
            "every": every,
            "amortised": evaluation_cost(excess, every, 1.0 if number is None else number / (games[0] or 1)),
            "amortised_timer": evaluation_cost(timer, every, 1.0 if number is None else number / (games[0] or 1)),
        }
        for number in games
        for every in projection.evaluation_every
    ]


def _breakdown(histories: Sequence[History], declared: Evaluation, warmup: int, timer: float) -> Row | None:
    if not declared.subjects or declared.elapsed is None:
        return None
    columns = {
        (subject, name): np.concatenate(
            [
                history.columns[declared.column_of(subject, name)][_evaluation_rows(history, warmup)]
                for history in histories
            ]
        )
        for subject in declared.subjects
        for name in (declared.elapsed, *declared.timers)
    }
    found = breakdown(
        columns, declared.subjects, declared.elapsed, declared.timers, declared.inference, declared.parallel, timer
    )
    if found is None:
        return None
    values = asdict(found)
    return {**values, "ceiling": None if found.ceiling == float("inf") else found.ceiling}


def projection(sealed: SealedStudy, phases: dict[str, Any], evaluations: dict[str, Any]) -> dict[str, Any]:
    """Hours that the registered number of iterations would take in each arm, without and with its evaluations."""
    registered = sealed.study.projection
    if registered is None:
        return {"registered": False, "arms": []}
    rows = []
    for arm, table in phases["arms"].items():
        own = evaluations["arms"].get(arm, {})
        with_evaluations = table["seconds"] + own["amortised"] if "amortised" in own else None
        rows.append(
            {
                "arm": arm,
                "seconds": table["seconds"],
                "hours": projected_hours(table["seconds"], registered.iterations),
                "hours_with_evaluations": None
                if with_evaluations is None
                else projected_hours(with_evaluations, registered.iterations),
            }
        )
    return {"registered": True, "iterations": registered.iterations, "arms": rows}
