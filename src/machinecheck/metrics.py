"""How far a result is from its float64 reference, and how much of that rounding explains.

All functions take float64 NumPy arrays, run nothing and print nothing. Non-finite elements are counted
before anything is compared, because NaN fails no ``>``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from machinecheck.precision import Precision

Array = npt.NDArray[np.float64]
Numbers = dict[str, Any]

# Factor of the probabilistic rounding bound λ √k u, which holds with high probability where the worst case
# is k u (Higham & Mary, SIAM J. Sci. Comput. 41(5), A2815, 2019).
LAMBDA = 4.0
# Winograd and FFT convolutions spread the rounding of a whole tile over its elements and amplify it.
TRANSFORM = 4.0


def sum_bound(reference: Array, magnitude: Array, terms: int, kind: Precision) -> Array:
    """Component-wise bound T on |C − R| for sums of ``terms`` products.

    T = u_out |R| + (2 u_in + 4 √k u_acc) (|A||B|) + the reference's own 4 √k 2⁻⁵³ (|A||B|) + underflow.
    ``magnitude`` is |A||B|, of the shape of ``reference``.
    """
    growth = LAMBDA * math.sqrt(terms)
    factor = 2 * kind.input + growth * kind.accumulation + growth * 2.0**-53
    return kind.output * np.abs(reference) + factor * magnitude + kind.smallest


def convolution_bound(reference: Array, magnitude: Array, terms: int, kind: Precision) -> Array:
    """As :func:`sum_bound` for kernels that may transform their input: the largest sum scales all."""
    largest = np.full_like(magnitude, TRANSFORM * float(np.max(magnitude, initial=0.0)))
    return sum_bound(reference, largest, terms, kind)


def reference_bound(magnitude: Array, terms: int) -> Array:
    """How far two float64 routes to one sum may differ: 4 √k 2⁻⁵³ (|A||B|) for each of them."""
    return 2 * LAMBDA * math.sqrt(terms) * 2.0**-53 * magnitude


def nonfinite(result: Array) -> int:
    """Number of NaN and infinite elements."""
    return int(result.size - np.count_nonzero(np.isfinite(result)))


def errors(result: Array, reference: Array) -> dict[str, float]:
    """Absolute, relative (max over max, as document 003 prints it) and Frobenius error."""
    difference = np.abs(result - reference)
    largest = float(np.max(np.abs(reference), initial=0.0))
    norm = float(np.linalg.norm(reference))
    return {
        "max_abs": float(np.max(difference, initial=0.0)),
        "relative": relative_error(float(np.max(difference, initial=0.0)), largest),
        "frobenius": float(np.linalg.norm(difference)) / norm if norm else float(np.linalg.norm(difference)),
    }


def frobenius_limit(terms: int, kind: Precision) -> float:
    """What rounding allows ‖C − R‖/‖R‖: u of an output that is coarser than the sums, else 4 √k u of the sums.

    Inputs that the kernel rounds again, as for TF32, add their own 2 u.
    """
    if kind.output > kind.accumulation:
        return kind.output
    return LAMBDA * math.sqrt(terms) * kind.accumulation + 2 * kind.input


def relative_error(max_abs: float, max_reference: float) -> float:
    """Largest error over largest magnitude; the absolute error where the reference is all zero."""
    return max_abs / max_reference if max_reference else max_abs


def compare(result: Array, reference: Array, bound: Array, half_sums_bound: Array | None = None) -> Numbers:
    """Element by element against a bound: ``wrong`` counts |C − R| > T.

    Besides the errors there are ``ratio`` (largest |C − R|/T) and ``first`` (index of the first wrong element, if any).
    With a non-finite element nothing is compared: no number but its count.

    ``half_sums_bound`` is T for a kernel that keeps its sums in half precision; ``wrong_with_half_sums`` counts by it.
    """
    bad = nonfinite(result)
    if bad:
        return {"elements": result.size, "nonfinite": bad}
    difference = np.abs(result - reference)
    wrong = difference > bound
    positive = bound > 0
    found: Numbers = {
        "elements": result.size,
        "nonfinite": 0,
        **errors(result, reference),
        "ratio": float(np.max(difference[positive] / bound[positive], initial=0.0)),
        "wrong": int(np.count_nonzero(wrong)),
    }
    if found["wrong"]:
        found["first"] = [int(index[0]) for index in np.nonzero(wrong)]
    if half_sums_bound is not None:
        found["wrong_with_half_sums"] = int(np.count_nonzero(difference > half_sums_bound))
    return found


def exact(result: Array, expected: Array) -> Numbers:
    """A result that must be equal bit for bit: ``wrong`` counts the elements that differ."""
    return {
        "elements": result.size,
        "nonfinite": nonfinite(result),
        "wrong": int(np.count_nonzero(~(result == expected))),
    }


def root_mean_square(values: Array) -> float:
    """√(mean of squares); 0 for an empty array."""
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def beside(result: Array, baselines: Sequence[Array], reference: Array) -> Numbers:
    """A result that has no simple bound, beside known-good computations of the same precision.

    ``rmse`` is its error, ``baseline_rmse`` the largest of theirs (``None`` if one of them is not finite) and
    ``reference_rms`` the size of the reference, all root mean squares.
    """
    bad = nonfinite(result)
    if bad:
        return {"elements": result.size, "nonfinite": bad}
    known = float(np.max([root_mean_square(baseline - reference) for baseline in baselines]))
    return {
        "elements": result.size,
        "nonfinite": 0,
        **errors(result, reference),
        "rmse": root_mean_square(result - reference),
        "baseline_rmse": known if math.isfinite(known) else None,
        "reference_rms": root_mean_square(reference),
    }


def all_beside(
    results: Mapping[str, Array], baselines: Sequence[Mapping[str, Array]], references: Mapping[str, Array]
) -> dict[str, Numbers]:
    """:func:`beside` of every tensor, by its name in the reference."""
    return {
        name: beside(results[name], [baseline[name] for baseline in baselines], expected)
        for name, expected in references.items()
    }
