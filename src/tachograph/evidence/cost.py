"""What an arm costs once (compilation, warm-up), and after how many iterations it has paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        raise ValueError(f"{len(dropped)} iterations are dropped and none is retained")
    beyond = dropped - float(np.median(retained))
    return OneOff(float(beyond.sum()), float(retained.mean()), len(dropped))


def break_even(reference: OneOff, fast: OneOff) -> float | None:
    """Iterations after which the fast arm is ahead, start included: (C_fast - C_ref) / (d_ref - d_fast).

    0 where it is ahead at once; None where it never is.
    """
    extra = fast.seconds - reference.seconds
    gain = reference.typical - fast.typical
    if extra <= 0 and gain >= 0:
        return 0.0
    return extra / gain if gain > 0 else None
