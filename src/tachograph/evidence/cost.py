"""What an arm costs once (compilation, warm-up), and after how many iterations it has paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.interval import Factor
from tachograph.wording import counted

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OneOff:
    """``seconds`` that the ``dropped`` iterations took beyond the median retained one; ``typical`` seconds of those."""

    seconds: float
    typical: float
    dropped: int


def one_off(dropped: Floats, retained: Floats) -> OneOff:
    """One-off cost of a run: Σ over dropped rows (warm-up, compilation) of (d - median retained), in seconds.

    Raises ValueError when no iteration is retained.
    """
    if len(retained) == 0:
        raise ValueError(f"{counted(len(dropped), 'iteration is', 'iterations are')} dropped and none is retained")
    beyond = dropped - float(np.median(retained))
    return OneOff(float(beyond.sum()), float(retained.mean()), len(dropped))


@dataclass(frozen=True)
class BreakEven:
    """``iterations`` after which the faster one is ahead, start included; 0 where it is ahead at once.

    ``low`` and ``high`` are what the ends of the factor's interval give, None where it has none. Where nothing can be
    said ``iterations`` is None and ``reason`` says why. The spread of the one-off costs themselves is not in it.
    """

    iterations: float | None
    low: float | None
    high: float | None
    reason: str | None


def break_even(extra: float, typical: float, factor: Factor | None) -> BreakEven:
    """(C_fast - C_ref) / (d_ref - d_fast) with d_fast = d_ref / factor, that is, at equal work (statistics.md, 3.1).

    ``extra``: seconds that the fast one costs once beyond the other. ``typical``: seconds of the slow one, per
    iteration, of what ``factor`` compares. What is not shown to be faster is not shown to be ahead after any time.
    """
    if factor is None:
        return BreakEven(None, None, None, "there is no factor")
    if factor.high is not None and factor.high <= 1:
        return BreakEven(None, None, None, "never: it is slower")
    if (factor.factor if factor.low is None else factor.low) <= 1:
        return BreakEven(None, None, None, "not shown to be faster")
    if extra <= 0:
        return BreakEven(0.0, 0.0, 0.0, None)
    # a larger factor pays earlier, so that the ends of the interval change places
    bounds = [None if end is None else _paid_after(extra, typical, end) for end in (factor.high, factor.low)]
    return BreakEven(_paid_after(extra, typical, factor.factor), bounds[0], bounds[1], None)


def _paid_after(extra: float, typical: float, factor: float) -> float:
    return extra / (typical * (1 - 1 / factor))
