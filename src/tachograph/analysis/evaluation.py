"""What evaluations cost: their iterations apart from the others, spread over training, and subject by subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tachograph.analysis.rates import ITERATION
from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence.breakdown import breakdown
from tachograph.evidence.excess import RunPair, excess_of
from tachograph.evidence.history import History
from tachograph.evidence.judging import judged
from tachograph.evidence.phases import PhaseError, evaluation_cost, projected_hours
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
    """Evaluation iterations of one arm's runs, each against the plain ones of its own run, both after ``warmup``.

    ``excess``: mean of evaluation iterations minus the plain mean of their run, seconds, with its 95 % interval;
    ``checkpoints`` of the evaluation iterations wrote one, which is in the excess. ``told``: the interval lies above 0.
    ``timer``: the trainer's own timer, which may tell less, with the least and the most of it. ``by_excess`` and
    ``by_timer``: seconds per iteration at the observed interval (``every``, by ``every_from``) and at the registered
    ones, in proportion to the number of games; by the excess null unless it is told. Raises PhaseError if no run of
    the arm holds an evaluation, or none holds both.
    """
    if not histories:
        raise PhaseError("no run of the arm counts")
    if not any(len(_evaluation_rows(history, warmup)) for history in histories):
        raise PhaseError("no iteration after the warm-up holds an evaluation and a duration that counts")
    compared = [one for one in histories if len(retained(one, ITERATION, warmup).rows)]
    held_at = [_evaluation_rows(history, warmup) for history in compared]
    if not any(len(rows) for rows in held_at):
        raise PhaseError("no iteration without an evaluation has work and a duration that counts")
    pairs = [
        RunPair(one.durations[ITERATION][rows], one.durations[ITERATION][retained(one, ITERATION, warmup).rows])
        for one, rows in zip(compared, held_at, strict=True)
    ]
    own = np.concatenate([one.columns[declared.seconds][rows] for one, rows in zip(compared, held_at, strict=True)])
    found = excess_of(pairs)
    timer = float(own.mean())
    told = found.half_width is not None and found.excess > found.half_width
    every, every_from = _interval(histories)
    shown = found.excess if told else None
    return {
        "runs": sum(len(pair.held) > 0 for pair in pairs),
        "evaluations": len(own),
        "iterations": [int(i) for one, rows in zip(compared, held_at, strict=True) for i in one.iteration[rows]],
        "checkpoints": sum(int(one.is_checkpoint[rows].sum()) for one, rows in zip(compared, held_at, strict=True)),
        "plain_iterations": sum(len(pair.plain) for pair in pairs if len(pair.held)),
        "seconds": found.held,
        "plain_seconds": found.plain,
        "excess": found.excess,
        "excess_low": None if found.half_width is None else found.excess - found.half_width,
        "excess_high": None if found.half_width is None else found.excess + found.half_width,
        "told": told,
        "timer": timer,
        "timer_low": float(own.min()),
        "timer_high": float(own.max()),
        "every": every,
        "every_from": every_from,
        "by_excess": _spread_over(shown, every),
        "by_timer": evaluation_cost(timer, every),
        "projected": _projected(shown, timer, projection),
        "breakdown": _breakdown(histories, declared, warmup, timer),
    }


def _interval(histories: Sequence[History]) -> tuple[int, str]:
    """Iterations from one evaluation to the next: the median of the ``"steps"`` between them, or by ``"count"``, rows
    per evaluation, where no run holds two."""
    steps = np.concatenate([np.diff(np.unique(one.iteration[one.is_evaluation])) for one in histories])
    if len(steps):
        return int(np.median(steps)), "steps"
    rows, held = sum(len(one) for one in histories), sum(int(one.is_evaluation.sum()) for one in histories)
    return max(1, round(rows / held)), "count"


def _evaluation_rows(history: History, warmup: int) -> Any:
    usable = history.is_evaluation & history.clock_ok & np.isfinite(history.durations[ITERATION])
    return np.flatnonzero(usable & (np.arange(len(history)) >= warmup))


def _spread_over(seconds: float | None, every: int, games: float = 1.0) -> float | None:
    return None if seconds is None else evaluation_cost(seconds, every, games)


def _projected(excess: float | None, timer: float, projection: Projection | None) -> list[Row]:
    """Seconds per iteration at other intervals and numbers of games; more games are taken to cost in proportion."""
    if projection is None:
        return []
    games: list[int | None] = list(projection.evaluation_games) or [None]
    rows = []
    for number in games:
        more = 1.0 if number is None else number / (games[0] or 1)
        for every in projection.evaluation_every:
            by_excess, by_timer = _spread_over(excess, every, more), evaluation_cost(timer, every, more)
            rows.append({"games": number, "every": every, "by_excess": by_excess, "by_timer": by_timer})
    return rows


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
    """Hours that the registered number of iterations would take in each arm, without and with evaluations.

    One row per arm and ``every``: iterations from one evaluation to the next as registered, or else as observed; null:
    none. ``seconds``: mean iteration of all runs, its share of the evaluation included; ``_low`` and ``_high``: were
    every iteration like the mean one of the fastest and of the slowest run. ``evaluation_by``: whether evaluations
    count by their excess or by the trainer's own timer, which stands in for all arms where that of one cannot be told.
    """
    registered = sealed.study.projection
    if registered is None:
        return {"registered": False, "rows": []}
    with_some = [one for one in evaluations["arms"].values() if "excess" in one]
    by = "excess" if all(one["told"] for one in with_some) else "timer"
    rows = []
    for arm, table in phases["arms"].items():
        found = evaluations["arms"].get(arm, {})
        held = "excess" in found
        known: list[int | None] = [None]
        if held:
            known += registered.evaluation_every or [found["every"]]
        means = _run_means(sealed, arm)
        for every in known:
            more = 0.0 if every is None else evaluation_cost(found[by], every)
            row: Row = {"arm": arm, "runs": len(means), "every": every, "evaluation_by": by if every else None}
            for key, plain in (("", table["seconds"]), ("_low", min(means)), ("_high", max(means))):
                row[f"seconds{key}"] = plain + more
                row[f"hours{key}"] = projected_hours(plain + more, registered.iterations)
            rows.append({**row, "checkpoints": table["checkpoints"]})
    return {"registered": True, "iterations": registered.iterations, "rows": rows}


def _run_means(sealed: SealedStudy, arm: str) -> list[float]:
    """Mean seconds of a plain iteration, those with a checkpoint included, run by run."""
    found = []
    for run in sealed.of_arm(arm):
        if run.history is not None:
            rows = retained(run.history, ITERATION, sealed.study.design.warmup, checkpoints=True).rows
            if len(rows):
                found.append(float(run.history.durations[ITERATION][rows].mean()))
    return found
