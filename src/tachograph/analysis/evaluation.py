"""What evaluations cost: their iterations apart from the others, kind by kind, spread over training, by subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tachograph.analysis.engine import Engine, bound, engine_of
from tachograph.analysis.rates import ITERATION
from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence.breakdown import breakdown
from tachograph.evidence.excess import RunPair, excess_of
from tachograph.evidence.history import History
from tachograph.evidence.judging import judged
from tachograph.evidence.kinds import Kind, Rows, by_kind, largest_first
from tachograph.evidence.phases import PhaseError, evaluation_cost
from tachograph.evidence.throughput import retained
from tachograph.models.study import Projection
from tachograph.models.trainer import Evaluation, HistoryFile, Phase

Row = dict[str, Any]
NO_ROWS = np.array([], dtype=np.int64)


@dataclass(frozen=True)
class _Run:
    """One run: its rows with an evaluation by kind, and its plain rows, m >= 1."""

    history: History
    held: dict[Kind, Rows]
    plain: Rows


def evaluation(sealed: SealedStudy) -> dict[str, Any]:
    """``arms`` (see :func:`evaluation_of`) or, for an arm without any, a ``reason``; ``registered`` False without
    a declaration in the trainer file."""
    declared = sealed.trainer.history.evaluation
    if declared is None:
        return {"registered": False, "arms": {}, "reason": "the trainer file declares no evaluation"}
    network = network_phases(sealed.trainer.history)
    arms: dict[str, Row] = {}
    for arm in sealed.study.arms:
        histories = [run.history for run in sealed.of_arm(arm) if run.history is not None]
        found = judged(
            f"the evaluations of {arm}",
            lambda histories=histories: evaluation_of(  # type: ignore[misc]
                histories, declared, sealed.study.design.warmup, sealed.study.projection, network
            ),
        )
        arms[arm] = {"reason": found.reason} if found.result is None else found.result
    return {"registered": True, "arms": arms}


def network_phases(history: HistoryFile) -> list[Phase]:
    """The phases outside of evaluations that time the network's answers; parallel ones are no share of an iteration."""
    return [phase for phase in history.phases if phase.inference and not phase.parallel]


def evaluation_of(
    histories: Sequence[History],
    declared: Evaluation,
    warmup: int,
    projection: Projection | None,
    network: Sequence[Phase] = (),
) -> Row:
    """``kinds`` of evaluations of one arm's runs, the largest first, and ``engine``: see :func:`engine_of`.

    Each kind (``games`` at most, ``subjects`` with the games of each) is compared with the plain iterations of its own
    runs, all after ``warmup``. ``excess``: mean of its iterations minus the plain mean of their run, seconds, with its
    95 % interval; ``work_ratio`` is that of their work. ``told``: the interval lies above 0. ``checkpoints`` of these
    iterations wrote one, and ``saving`` says what became of that: see :func:`_without_saving`. ``timer``: the trainer's
    own timer, which may tell less, with the least and the most of it. ``by_excess`` and ``by_timer``: seconds per
    iteration at the observed interval (``every``, by ``every_from``) and at the registered ones; by the excess null
    unless it is told. Raises PhaseError if no run of the arm holds an evaluation, or none holds both.
    """
    if not histories:
        raise PhaseError("no run of the arm counts")
    rows_of = [_evaluation_rows(history, warmup) for history in histories]
    if not any(len(rows) for rows in rows_of):
        raise PhaseError("no iteration after the warm-up holds an evaluation and a duration that counts")
    runs = [
        _Run(history, by_kind(history, declared, rows), plain)
        for history, rows in zip(histories, rows_of, strict=True)
        if len(plain := retained(history, ITERATION, warmup).rows)
    ]
    kinds = largest_first([run.held for run in runs])
    if not kinds:
        raise PhaseError("no iteration without an evaluation has work and a duration that counts")
    every = {kind: _interval(histories, declared, kind) for kind in kinds}
    found = {kind: _cost(runs, declared, kind, *every[kind]) for kind in kinds}
    engine = engine_of(histories, warmup, list(found.values()), network)
    for kind, row in found.items():
        row["projected"] = [
            _spread_over(row, engine, games, interval, factor)
            for games, factor in _sizes(kinds, kind, projection)
            for interval in (projection.evaluation_every if projection else ())
        ]
        row |= _spread_over(row, engine, row["games"], row["every"], 1.0)
    return {"kinds": list(found.values()), "engine": asdict(engine)}


def _cost(runs: Sequence[_Run], declared: Evaluation, kind: Kind, every: float, every_from: str) -> Row:
    """One kind of evaluation against the plain iterations of the runs that hold it."""
    held = [run.held.get(kind, NO_ROWS) for run in runs]
    checkpoints = sum(int(run.history.is_checkpoint[rows].sum()) for run, rows in zip(runs, held, strict=True))
    compared, saving = _without_saving(runs, held) if checkpoints else (held, None)
    pairs = [
        RunPair(
            run.history.durations[ITERATION][rows] - _saved(run.history, rows),
            run.history.durations[ITERATION][run.plain],
        )
        for run, rows in zip(runs, compared, strict=True)
    ]
    own = np.concatenate(
        [run.history.columns[declared.seconds][rows] for run, rows in zip(runs, compared, strict=True)]
    )
    found = excess_of(pairs)
    timer = float(own.mean())
    half = found.half_width
    return {
        "games": kind.size,
        "subjects": dict(kind.games),
        "runs": sum(len(pair.held) > 0 for pair in pairs),
        "evaluations": len(own),
        "iterations": [int(i) for run, rows in zip(runs, compared, strict=True) for i in run.history.iteration[rows]],
        "checkpoints": checkpoints,
        "saving": saving,
        "plain_iterations": sum(len(pair.plain) for pair in pairs if len(pair.held)),
        "seconds": found.held,
        "plain_seconds": found.plain,
        "work_ratio": _work_ratio(runs, compared),
        "excess": found.excess,
        "excess_low": None if half is None else found.excess - half,
        "excess_high": None if half is None else found.excess + half,
        "told": half is not None and found.excess > half and saving != "inside",
        "timer": timer,
        "timer_low": float(own.min()),
        "timer_high": float(own.max()),
        "every": every,
        "every_from": every_from,
        "breakdown": _breakdown(runs, held, declared, kind, timer),
    }


def _work_ratio(runs: Sequence[_Run], compared: Sequence[Rows]) -> float | None:
    """Mean work of an iteration with an evaluation over that of a plain one of its own run; None where it is unknown.

    An excess compares seconds whatever the work: where it differs, the difference is in the excess.
    """
    held = sum(float(run.history.work[rows].sum()) for run, rows in zip(runs, compared, strict=True))
    plain = sum(len(rows) * float(run.history.work[run.plain].mean()) for run, rows in zip(runs, compared, strict=True))
    return held / plain if np.isfinite(held) and plain > 0 else None


def _without_saving(runs: Sequence[_Run], held: Sequence[Rows]) -> tuple[Sequence[Rows], str]:
    """The evaluation iterations to compare, as plain ones wrote no checkpoint, and what became of its time.

    ``"timer"``: its own timer is taken out of them. Without one, those that wrote a checkpoint are ``"left out"``, or,
    where all did, its time stays ``"inside"`` the excess, which then tells nothing of an evaluation.
    """
    if all(_saving_timer(run.history) for run in runs):
        return held, "timer"
    others = [rows[~run.history.is_checkpoint[rows]] for run, rows in zip(runs, held, strict=True)]
    return (others, "left out") if any(len(rows) for rows in others) else (held, "inside")


def _saving_timer(history: History) -> str | None:
    """The duration, if any, whose column is the one that tells a checkpoint."""
    column = history.spec.checkpoint
    timers = history.spec.durations.items()
    return next((name for name, one in timers if column is not None and one.column == column), None)


def _saved(history: History, rows: Rows) -> Any:
    """Seconds that the checkpoints of ``rows`` took by their own timer, shape (n,); 0 without one."""
    name = _saving_timer(history)
    return np.zeros(len(rows)) if name is None else np.nan_to_num(history.durations[name][rows])


def _interval(histories: Sequence[History], declared: Evaluation, kind: Kind) -> tuple[float, str]:
    """Iterations from one evaluation of a kind to the next: the mean of the ``"steps"`` between them, or by
    ``"count"``, rows per evaluation, where no run holds two. The mean, as a light one may give way to a full one."""
    rows = [by_kind(one, declared, np.flatnonzero(one.is_evaluation)).get(kind, NO_ROWS) for one in histories]
    steps = np.concatenate([np.diff(np.unique(one.iteration[at])) for one, at in zip(histories, rows, strict=True)])
    if len(steps):
        mean = float(steps.mean())
        return int(mean) if mean.is_integer() else mean, "steps"
    return max(1, round(sum(map(len, histories)) / sum(map(len, rows)))), "count"


def _evaluation_rows(history: History, warmup: int) -> Rows:
    """Rows with an evaluation whose durations are like those of plain rows: no compilation, no start of a session."""
    usable = history.is_evaluation & history.clock_ok & np.isfinite(history.durations[ITERATION])
    usable &= ~(history.is_compile | history.resumed_first)
    return np.flatnonzero(usable & (np.arange(len(history)) >= warmup))


def _sizes(kinds: Sequence[Kind], kind: Kind, projection: Projection | None) -> list[tuple[int | None, float]]:
    """Numbers of games to tell the cost of from ``kind``, and how many times its own each is.

    A registered number is told from the largest kind that has it, or else in proportion from the largest of all, of
    which the first number is taken to be the size where no column says it. Without registered ones each kind is
    spread as it was run.
    """
    registered = projection.evaluation_games if projection else []
    if not registered:
        return [(kind.size, 1.0)]
    found: list[tuple[int | None, float]] = []
    for number in registered:
        if kind == next((one for one in kinds if one.size == number), kinds[0]):
            found.append((number, number / (kind.size or registered[0])))
    return found


def _spread_over(row: Row, engine: Engine, games: int | None, every: float, factor: float) -> Row:
    """Seconds per iteration of evaluations with ``factor`` times the games (taken to cost in proportion), and
    ``engine_ceiling``: such an iteration would become this many times faster if the network took no time."""
    by_excess = evaluation_cost(row["excess"], every, factor) if row["told"] else None
    by_timer = evaluation_cost(row["timer"], every, factor)
    saved = row["breakdown"] and row["breakdown"]["saved"]
    network = None if saved is None else evaluation_cost(saved, every, factor) + (engine.elsewhere or 0.0)
    whole = engine.plain_seconds + (by_timer if by_excess is None else by_excess)
    return {
        "games": games,
        "every": every,
        "by_excess": by_excess,
        "by_timer": by_timer,
        "engine_ceiling": bound(whole, network),
    }


def _breakdown(
    runs: Sequence[_Run], held: Sequence[Rows], declared: Evaluation, kind: Kind, timer: float
) -> Row | None:
    if not kind.games or declared.elapsed is None:
        return None
    subjects = [subject for subject, _ in kind.games]
    columns = {
        (subject, name): np.concatenate(
            [run.history.columns[declared.column_of(subject, name)][rows] for run, rows in zip(runs, held, strict=True)]
        )
        for subject in subjects
        for name in (declared.elapsed, *declared.timers)
    }
    found = breakdown(
        columns, subjects, declared.elapsed, declared.timers, declared.inference, declared.parallel, timer
    )
    if found is None:
        return None
    values = asdict(found)
    return {**values, "ceiling": None if found.ceiling == float("inf") else found.ceiling}
