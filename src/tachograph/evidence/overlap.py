"""Timers that are nested in other timers, or overlap them, found from the numbers alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from tachograph.wording import verb

Floats = NDArray[np.float64]

CLOSURE = 0.01  # leaves must sum to the total within this share
SUBSET = 0.005  # a subset of timers that sums to the total within this share explains it
MAX_TIMERS = 12  # of a subset search: 4,096 subsets
NEAR = 0.1  # a coefficient this close to 0 or 1 is one of them


@dataclass(frozen=True)
class Overlap:
    """What the sums say about a set of timers.

    ``share`` is Σ timers / total. ``excess`` = Σ timers - total in the unit of the input. ``closed``: the sum
    fits within 1 %. ``siblings`` is the subset that fits the total best, ``nested`` the timers outside of it
    (they lie inside siblings); both empty where no subset fits. ``rivals`` counts further subsets that fit and
    between which the iterations do not settle either. ``overlapping`` are timers that no subset explains and that run
    in part beside others.
    """

    share: float
    excess: float
    closed: bool
    siblings: tuple[str, ...]
    nested: tuple[str, ...]
    rivals: int
    overlapping: tuple[str, ...]


def find_overlap(total: Floats, timers: Mapping[str, Floats]) -> Overlap:
    """Examine undeclared ``timers`` (name -> seconds per iteration, shape (n,)) against ``total`` (n,).

    First by the subset of timers whose mean sums to the total. Where several subsets do, or none, by non-negative least
    squares of the total on the timers across iterations (statistics.md, 3.5): a coefficient of about 0 is that of a
    nested timer, about 1 of a sibling, between of an overlapping one.
    """
    names = list(timers)
    means = np.array([float(np.mean(timers[name])) for name in names])
    whole = float(np.mean(total))
    share = float(means.sum() / whole)
    closed = abs(share - 1) <= CLOSURE
    siblings: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    overlapping: tuple[str, ...] = ()
    rivals = 0
    if not closed:
        chosen, rivals = _best_subset(means, whole)
        if rivals or (chosen is None and share > 1):
            coefficients = _coefficients(total, timers)
            settled = np.array([coefficients.get(name, np.nan) > 1 - NEAR for name in names])
            if chosen is None:
                overlapping = tuple(name for name, one in coefficients.items() if NEAR < one < 1 - NEAR)
            elif _clear(coefficients) and abs(means[settled].sum() / whole - 1) <= SUBSET:
                chosen, rivals = settled, 0
        if chosen is not None:
            siblings = tuple(name for name, inside in zip(names, chosen, strict=True) if inside)
            nested = tuple(name for name in names if name not in siblings)
    return Overlap(share, float(means.sum() - whole), closed, siblings, nested, rivals, overlapping)


def beyond_parents(seconds: Mapping[str, float], parents: Mapping[str, str | None], whole: float) -> list[str]:
    """A sentence for every part whose declared parts together take longer than it, by over 1 % of the ``whole``.

    They cannot lie inside of it then: a wrong ``parent`` takes time out of the sum that should close.
    """
    inside: dict[str, list[str]] = {}
    for name, parent in parents.items():
        if parent in seconds and name in seconds:
            inside.setdefault(str(parent), []).append(name)
    return [
        f"{', '.join(names)}, declared inside of {parent}, {verb(len(names), 'takes', 'take')} longer than it"
        for parent, names in inside.items()
        if sum(seconds[name] for name in names) - seconds[parent] > CLOSURE * whole
    ]


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


def _clear(coefficients: Mapping[str, float]) -> bool:
    """Whether every timer is shown to be nested or a sibling."""
    return bool(coefficients) and all(min(abs(one), abs(one - 1)) <= NEAR for one in coefficients.values())


def _coefficients(total: Floats, timers: Mapping[str, Floats]) -> dict[str, float]:
    """By timer; empty where the iterations are too few or the timers too alike to tell."""
    if len(total) < 2 * len(timers):
        return {}
    columns = np.column_stack(list(timers.values()))
    if np.linalg.matrix_rank(columns) < columns.shape[1]:
        return {}
    found, _ = nnls(columns, total)
    return dict(zip(timers, map(float, found), strict=True))
