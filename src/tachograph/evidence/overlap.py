"""Timers that are nested in other timers, or overlap them, found from the numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

Floats = NDArray[np.float64]

CLOSURE = 0.01  # leaves must sum to the total within this share
SUBSET = 0.005  # a subset of timers that sums to the total within this share explains it
MAX_TIMERS = 12  # of a subset search: 4,096 subsets


@dataclass(frozen=True)
class Overlap:
    """What the sums say about a set of timers.

    ``share`` is Σ timers / total. ``excess`` = Σ timers - total in the unit of the input. ``closed``: the sum
    fits within 1 %. ``siblings`` is the subset that fits the total best, ``nested`` the timers outside of it
    (they lie inside siblings); both empty where no subset fits. ``rivals`` counts further subsets that fit.
    ``coefficients``: non-negative least squares of the total on the timers across iterations, about 0 for a
    nested timer, about 1 for a sibling, between for an overlapping one; empty without enough iterations.
    """

    share: float
    excess: float
    closed: bool
    siblings: tuple[str, ...]
    nested: tuple[str, ...]
    rivals: int
    coefficients: Mapping[str, float]


def find_overlap(total: Floats, timers: Mapping[str, Floats]) -> Overlap:
    """Examine undeclared ``timers`` (name -> seconds per iteration, shape (n,)) against ``total`` (n,)."""
    names = list(timers)
    means = np.array([float(np.mean(timers[name])) for name in names])
    whole = float(np.mean(total))
    share = float(means.sum() / whole)
    closed = abs(share - 1) <= CLOSURE
    siblings: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    rivals = 0
    if not closed:
        chosen, rivals = _best_subset(means, whole)
        if chosen is not None:
            siblings = tuple(name for name, inside in zip(names, chosen, strict=True) if inside)
            nested = tuple(name for name in names if name not in siblings)
    return Overlap(share, float(means.sum() - whole), closed, siblings, nested, rivals, _coefficients(total, timers))


def _best_subset(means: Floats, whole: float) -> tuple[NDArray[np.bool_] | None, int]:
    """The subset of timers that sums closest to the total, and how many others fit, too.

    Of more than twelve timers the smaller ones are taken as nested, and those below 0.5 % of the total as siblings;
    they could not be told apart anyway.
    """
    largest = np.argsort(-means, kind="stable")[:MAX_TIMERS]
    members = (np.arange(2 ** len(largest))[:, None] >> np.arange(len(largest))) & 1
    misfit = np.abs(members @ means[largest] / whole - 1)
    fitting = np.flatnonzero(misfit <= SUBSET)
    if len(fitting) == 0:
        return None, 0
    best = fitting[np.argmin(misfit[fitting])]
    material = means > SUBSET * whole  # a timer of next to no time changes no sum: nothing says that it is nested
    chosen = ~material
    chosen[largest] |= members[best] == 1
    choices = np.unique(members[fitting][:, material[largest]], axis=0)
    return chosen, len(choices) - 1


def _coefficients(total: Floats, timers: Mapping[str, Floats]) -> dict[str, float]:
    if len(total) < 2 * len(timers):
        return {}
    columns = np.column_stack(list(timers.values()))
    if np.linalg.matrix_rank(columns) < columns.shape[1]:
        return {}
    found, _ = nnls(columns, total)
    return dict(zip(timers, map(float, found), strict=True))
