"""Is a cell's result right? Judged from its errors against a proven reference."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from tachograph.machine.cellrecord import Comparison, Correctness
from tachograph.machine.verdict import Judged, Verdict, judged, worst
from tachograph.models.bounds import Bounds
from tachograph.wording import counted, verb

NOTHING = "; nothing was compared"
# Few numbers average little noise away, so PyTorch's rule allows small tensors more: (at most so many, factor).
SMALL = ((10, 10.0), (500, 5.0))


def judge_comparisons(measured: Correctness, dtype: str, bounds: Bounds) -> Judged:
    """Every comparison by its own numbers. Without a proven reference, or without a comparison, nothing passes."""
    if not measured.reference.usable:
        return Judged(Verdict.INCOMPLETE, [measured.reference.reason + NOTHING])
    if not measured.comparisons:
        return Judged(Verdict.INCOMPLETE, ["nothing was compared"])
    found = {name: judge_comparison(one, dtype, bounds) for name, one in measured.comparisons.items()}
    reasons = [f"{name}: {reason}" for name, one in found.items() for reason in one.reasons]
    verdict = worst(one.verdict for one in found.values())
    return Judged(verdict, reasons, {} if verdict is Verdict.INCOMPLETE else _figures(measured, dtype, bounds))


def _figures(measured: Correctness, dtype: str, bounds: Bounds) -> dict[str, Any]:
    """Over all comparisons of a cell: counts, the largest errors and the largest share of what is allowed."""
    compared = measured.comparisons.values()
    return {
        "nonfinite": sum(one.nonfinite for one in compared),
        "wrong": sum(known) if (known := [one.wrong for one in compared if one.wrong is not None]) else None,
        "relative": _largest(one.relative for one in compared),
        "frobenius": _largest(one.frobenius for one in compared),
        "share_of_bound": _largest(share_of_bound(one, dtype, bounds) for one in compared),
        "logit_error": measured.max_logit_error,
        "gradient_error": measured.max_gradient_error,
        "kernel": measured.kernel,
    }


def _largest(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def judge_comparison(one: Comparison, dtype: str, bounds: Bounds) -> Judged:
    """Non-finite elements first, because NaN fails no ``>``; then wrong elements, or the gate of the format."""
    if one.nonfinite:
        return judged([f"{one.nonfinite} of {one.elements} elements are not finite"], [])
    if one.wrong is not None:
        return _by_elements(one, one.wrong, bounds)
    return _by_gate(one, dtype, bounds)


def _by_elements(one: Comparison, wrong: int, bounds: Bounds) -> Judged:
    beyond = one.ratio is not None and one.ratio > 1
    if not wrong and not beyond:
        return judged(_by_norm(one), [])
    if one.ratio is None:
        return judged(
            [f"{wrong} of {counted(one.elements, 'element')} {verb(wrong, 'differs', 'differ')} from the exact result"],
            [],
        )
    if one.wrong_with_half_sums == 0 and wrong >= bounds.widespread * one.elements:
        return judged(
            [],
            [
                f"sums are kept in half precision: errors up to {one.ratio:.3g} times what fp32 sums allow "
                f"in {wrong / one.elements:.2g} of the elements"
            ],
        )
    largest = "" if one.max_abs is None else f"largest error {one.max_abs:.3g}, "
    first = "" if one.first is None else f"; first at {one.first}"
    return judged(
        [
            f"{wrong} of {counted(one.elements, 'element')} beyond rounding ({largest}{one.ratio:.3g} times the "
            f"bound{first})",
            *_by_norm(one),
        ],
        [],
    )


def _by_norm(one: Comparison) -> list[str]:
    """An error that no single element shows and all together do, as of inputs that a kernel rounds on its own."""
    if one.frobenius is None or one.frobenius_limit is None or one.frobenius <= one.frobenius_limit:
        return []
    return [f"Frobenius error {one.frobenius:.3g}, rounding allows {one.frobenius_limit:.3g}"]


def _by_gate(one: Comparison, dtype: str, bounds: Bounds) -> Judged:
    gate = bounds.gates.get(dtype)
    if one.rmse is None or one.reference_rms is None:
        return Judged(Verdict.INCOMPLETE, ["neither wrong elements nor root mean squares are given"])
    if gate is None:
        return Judged(
            Verdict.INCOMPLETE, [f"no gate is registered for {dtype}" if dtype else "its settings give no dtype"]
        )
    if one.baseline_rmse is None:
        return judged([f"error {one.rmse:.3g} against float64, but the baseline is not finite and allows nothing"], [])
    limit = limit_of(one, dtype, bounds)
    if limit is not None and one.rmse <= limit:
        return judged([], [])
    return judged([f"error {one.rmse:.3g} against float64, allowed {limit:.3g} (baseline {one.baseline_rmse:.3g})"], [])


def limit_of(one: Comparison, dtype: str, bounds: Bounds) -> float | None:
    """The largest root mean square error that the gate lets through; None where it has no number to say so."""
    gate = bounds.gates.get(dtype)
    if gate is None or one.baseline_rmse is None or one.reference_rms is None:
        return None
    small = next((factor for count, factor in SMALL if one.elements <= count), 0.0)
    return max(gate.factor, small) * one.baseline_rmse + gate.tolerance / 10 * one.reference_rms


def share_of_bound(one: Comparison, dtype: str, bounds: Bounds) -> float | None:
    """The error over the largest that is allowed; None where nothing was compared, or (nearly) nothing is allowed."""
    if one.ratio is not None:
        return one.ratio
    limit = limit_of(one, dtype, bounds)
    if one.rmse is None or not limit:
        return None
    share = one.rmse / limit
    return share if math.isfinite(share) else None
