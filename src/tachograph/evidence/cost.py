"""What an arm costs once (compilation, warm-up), and after how many iterations it has paid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OneOff:
    """``seconds`` that the dropped iterations took beyond the ``typical`` (median retained) ones."""

    seconds: float
    typical: float
    dropped: int


def one_off(durations: Floats, warmup: int) -> OneOff:
    """One-off cost of a run from its durations, shape (n,): Σ over dropped rows of (d - median retained).

    Raises ValueError when no iteration is retained.
    """
    if len(durations) <= warmup:
        raise ValueError(f"{len(durations)} iterations with a warm-up of {warmup}: none is retained")
    typical = float(np.median(durations[warmup:]))
    return OneOff(float((durations[:warmup] - typical).sum()), typical, warmup)


def break_even(reference: OneOff, fast: OneOff) -> float | None:
    """Iterations after which the fast arm is ahead, start included: (C_fast - C_ref) / (d_ref - d_fast).

    0 where it is ahead at once; None where it never is.
    """
    extra = fast.seconds - reference.seconds
    gain = reference.typical - fast.typical
    if extra <= 0 and gain >= 0:
        return 0.0
    return extra / gain if gain > 0 else None
