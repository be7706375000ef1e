"""A float64 reference that is itself proven before anything is compared with it.

Two routes that share as little code as possible, each repeated; equal bytes over repeats, agreement between
the routes. Otherwise the reference is unusable, that is said, and nothing is compared.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from machinecheck.metrics import Array, nonfinite

Tensors = dict[str, Array]
REPEATS = 5


def digest(values: np.ndarray[Any, Any]) -> str:
    """SHA-256 of an array's raw bytes in C order."""
    return hashlib.sha256(np.ascontiguousarray(values).data).hexdigest()


@dataclass(frozen=True)
class Reference:
    """``tensors`` is empty unless ``usable``; ``reason`` says what was wrong with it."""

    tensors: Tensors
    usable: bool
    reason: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)

    def numbers(self) -> dict[str, Any]:
        """What a cell writes about it: whether it is usable, why not, and how the routes behaved."""
        return {"usable": self.usable, "reason": self.reason, **self.evidence}

    def unusable(self) -> dict[str, Any]:
        """What a cell measured whose reference cannot be used: nothing was compared."""
        return {"reference": self.numbers(), "comparisons": {}}


def repeat(route: Callable[[], Tensors], repeats: int) -> tuple[Tensors, dict[str, Any]]:
    """First output of a route, and how its repeats differ from it."""
    first = route()
    hashes = {tuple(digest(values) for values in first.values())}
    fraction, largest, differing = 0.0, 0.0, 0
    for _ in range(repeats - 1):
        again = route()
        found = tuple(digest(values) for values in again.values())
        hashes.add(found)
        for name, values in again.items():
            unequal = values != first[name]
            if unequal.any():
                fraction = max(fraction, float(np.mean(unequal)))
                largest = max(largest, float(np.nanmax(np.abs(values - first[name]))))
        differing += found != tuple(digest(values) for values in first.values())
    return first, {
        "repeats": repeats,
        "distinct": len(hashes),
        "repeats_differing": differing,
        "fraction_differing": fraction,
        "max_abs_difference": largest,
    }


def describe(found: Mapping[str, Any]) -> str:
    """How repeats differed, in words."""
    return (
        f"{found['distinct']} different results in {found['repeats']} repeats, "
        f"{found['fraction_differing']:.4g} of the elements, by up to {found['max_abs_difference']:.3g}"
    )


def prove(
    routes: Mapping[str, Callable[[], Tensors]], bounds: Callable[[Tensors], Tensors], repeats: int = REPEATS
) -> Reference:
    """Run every route ``repeats`` times and hold them against each other.

    ``bounds`` gives, for the first route's tensors, how far another float64 route may be from each element.
    """
    evidence: dict[str, Any] = {"routes": {}}
    outputs: dict[str, Tensors] = {}
    for name, route in routes.items():
        outputs[name], evidence["routes"][name] = repeat(route, repeats)
        found = evidence["routes"][name]
        if any(nonfinite(values) for values in outputs[name].values()):
            return Reference({}, False, f"REFERENCE NOT FINITE ({name})", evidence)
        if found["distinct"] > 1:
            return Reference({}, False, f"REFERENCE NOT REPEATABLE ({name}: {describe(found)})", evidence)
    (first_name, first), *others = outputs.items()
    limits = bounds(first)
    for other_name, other in others:
        for tensor, values in first.items():
            excess = np.abs(values - other[tensor]) - limits[tensor]
            if np.any(excess > 0):
                reason = (
                    f"REFERENCE UNUSABLE ({first_name} and {other_name} disagree on {tensor} "
                    f"by {float(np.max(np.abs(values - other[tensor]))):.3g})"
                )
                return Reference({}, False, reason, evidence)
    evidence["agree"] = list(outputs)
    return Reference(first, True, "", evidence)


def scaled_bounds(relative: float) -> Callable[[Tensors], Tensors]:
    """Bounds for :func:`prove`: ``relative`` times each tensor's largest magnitude."""
    return lambda tensors: {
        name: np.full_like(values, relative * max(float(np.max(np.abs(values), initial=0.0)), 1e-30))
        for name, values in tensors.items()
    }


def exact_dot(row: Array, column: Array) -> float:
    """Correctly rounded Σ row·column for inputs of at most 24 significant bits (products are then exact)."""
    return math.fsum((row * column).tolist())
