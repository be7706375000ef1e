"""The phase table of a run: where the time of an iteration goes, by the trainer's own timers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.overlap import CLOSURE, Overlap, find_overlap

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Phase:
    """A timer as the trainer file declares it. ``parent``: the timer that contains this one.

    ``parallel``: several of these run at the same time (one per opponent), so they are never summed.
    """

    name: str
    parent: str | None = None
    parallel: bool = False


@dataclass(frozen=True)
class PhaseRow:
    """Mean seconds per iteration and share of it. ``nested``: declared, or found from the sums."""

    name: str
    seconds: float
    share: float
    parent: str | None
    nested: bool
    overlapping: bool


@dataclass(frozen=True)
class Evaluation:
    """Cost of evaluations. ``excess``: mean evaluation iteration minus mean other iteration, seconds.

    ``timer``: the trainer's own evaluation timer, None without one; the excess may well be larger.
    ``amortised`` = excess / ``every``, ``amortised_timer`` = timer / every.
    """

    iterations: int
    excess: float
    timer: float | None
    every: int
    amortised: float
    amortised_timer: float | None


@dataclass(frozen=True)
class PhaseTable:
    """``total`` mean seconds of an iteration without evaluation, over ``iterations`` of them.

    ``overlap`` describes the sum of the undeclared top-level timers. ``warnings`` are sentences.
    """

    total: float
    iterations: int
    rows: tuple[PhaseRow, ...]
    overlap: Overlap
    evaluation: Evaluation | None
    warnings: tuple[str, ...]


def phase_table(
    total: Floats,
    timers: Mapping[str, Floats],
    phases: Sequence[Phase],
    is_evaluation: NDArray[np.bool_],
    evaluation_timer: Floats | None = None,
    every: int | None = None,
) -> PhaseTable:
    """Summarise one run's timers, shapes (n,), over its iterations without evaluation.

    Parallel timers must be declared; nested ones are found when nobody declared them. ``every``: iterations
    per evaluation as configured, by default as observed. Raises ValueError without such iterations.
    """
    plain = ~is_evaluation
    if not plain.any():
        raise ValueError("every iteration holds an evaluation: no phase table")
    mean = float(total[plain].mean())
    top = {p.name: np.nan_to_num(timers[p.name][plain]) for p in phases if not p.parent and not p.parallel}
    overlap = find_overlap(total[plain], top)
    rows = []
    for phase in phases:
        seconds = float(np.nan_to_num(timers[phase.name][plain]).mean())
        nested = phase.parent is not None or phase.name in overlap.nested
        rows.append(PhaseRow(phase.name, seconds, seconds / mean, phase.parent, nested, phase.parallel))
    rows.sort(key=lambda row: -row.seconds)
    evaluation = None
    if is_evaluation.any():
        evaluation = _evaluation(total, is_evaluation, evaluation_timer, every)
    return PhaseTable(
        mean, int(plain.sum()), tuple(rows), overlap, evaluation, tuple(_warnings(overlap, len(top)))
    )


def _warnings(overlap: Overlap, timers: int) -> list[str]:
    if timers == 0 or overlap.closed:
        return []
    if overlap.share < 1 - CLOSURE:
        return [f"the timers cover {overlap.share:.1%} of the iteration"]
    sentence = f"the timers sum to {overlap.share:.1%} of the iteration, {overlap.excess:.2f} s too much"
    if overlap.nested:
        sentence += f": {', '.join(overlap.nested)} must lie inside other timers"
    return [sentence]


def _evaluation(
    total: Floats, is_evaluation: NDArray[np.bool_], timer: Floats | None, every: int | None
) -> Evaluation:
    count = int(is_evaluation.sum())
    excess = float(total[is_evaluation].mean() - total[~is_evaluation].mean())
    own = None if timer is None else float(timer[is_evaluation].mean())
    period = every if every is not None else round(len(total) / count)
    return Evaluation(count, excess, own, period, excess / period, None if own is None else own / period)


def evaluation_cost(seconds: float, every: int, games: float = 1.0) -> float:
    """Seconds per iteration if an evaluation of ``seconds`` runs every ``every`` iterations.

    ``games``: how many times more games it plays; a projection that assumes cost in proportion.
    """
    return seconds * games / every


def projected_hours(seconds_per_iteration: float, iterations: int) -> float:
    """Hours that ``iterations`` take at this mean."""
    return seconds_per_iteration * iterations / 3600
