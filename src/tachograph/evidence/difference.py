"""Test D: can the arms be told apart? A permutation test of whole runs, over all metrics and iterations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.curves import Curves

Floats = NDArray[np.float64]

EXACT_LIMIT = 10_000
RANDOM_LABELINGS = 9_999
_SD_FLOOR = 1e-12
_TIE = 1e-9  # relative: sums in another order differ in the last digits
_CHUNK = 256  # labelings at a time


@dataclass(frozen=True)
class Difference:
    """``p`` of the hypothesis that the arms are exchangeable; never below ``p_min``.

    ``statistic`` is the largest standardised mean difference, found at ``metric`` and ``iteration``.
    ``labelings`` counts relabellings, the observed one included; ``method`` says which ones.
    """

    p: float
    p_min: float
    statistic: float
    metric: str
    iteration: int
    labelings: int
    method: str

    def rejects(self, alpha: float) -> bool:
        return self.p <= alpha


def p_min_unpaired(k: int, m: int) -> float:
    """Smallest p that relabelling k + m runs can give: 1 / C(k+m, m), twice that for k = m."""
    return (2 if k == m else 1) / comb(k + m, m)


def p_min_paired(n: int) -> float:
    """Smallest p that flipping the signs of n paired differences can give: 2 / 2^n."""
    return 2 / 2**n


def use_sign_flips(paired: bool, n: int, alpha: float) -> bool:
    """Whether a paired design flips signs; below n = 6 (at 0.05) only full relabelling can reject.

    Relabelling paired runs is conservative while runs of the same seed correlate positively.
    """
    return paired and p_min_paired(n) <= alpha


def difference_test(
    curves: Curves,
    rng: np.random.Generator,
    alpha: float = 0.05,
    resolution: Sequence[float] | None = None,
) -> Difference:
    """Max-T permutation test of whole runs; controls the error over all metrics and iterations at once.

    T = max over metric and iteration of |mean fast - mean reference| / s, with s the SD over all runs,
    floored at 1e-12 and at the metric's ``resolution``. All labelings are enumerated up to 10,000, else
    9,999 random ones and the observed one are used. Valid under autocorrelation, as runs stay whole.
    """
    _, metrics, iterations = curves.reference.shape
    floor = np.full(metrics, _SD_FLOOR) if resolution is None else np.maximum(resolution, _SD_FLOOR)
    floor = np.repeat(floor, iterations)
    if use_sign_flips(curves.paired, curves.k, alpha):
        values = (curves.fast - curves.reference).reshape(curves.k, -1)
        scale = np.maximum(np.sqrt((values**2).mean(axis=0)), floor)
        count = 2**curves.k
        weights = _signs(curves.k, count, rng)
        lowest, method = p_min_paired(curves.k), "sign flips of paired runs"
    else:
        values = np.concatenate([curves.reference, curves.fast]).reshape(curves.k + curves.m, -1)
        values = values - values[0]  # weights sum to 0; columns that are equal in all runs become exact zeros
        scale = np.maximum(values.std(axis=0, ddof=1), floor)
        count = comb(curves.k + curves.m, curves.m)
        weights = _labels(curves.k, curves.m, count, rng)
        lowest = p_min_unpaired(curves.k, curves.m)
        method = "relabelling of paired runs (conservative)" if curves.paired else "relabelling of runs"
    if count > EXACT_LIMIT:
        count, method = RANDOM_LABELINGS + 1, f"{RANDOM_LABELINGS} random, {method}"
        lowest = max(lowest, 1 / count)
    present = np.flatnonzero(np.isfinite(values).all(axis=0))
    standardised = (values / scale)[:, present]
    observed: Floats | None = None
    exceeding = 0
    for chunk in weights:
        found = np.abs(chunk @ standardised)
        if observed is None:
            observed = found[0]
        exceeding += int((found.max(axis=1) >= observed.max() * (1 - _TIE)).sum())
    assert observed is not None
    place = int(present[observed.argmax()])
    return Difference(
        p=exceeding / count,
        p_min=lowest,
        statistic=float(observed.max()),
        metric=curves.metrics[place // iterations],
        iteration=int(curves.iteration[place % iterations]),
        labelings=count,
        method=method,
    )


def _labels(k: int, m: int, count: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Weights (chunk, k+m) that give mean fast - mean reference; the observed labeling comes first."""
    n = k + m
    if count <= EXACT_LIMIT:
        chosen = np.array(list(combinations(range(n - 1, -1, -1), m)))  # the fast runs stand last
    else:
        shuffled = rng.permuted(np.tile(np.arange(n), (RANDOM_LABELINGS, 1)), axis=1)[:, :m]
        chosen = np.concatenate([[np.arange(k, n)], shuffled])
    for start in range(0, len(chosen), _CHUNK):
        part = chosen[start : start + _CHUNK]
        weights = np.full((len(part), n), -1 / k)
        np.put_along_axis(weights, part, 1 / m, axis=1)
        yield weights


def _signs(n: int, count: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Weights (chunk, n) of ±1/n; the observed signs come first."""
    if count <= EXACT_LIMIT:
        signs = 1 - 2 * ((np.arange(count)[:, None] >> np.arange(n)) & 1)
    else:
        signs = np.concatenate([np.ones((1, n)), rng.choice([-1, 1], (RANDOM_LABELINGS, n))])
    for start in range(0, len(signs), _CHUNK):
        yield signs[start : start + _CHUNK] / n
