"""A candidate that was measured by training runs in turn with those of its arm: from histories to figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tachograph.analysis.measured import Measured, OnceOnly, pair_rows
from tachograph.analysis.rates import ITERATION
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.analysis.verdicts import judge_lines
from tachograph.evidence.columns import Missing
from tachograph.evidence.cost import OneOff, break_even
from tachograph.evidence.curves import RunCurve, align
from tachograph.evidence.history import History, read_history
from tachograph.evidence.interval import Factor, paired_log_t
from tachograph.evidence.judging import judged
from tachograph.evidence.randomness import generator
from tachograph.evidence.throughput import ThroughputError, rate, retained
from tachograph.evidence.verdicts import CurveVerdict, ParityVerdict
from tachograph.execution.judging import history_spec
from tachograph.execution.turns import BASE, CANDIDATE, NOT_FINITE
from tachograph.study.reach import alpha_of
from tachograph.study.registration import current

DROPPED = 1  # the first iteration of every run compiles, allocates and fills caches


@dataclass(frozen=True)
class Turn:
    """One run: ``history`` None where the candidate's run ended with a number that was not finite."""

    side: str
    pair: int
    seed: int
    wall_seconds: float
    history: History | None


def read_turns(sealed: SealedStudy, run: SealedRun) -> Measured | str:
    """What the runs in turn show, or why there were none.

    Raises TachographError for a file that is not as it was sealed or gives no rate.
    """
    content = run.content()
    if not content["available"]:
        return str(content["reason"])
    turns = [_turn(sealed, run, one) for one in content["runs"]]
    whole = [turn for turn in turns if turn.history is not None]
    quantity = _quantity(sealed, run)
    factor = judged("the factor", lambda: _factor(sealed, whole, quantity))
    own = [turn for turn in turns if turn.side == CANDIDATE]
    curves, sentence = _curves(sealed, run, whole)
    return Measured(
        part=quantity.duration,
        unit=quantity.unit,
        pairs=pair_rows(*(quantity.rates(whole, side) for side in (BASE, CANDIDATE))) if factor.result else [],
        factor=factor,
        steps=run.planned.amount * len(own),
        step_unit="iterations",
        nonfinite_steps=sum(_bad_iterations(sealed, turn) for turn in own),
        parity=ParityVerdict.NOT_REGISTERED,
        parity_sentence="whole runs were compared, no outputs with float64",
        curves=curves,
        curves_sentence=sentence,
        once=_once(whole),
    )


@dataclass(frozen=True)
class Quantity:
    """What is compared: ``unit`` of ``duration``, work over seconds if ``per_work``, else times over seconds."""

    duration: str
    unit: str
    per_work: bool

    def rates(self, turns: list[Turn], side: str) -> list[float]:
        """One rate for each run of ``side`` whose pair is whole, in the order of the pairs.

        Raises ThroughputError where a run gives none.
        """
        pairs = _complete_pairs(turns)
        chosen = sorted((one for one in turns if one.side == side and one.pair in pairs), key=lambda one: one.pair)
        return [self._rate(turn.history) for turn in chosen if turn.history is not None]

    def _rate(self, history: History) -> float:
        window = f"after the first of {len(history)} iterations"
        if self.per_work:
            rows = retained(history, self.duration, DROPPED).rows
            return rate(history, self.duration, rows, window).value
        seconds = history.durations[self.duration]
        taken = seconds[history.clock_ok & (seconds > 0)][DROPPED:]
        if not len(taken):
            raise ThroughputError(f"{self.duration} takes time in fewer than {DROPPED + 1} iterations of a run")
        return float(len(taken) / taken.sum())


def _quantity(sealed: SealedStudy, run: SealedRun) -> Quantity:
    """Iteration and stage at equal work; another phase, such as an evaluation, by how often it happened."""
    history, named = sealed.trainer.history, sealed.study.candidates[run.planned.arm].quantity
    duration = history.stage.name if named == "stage" else named or ITERATION
    if duration in (ITERATION, history.stage.name):
        return Quantity(duration, f"{history.work.unit}/s", per_work=True)
    return Quantity(duration, "times/s", per_work=False)


def _turn(sealed: SealedStudy, run: SealedRun, one: dict[str, Any]) -> Turn:
    history = None
    if one["ended"] != NOT_FINITE:
        history = read_history(run.evidence(one["history"]), history_spec(sealed.trainer.history))
    return Turn(one["side"], one["pair"], one["seed"], one["wall_seconds"], history)


def _complete_pairs(turns: list[Turn]) -> list[int]:
    sides: dict[int, set[str]] = {}
    for turn in turns:
        sides.setdefault(turn.pair, set()).add(turn.side)
    return [pair for pair, there in sides.items() if len(there) == 2]


def _factor(sealed: SealedStudy, turns: list[Turn], quantity: Quantity) -> Factor:
    base, candidate = (quantity.rates(turns, side) for side in (BASE, CANDIDATE))
    return paired_log_t(base, candidate, 1 - alpha_of(sealed.study))


def _bad_iterations(sealed: SealedStudy, turn: Turn) -> int:
    """Iterations with a registered metric that is not finite; the one at which a run gave up counts as one."""
    if turn.history is None:
        return 1
    rows = turn.history.curve_rows
    bad = np.zeros(len(rows), dtype=bool)
    for metric in sealed.trainer.history.metrics:
        bad |= turn.history.missing[metric][rows] != Missing.PRESENT
    return int(bad.sum())


def _curves(sealed: SealedStudy, run: SealedRun, turns: list[Turn]) -> tuple[CurveVerdict, str]:
    """Whether the registered curves match over the short runs: pairs of runs with the same seed."""
    columns = [metric.column for metric in sealed.study.curves]
    if not columns:
        return CurveVerdict.NO_VERDICT, "no curve is registered with a margin"
    absent = _in_no_run(sealed, turns, columns)
    found = judged(
        "the curves", lambda: _judged_curves(sealed, run, turns, [one for one in columns if one not in absent])
    )
    if found.result is None:
        return CurveVerdict.NO_VERDICT, found.reason or "unknown"
    without = f"; without {', '.join(absent)}, which these runs were too short for" if absent else ""
    return CurveVerdict(found.result["verdict"]), found.result["sentence"] + without


def _in_no_run(sealed: SealedStudy, turns: list[Turn], columns: list[str]) -> list[str]:
    """Columns that rows may lack, such as scores of an evaluation, and that no row of these short runs has."""
    histories = [turn.history for turn in turns if turn.history is not None]
    sparse = [column for column in columns if column in sealed.trainer.history.sparse_metrics]
    return [column for column in sparse if not any(np.isfinite(one.curve(column)).any() for one in histories)]


def _judged_curves(sealed: SealedStudy, run: SealedRun, turns: list[Turn], columns: list[str]) -> dict[str, Any]:
    pairs = _complete_pairs(turns)
    lines: dict[str, list[RunCurve]] = {BASE: [], CANDIDATE: []}
    for turn in turns:
        if turn.pair in pairs and turn.history is not None:
            values = {column: turn.history.curve(column) for column in columns}
            iteration = turn.history.iteration[turn.history.curve_rows]
            lines[turn.side].append(RunCurve(f"{turn.side} {turn.pair + 1}", turn.seed, iteration, values))
    aligned = align(lines[BASE], lines[CANDIDATE], columns, paired=True, sparse=sealed.trainer.history.sparse_metrics)
    rng = generator(current(sealed.registration)["sha256"], f"candidate {run.planned.arm}")
    return judge_lines(sealed, aligned, rng)


def _once(turns: list[Turn]) -> OnceOnly | None:
    """What a run takes beyond its typical iterations, process start and first iteration included."""
    costs: dict[str, list[OneOff]] = {BASE: [], CANDIDATE: []}
    for turn in turns:
        assert turn.history is not None
        seconds = turn.history.durations[ITERATION]
        typical = float(np.median(seconds[DROPPED:]))
        costs[turn.side].append(OneOff(turn.wall_seconds - typical * len(seconds), typical, DROPPED))
    if not costs[BASE] or not costs[CANDIDATE]:
        return None
    base = _middle(costs[BASE])
    first, later = costs[CANDIDATE][0].seconds, [one.seconds for one in costs[CANDIDATE][1:]]
    own = OneOff(first, _middle(costs[CANDIDATE]).typical, DROPPED)
    middle = float(np.median(later)) if later else None
    return OnceOnly(first, middle, base.seconds, break_even(base, own), "iterations")


def _middle(costs: list[OneOff]) -> OneOff:
    """The medians over several runs."""
    seconds = float(np.median([one.seconds for one in costs]))
    return OneOff(seconds, float(np.median([one.typical for one in costs])), DROPPED)
