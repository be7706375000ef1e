"""The reference-convergence floor of MLPerf, by the text of its rule and by its code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats


@dataclass(frozen=True)
class Floor:
    """Mean iterations below which a submission converges suspiciously fast, by either reading of the rule."""

    mean: float
    trimmed_sd: float
    full_sd: float


def convergence_floor(reference: Sequence[float], submitted: int, alpha: float = 0.05) -> Floor:
    """Trimmed mean - t(1-α, n-1) √(1/kept + 1/kept submitted) SD, for the SD of trimmed and of full list.

    The lowest and highest result are dropped on both sides; SD with ddof 0. The rule's text and its code
    differ in the SD (mlcommons/logging#375), so both floors are given. ValueError below three results.
    """
    if len(reference) < 3 or submitted < 3:
        raise ValueError(f"{len(reference)} reference and {submitted} submitted results; expected three of each")
    full = np.sort(np.asarray(reference, dtype=np.float64))
    trimmed = full[1:-1]
    t = float(stats.t.ppf(1 - alpha, len(full) - 1))
    width = t * sqrt(1 / len(trimmed) + 1 / (submitted - 2))
    mean = float(trimmed.mean())
    return Floor(mean, mean - width * float(trimmed.std()), mean - width * float(full.std()))
