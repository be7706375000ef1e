"""The phase table of a run: where the time of an iteration goes, by the trainer's own timers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.errors import TachographError
from tachograph.evidence.overlap import CLOSURE, Overlap, beyond_parents, find_overlap
from tachograph.wording import counted

Floats = NDArray[np.float64]


class PhaseError(TachographError):
    """No phases or no evaluations to tell; the sentence says why."""


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

    @property
    def adds_up(self) -> bool:
        """Whether its seconds are part of the sum over the iteration."""
        return not (self.nested or self.overlapping)


@dataclass(frozen=True)
class PhaseTable:
    """``total`` mean seconds of an iteration, over ``iterations`` of them.

    ``overlap`` describes the sum of the undeclared top-level timers. ``warnings`` are sentences.
    """

    total: float
    iterations: int
    rows: tuple[PhaseRow, ...]
    overlap: Overlap
    warnings: tuple[str, ...]


def phase_table(total: Floats, timers: Mapping[str, Floats], phases: Sequence[Phase]) -> PhaseTable:
    """Summarise the timers, shapes (n,), over n iterations of which none holds an evaluation.

    Parallel timers must be declared; nested ones are found when nobody declared them.
    Raises :class:`PhaseError` without iterations or if they took no time.
    """
    if not len(total) or not (mean := float(total.mean())) > 0:
        raise PhaseError("no iteration without an evaluation has work and a duration above 0")
    top = {p.name: np.nan_to_num(timers[p.name]) for p in phases if not p.parent and not p.parallel}
    overlap = find_overlap(total, top)
    rows = []
    for phase in phases:
        seconds = float(np.nan_to_num(timers[phase.name]).mean())
        nested = phase.parent is not None or phase.name in overlap.nested
        rows.append(PhaseRow(phase.name, seconds, seconds / mean, phase.parent, nested, phase.parallel))
    rows.sort(key=lambda row: -row.seconds)
    summed = {row.name: row.seconds for row in rows if not row.overlapping}
    wrong = beyond_parents(summed, {phase.name: phase.parent for phase in phases}, mean)
    return PhaseTable(mean, len(total), tuple(rows), overlap, (*_warnings(overlap, len(top)), *wrong))


def _warnings(overlap: Overlap, timers: int) -> list[str]:
    if timers == 0 or overlap.closed:
        return []
    if overlap.share < 1 - CLOSURE:
        return [f"the timers cover {overlap.share:.1%} of the iteration"]
    sentence = f"the timers sum to {overlap.share:.1%} of the iteration, {overlap.excess:.2f} s too much"
    if overlap.nested and not overlap.rivals:
        sentence += f": {', '.join(overlap.nested)} must lie inside other timers"
    elif overlap.nested:
        sentence += (
            f": some lie inside others, by the sums most likely {', '.join(overlap.nested)}, but "
            f"{counted(overlap.rivals, 'more choice fits', 'more choices fit')} within 0.5 %; parents in the "
            "trainer file would settle it"
        )
    elif overlap.overlapping:
        sentence += f": {', '.join(overlap.overlapping)} run in part beside other timers"
    return [sentence]


def evaluation_cost(seconds: float, every: float, games: float = 1.0) -> float:
    """Seconds per iteration if an evaluation of ``seconds`` runs every ``every`` iterations.

    ``games``: how many times more games it plays; a projection that assumes cost in proportion.
    """
    return seconds * games / every


def projected_hours(seconds_per_iteration: float, iterations: int) -> float:
    """Hours that ``iterations`` take at this mean."""
    return seconds_per_iteration * iterations / 3600
