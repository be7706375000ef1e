"""Sensitivity to drift over the session: ln X = μ_block + τ·arm + γ·position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t

FLAGGED = 0.02


@dataclass(frozen=True)
class Drift:
    """``factor`` of the arm with the drift taken out; ``total`` relative change over the session.

    ``low`` and ``high``: its 95 % t interval from the residuals, ``p`` of no drift. ``flagged`` where the change
    exceeds 2 % and p is at most ``alpha``: what the residuals alone could give is no finding.
    """

    factor: float
    total: float
    low: float
    high: float
    p: float
    alpha: float
    flagged: bool


def drift_model(
    rates: Sequence[float], fast: Sequence[bool], blocks: Sequence[str], alpha: float = 0.05
) -> Drift | None:
    """Least squares of ln X on block, arm and position in the session (0, 1, … in the order of execution).

    ``alpha``: how often a session without a drift may be flagged.
    None where the three cannot be told apart (too few runs, or all blocks in the same order).
    """
    place = np.arange(len(rates))
    names = list(dict.fromkeys(blocks))
    block = np.array([[name == other for other in names] for name in blocks], dtype=np.float64)
    arm = np.asarray(fast, dtype=np.float64)
    columns = np.column_stack([block, arm, place])
    if len(rates) <= columns.shape[1] or np.linalg.matrix_rank(columns) < columns.shape[1]:
        return None
    logs = np.log(np.asarray(rates, dtype=np.float64))
    solution, *_ = np.linalg.lstsq(columns, logs, rcond=None)
    steps = len(rates) - 1
    total = float(solution[-1] * steps)
    residuals = logs - columns @ solution
    freedom = len(rates) - columns.shape[1]
    variance = float(residuals @ residuals) / freedom * float(np.linalg.inv(columns.T @ columns)[-1, -1])
    se = variance**0.5 * steps
    low, high = np.expm1([total - t.ppf(0.975, freedom) * se, total + t.ppf(0.975, freedom) * se])
    p = float(2 * t.sf(abs(total) / se, freedom)) if se > 0 else float(total == 0)
    flagged = abs(total) > FLAGGED and p <= alpha
    return Drift(float(np.exp(solution[-2])), float(np.expm1(total)), float(low), float(high), p, alpha, flagged)
