"""A candidate that was measured by training runs in turn with those of its arm: from histories to figures."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachograph.analysis.measured import Measured, OnceOnly, pair_rows
from tachograph.analysis.rates import ITERATION
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.analysis.verdicts import judge_lines
from tachograph.evidence.columns import Missing
from tachograph.evidence.cost import break_even
from tachograph.evidence.curves import RunCurve, align
from tachograph.evidence.history import History, read_history
from tachograph.evidence.interval import Factor, paired_log_t
from tachograph.evidence.judging import judged
from tachograph.evidence.parity import judge_parity
from tachograph.evidence.randomness import generator
from tachograph.evidence.throughput import ThroughputError, rate, retained
from tachograph.evidence.verdicts import CurveVerdict, ParityVerdict
from tachograph.execution.judging import history_spec
from tachograph.execution.turns import BASE, CANDIDATE, NOT_FINITE
from tachograph.files import read_json
from tachograph.study.reach import alpha_of
from tachograph.study.registration import current
from tachograph.wording import counted

Floats = NDArray[np.float64]

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
    quantity, iteration = _quantity(sealed, run), _of_iterations(sealed)
    factor = judged("the factor", lambda: _factor(sealed, whole, quantity))
    own = [turn for turn in turns if turn.side == CANDIDATE]
    curves, sentence = _curves(sealed, run, whole)
    parity, numerics, tensors = _parity(sealed, run, content.get("parity"))
    return Measured(
        part=quantity.name,
        unit=quantity.unit,
        pairs=pair_rows(*(quantity.rates(whole, side) for side in (BASE, CANDIDATE))) if factor.result else [],
        factor=factor,
        steps=run.planned.amount * len(own),
        step_unit="iterations",
        nonfinite_steps=sum(_bad_iterations(sealed, turn) for turn in own),
        base_nonfinite_steps=sum(_bad_iterations(sealed, turn) for turn in turns if turn.side == BASE),
        parity=parity,
        parity_sentence=numerics,
        tensors=tensors,
        curves=curves,
        curves_sentence=sentence,
        once=_once(whole, quantity, factor.result),
        work=_work(whole),
        work_unit=sealed.trainer.history.work.unit,
        iteration=None if quantity == iteration else judged("it", lambda: _factor(sealed, whole, iteration)),
    )


@dataclass(frozen=True)
class Quantity:
    """What is compared: ``unit`` of the ``durations``, work over seconds if ``per_work``, else times over seconds."""

    durations: tuple[str, ...]
    unit: str
    per_work: bool

    @property
    def name(self) -> str:
        return " + ".join(self.durations)

    def rates(self, turns: list[Turn], side: str) -> list[float]:
        """One rate for each run of ``side`` whose pair is whole, in the order of the pairs.

        Raises ThroughputError where a run gives none.
        """
        pairs = _complete_pairs(turns)
        chosen = sorted((one for one in turns if one.side == side and one.pair in pairs), key=lambda one: one.pair)
        return [self._rate(turn.history) for turn in chosen if turn.history is not None]

    def _rate(self, history: History) -> float:
        window = f"after the first of {counted(len(history), 'iteration')}"
        if self.per_work:
            (duration,) = self.durations
            return rate(history, duration, retained(history, duration, DROPPED).rows, window).value
        taken = self._times(history)
        if not len(taken):
            raise ThroughputError(f"{self.name} takes time in fewer than {DROPPED + 1} iterations of a run")
        return float(len(taken) / taken.sum())

    def _times(self, history: History) -> Floats:
        """Seconds of each time after the first that it took any."""
        seconds = np.sum([history.durations[name] for name in self.durations], axis=0)
        taken: Floats = seconds[history.clock_ok & (seconds > 0)][DROPPED:]
        return taken

    def seconds_per_iteration(self, history: History) -> float:
        """Mean seconds of it in an iteration after the first. Raises ThroughputError where there is none."""
        if not self.per_work:
            return float(self._times(history).sum() / (len(history) - DROPPED))
        (duration,) = self.durations
        return float(history.durations[duration][retained(history, duration, DROPPED).rows].mean())


def _of_iterations(sealed: SealedStudy) -> Quantity:
    return Quantity((ITERATION,), f"{sealed.trainer.history.work.unit}/s", per_work=True)


def _quantity(sealed: SealedStudy, run: SealedRun) -> Quantity:
    """Iteration and stage at equal work; other phases, such as an evaluation, by how often they happened."""
    history, named = sealed.trainer.history, sealed.study.candidates[run.planned.arm].quantities
    durations = tuple(history.stage.name if one == "stage" else one for one in named)
    if durations in ((ITERATION,), (history.stage.name,)):
        return Quantity(durations, f"{history.work.unit}/s", per_work=True)
    return Quantity(durations, "times/s", per_work=False)


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


def _parity(sealed: SealedStudy, run: SealedRun, name: str | None) -> tuple[ParityVerdict, str, list[dict[str, Any]]]:
    """What the candidate computes against float64, held to the error of its arm; verdict, sentence, tensors."""
    trial = run.planned.trial
    if name is None or trial is None or trial.parity_name is None:
        return ParityVerdict.NOT_REGISTERED, "whole runs were compared, no outputs with float64", []
    document, study = read_json(run.evidence(name)), sealed.study
    registered = study.parity is not None and trial.against == study.design.reference
    bounds = study.parity.reference_bounds if registered and study.parity is not None else None
    found = judged("parity", lambda: judge_parity(document, f"{run.attempt.folder}/{name}", trial.against, bounds))
    if found.result is None:
        return ParityVerdict.NO_VERDICT, found.reason or "unknown", []
    tensors = [asdict(tensor) for tensor in found.result.tensors]
    return found.result.verdicts[trial.parity_name], found.result.reasons[trial.parity_name], tensors


def _work(turns: list[Turn]) -> dict[str, float] | None:
    """Mean work of an iteration on either side, of the iterations that can give a rate; None where there is none."""
    found: dict[str, float] = {}
    for side in (BASE, CANDIDATE):
        histories = [turn.history for turn in turns if turn.side == side and turn.history is not None]
        work = [history.work[retained(history, ITERATION, DROPPED).rows] for history in histories]
        if not sum(map(len, work)):
            return None
        found[side] = float(np.concatenate(work).mean())
    return found


def _once(turns: list[Turn], quantity: Quantity, factor: Factor | None) -> OnceOnly | None:
    """What a run takes beyond its iterations and a typical first one: process start, compilation, filled caches.

    None where no run of a side has an iteration that can be typical.
    """
    costs: dict[str, list[float]] = {BASE: [], CANDIDATE: []}
    typical: list[float] = []
    for turn in turns:
        assert turn.history is not None
        seconds, rows = turn.history.durations[ITERATION], retained(turn.history, ITERATION, DROPPED).rows
        if not len(rows):
            continue
        later = float(seconds[DROPPED:].sum()) + DROPPED * float(seconds[rows].mean())
        costs[turn.side].append(turn.wall_seconds - later)
        if turn.side == BASE:
            typical.append(quantity.seconds_per_iteration(turn.history))
    if not costs[BASE] or not costs[CANDIDATE]:
        return None
    base, (first, *others) = float(np.median(costs[BASE])), costs[CANDIDATE]
    later_runs = float(np.median(others)) if others else None
    ahead = break_even(first - base, float(np.mean(typical)), factor)
    return OnceOnly(first, later_runs, base, ahead, "iterations")
