"""The envelope of the reference runs, as document 000 draws it: a description, with its false-alarm rate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.curves import Curves

Floats = NDArray[np.float64]
MIN_HOLD_OUT = 4


@dataclass(frozen=True)
class Envelope:
    """One metric of one fast run against the reference runs R0, R1, …; differences are max |Δ| by iteration.

    ``fast_max`` D(F, R0) at ``fast_iteration``; ``reference_max`` the largest D(Rr, R0), None for a single
    reference; ``pairs_max`` the largest over all pairs of references; ``ratio`` = fast_max / reference_max.
    ``rank`` of F among the k+1 runs by mean distance to the others (1: farthest), ``rank_p`` = rank/(k+1).
    ``false_alarm``: an identical arm exceeds the envelope with this probability, 1/k.
    ``hold_out_failures``: reference runs that fail the envelope of the other ones, None below four runs.
    """

    metric: str
    fast_max: float
    fast_iteration: int
    reference_max: float | None
    pairs_max: float | None
    ratio: float | None
    rank: int
    rank_p: float
    false_alarm: float
    hold_out_failures: int | None

    @property
    def label(self) -> str:
        """The same words for the same number, whatever the metric."""
        if self.ratio is None:
            return "no envelope"
        return "inside the envelope" if self.ratio <= 1 else "outside the envelope"


def describe(curves: Curves, fast_run: int = 0) -> list[Envelope]:
    """Describe fast run ``fast_run`` against all reference runs by metric. No verdict follows from it."""
    rows = []
    for place, metric in enumerate(curves.metrics):
        present = np.isfinite(curves.reference[0, place])
        reference = curves.reference[:, place, present]
        fast = curves.fast[fast_run, place, present]
        difference = np.abs(fast - reference[0])
        k = len(reference)
        largest = _largest_to_first(reference) if k > 1 else None
        fast_max = float(difference.max())
        rank = _rank_of_last(np.vstack([reference, fast]))
        rows.append(
            Envelope(
                metric=metric,
                fast_max=fast_max,
                fast_iteration=int(curves.iteration[present][int(difference.argmax())]),
                reference_max=largest,
                pairs_max=_largest_of_pairs(reference) if k > 1 else None,
                ratio=_ratio(fast_max, largest),
                rank=rank,
                rank_p=rank / (k + 1),
                false_alarm=1 / k,
                hold_out_failures=_hold_out(reference) if k >= MIN_HOLD_OUT else None,
            )
        )
    return rows


def _ratio(fast_max: float, largest: float | None) -> float | None:
    if largest is None:
        return None
    if largest == 0:
        return 1.0 if fast_max == 0 else float("inf")
    return fast_max / largest


def _largest_to_first(runs: Floats) -> float:
    return float(np.abs(runs[1:] - runs[0]).max())


def _largest_of_pairs(runs: Floats) -> float:
    return float(np.abs(runs[:, None] - runs[None, :]).max())


def _rank_of_last(runs: Floats) -> int:
    """Rank of the last run by its mean absolute distance to the mean of the others; ties count against it."""
    total = runs.sum(axis=0)
    others = (total - runs) / (len(runs) - 1)
    score = np.abs(runs - others).mean(axis=1)
    return int((score > score[-1]).sum()) + 1


def _hold_out(reference: Floats) -> int:
    """How many reference runs lie outside the envelope that the others draw around their first run."""
    failures = 0
    for held in range(len(reference)):
        others = np.delete(reference, held, axis=0)
        failures += bool(np.abs(reference[held] - others[0]).max() > _largest_to_first(others))
    return failures
