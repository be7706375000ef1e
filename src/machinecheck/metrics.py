"""How far a result is from its float64 reference, and whether rounding explains it.

All functions take float64 NumPy arrays, run nothing and print nothing. Non-finite elements are counted
before anything is compared, because NaN fails no ``>``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from machinecheck.precision import Precision
from machinecheck.verdict import Verdict

Array = npt.NDArray[np.float64]

# Factor of the probabilistic rounding bound λ √k u, which holds with high probability where the worst case
# is k u (Higham & Mary, SIAM J. Sci. Comput. 41(5), A2815, 2019).
LAMBDA = 4.0
# Share of elements from which an excess is a kernel's way of rounding; the race of document 003 touched 1 %.
WIDESPREAD = 0.05
# Winograd and FFT convolutions spread the rounding of a whole tile over its elements and amplify it.
TRANSFORM = 4.0
GATE_FACTOR = {"fp64": 2.0, "fp32": 2.0, "tf32": 3.0, "fp16": 3.0, "bf16": 3.0}
# Few numbers average little noise away, so the rule allows small tensors more: (at most so many, factor).
GATE_SMALL = ((10, 10.0), (500, 5.0))
GATE_TOLERANCE = {"fp64": 1e-12, "fp32": 1e-4, "tf32": 1e-3, "fp16": 1e-3, "bf16": 1e-2}


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
        "max_reference": largest,
        "relative": relative_error(float(np.max(difference, initial=0.0)), largest),
        "frobenius": float(np.linalg.norm(difference)) / norm if norm else float(np.linalg.norm(difference)),
    }


def relative_error(max_abs: float, max_reference: float) -> float:
    """Largest error over largest magnitude; the absolute error where the reference is all zero."""
    return max_abs / max_reference if max_reference else max_abs


def compare(result: Array, reference: Array, bound: Array, half_sums_bound: Array | None = None) -> dict[str, Any]:
    """Judge ``result`` element by element: corrupted where |C − R| > T.

    Returns the errors, ``ratio`` (largest |C − R|/T), ``corrupted``, ``corrupted_fraction``, ``first``
    (index of the first corrupted element), ``verdict`` and ``reasons``. With a non-finite element nothing
    is compared.

    ``half_sums_bound`` is T for a kernel that keeps its sums in half precision. Errors beyond ``bound`` are
    then a WARN if they are within it and widespread, as rounding is; a race touches few elements and FAILs.
    """
    bad = nonfinite(result)
    if bad:
        return {
            "elements": result.size,
            "nonfinite": bad,
            "verdict": Verdict.FAIL,
            "reasons": [f"{bad} of {result.size} elements are not finite"],
        }
    difference = np.abs(result - reference)
    wrong = difference > bound
    count = int(np.count_nonzero(wrong))
    positive = bound > 0
    found: dict[str, Any] = {
        "elements": result.size,
        "nonfinite": 0,
        **errors(result, reference),
        "ratio": float(np.max(difference[positive] / bound[positive], initial=0.0)),
        "corrupted": count,
        "corrupted_fraction": count / result.size if result.size else 0.0,
    }
    if count == 0:
        return found | {"verdict": Verdict.PASS, "reasons": []}
    found["first"] = [int(index[0]) for index in np.nonzero(wrong)]
    widespread = found["corrupted_fraction"] >= WIDESPREAD
    if half_sums_bound is not None and widespread and not np.any(difference > half_sums_bound):
        reason = (
            f"sums are kept in half precision: errors up to {found['ratio']:.3g} times what fp32 sums allow "
            f"in {found['corrupted_fraction']:.2g} of the elements"
        )
        return found | {"verdict": Verdict.WARN, "reasons": [reason]}
    reason = (
        f"{count} of {result.size} elements beyond rounding (largest error {found['max_abs']:.3g}, "
        f"{found['ratio']:.3g} times the bound; first at {found['first']})"
    )
    return found | {"verdict": Verdict.FAIL, "reasons": [reason]}


def exact(result: Array, expected: Array) -> dict[str, Any]:
    """Judge a result that must be equal bit for bit."""
    bad = nonfinite(result)
    count = int(np.count_nonzero(~(result == expected)))
    reasons = [f"{count} of {result.size} elements differ from the exact result"] if count else []
    return {
        "elements": result.size,
        "nonfinite": bad,
        "corrupted": count,
        "verdict": Verdict.FAIL if count else Verdict.PASS,
        "reasons": reasons,
    }


def root_mean_square(values: Array) -> float:
    """√(mean of squares); 0 for an empty array."""
    return float(np.sqrt(np.mean(np.square(values)))) if values.size else 0.0


def gate(result: Array, baselines: Sequence[Array], reference: Array, dtype: str) -> dict[str, Any]:
    """Judge a result that has no simple bound by the error of known-good computations of the same precision.

    PyTorch's rule for compiled models: RMSE(result) ≤ m RMSE(baseline) + tolerance/10, m = 2 for fp32 and 3
    for half precision, more for small tensors; here the tolerance is relative to the reference's root mean
    square, so that small gradients are held to it too. Of several baselines the largest error counts.
    """
    bad = nonfinite(result)
    if bad:
        return {
            "elements": result.size,
            "nonfinite": bad,
            "verdict": Verdict.FAIL,
            "reasons": [f"{bad} of {result.size} elements are not finite"],
        }
    own = root_mean_square(result - reference)
    known = float(np.max([root_mean_square(baseline - reference) for baseline in baselines]))
    size = root_mean_square(reference)
    small = next((factor for count, factor in GATE_SMALL if result.size <= count), 0.0)
    limit = max(GATE_FACTOR[dtype], small) * known + GATE_TOLERANCE[dtype] / 10 * size
    # a negated comparison, so that a NaN on either side fails
    failed = not own <= limit
    reasons = [f"error {own:.3g} against float64, allowed {limit:.3g} (baseline {known:.3g})"] if failed else []
    return {
        "elements": result.size,
        "nonfinite": 0,
        **errors(result, reference),
        "rmse": own,
        "baseline_rmse": known if math.isfinite(known) else None,
        "limit": limit if math.isfinite(limit) else None,
        "verdict": Verdict.FAIL if failed else Verdict.PASS,
        "reasons": reasons,
    }
