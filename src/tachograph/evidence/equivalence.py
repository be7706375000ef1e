"""Test E: are the arms the same within registered margins? Two one-sided tests for each metric and window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tachograph.evidence.curves import CurveError, Curves, Window
from tachograph.wording import counted

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Cell:
    """One metric in one window: difference of window means, fast - reference, in the metric's unit.

    ``low`` and ``high`` bound the 1 - 2α interval. ``passes``: it lies inside ±``margin``; ``outside``: it
    lies wholly outside. ``seeds_needed`` per arm to pass with this difference and spread, None where the
    difference itself exceeds the margin.
    """

    metric: str
    window: str
    difference: float
    low: float
    high: float
    margin: float
    se: float
    df: int
    passes: bool
    outside: bool
    seeds_needed: int | None


@dataclass(frozen=True)
class Equivalence:
    """All cells. ``delta_star``: the smallest multiple of the registered margins that would have passed."""

    cells: tuple[Cell, ...]
    delta_star: float
    method: str

    @property
    def passes(self) -> bool:
        return all(cell.passes for cell in self.cells)

    @property
    def some_outside(self) -> bool:
        return any(cell.outside for cell in self.cells)

    @property
    def seeds_needed(self) -> int | None:
        """Seeds per arm that would settle every cell; None where some difference exceeds its margin."""
        needed = [cell.seeds_needed for cell in self.cells]
        return None if None in needed else max(n for n in needed if n is not None)


def equivalence_test(
    curves: Curves, margins: Mapping[str, float], windows: Sequence[Window], alpha: float = 0.05
) -> Equivalence:
    """Intersection-union of two one-sided t tests (Berger 1982): level α without a correction.

    Unpaired: pooled SD, df = k+m-2. Paired: SD of the differences, df = n-1. ``margins`` in metric units.
    A sparse metric is judged on the iterations that have it: a window with none of them has no cell.
    Raises :class:`CurveError` where no spread can be estimated (df < 1), for a margin that is not positive,
    for a window without iterations and for a metric that no window holds.
    """
    df = curves.k - 1 if curves.paired else curves.k + curves.m - 2
    if df < 1:
        raise CurveError(f"{curves.k} reference and {counted(curves.m, 'fast run')} leave no spread to estimate")
    t = float(stdtrit(df, 1 - alpha))
    cells = []
    for row, metric in enumerate(curves.metrics):
        margin = margins.get(metric, 0.0)
        if not 0 < margin < np.inf:
            raise CurveError(f"the margin of {metric!r} is {margin}, expected a positive number")
        places = [(window, _inside(curves, window) & curves.present(metric)) for window in windows]
        judged = [(window, inside) for window, inside in places if inside.any()]
        if not judged:
            raise CurveError(f"no window holds an iteration of {metric!r}")
        for window, inside in judged:
            reference = curves.reference[:, row, inside].mean(axis=1)
            fast = curves.fast[:, row, inside].mean(axis=1)
            cells.append(_cell(metric, window.name, reference, fast, margin, t, df, curves.paired))
    delta_star = max(max(abs(cell.low), abs(cell.high)) / cell.margin for cell in cells)
    return Equivalence(tuple(cells), delta_star, "paired t" if curves.paired else "pooled t")


def _inside(curves: Curves, window: Window) -> NDArray[np.bool_]:
    inside: NDArray[np.bool_] = (curves.iteration >= window.first) & (curves.iteration <= window.last)
    if not inside.any():
        raise CurveError(f"window {window.name} ({window.first} to {window.last}) holds no iteration")
    return inside


def _cell(
    metric: str, window: str, reference: Floats, fast: Floats, margin: float, t: float, df: int, paired: bool
) -> Cell:
    k, m = len(reference), len(fast)
    difference = float(fast.mean() - reference.mean())
    if paired:
        se = float((fast - reference).std(ddof=1) / np.sqrt(k))
    else:
        squares = ((reference - reference.mean()) ** 2).sum() + ((fast - fast.mean()) ** 2).sum()
        se = float(np.sqrt(squares / df) * np.sqrt(1 / k + 1 / m))
    low, high = difference - t * se, difference + t * se
    room = margin - abs(difference)
    needed = max(2, ceil(max(k, m) * (t * se / room) ** 2)) if room > 0 else None
    return Cell(
        metric,
        window,
        difference,
        low,
        high,
        margin,
        se,
        df,
        passes=-margin < low and high < margin,
        outside=low > margin or high < -margin,
        seeds_needed=needed,
    )
