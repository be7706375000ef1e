"""Correctness of matrix products: against float64, and exactly on whole numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from machinecheck import metrics
from machinecheck.devices import fetch, open_device
from machinecheck.errors import MachineCheckError
from machinecheck.faults import Planter, planted
from machinecheck.precision import precision, prepare
from machinecheck.products import (
    Operands,
    integer_operands,
    normal_operands,
    parse_shape,
    product,
    prove_product,
    proven_integer_product,
    rounded,
)
from machinecheck.reference import Reference

EXACT_TERMS = 2**24 // 64  # |entries| ≤ 8: partial sums of so many products stay exact in fp32


def matmul(
    *,
    size: str = "256",
    dtype: str = "fp32",
    form: str = "A@B",
    library: str = "torch",
    device: str = "cpu",
    seed: int = 0,
) -> dict[str, Any]:
    """N(0, 1) product against a proven float64 product of the inputs as rounded to ``dtype``."""
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    shape = parse_shape(size, form)
    operands = normal_operands(shape, form, kind.dtype, seed)
    run = product(operands, form, kind, library, where)
    magnitude = operands.magnitude
    reference = prove_product(operands, magnitude)
    if not reference.usable:
        return reference.unusable()
    result = fetch(Planter(planted()).output(run(), form))
    expected = reference.tensors["C"]
    bound = metrics.sum_bound(expected, magnitude, shape.k, kind)
    name = f"{form} ({library})"
    comparisons = {name: metrics.compare(result, expected, bound)}
    if comparisons[name]["nonfinite"] == 0:
        comparisons[name]["frobenius_limit"] = metrics.frobenius_limit(shape.k, kind)
        if form == "A@A.T":
            # it equals its transpose exactly, so each of the two may be off by its own bound
            comparisons[f"{name} over its transpose"] = metrics.compare(result, result.T, bound + bound.T)
    return {"reference": reference.numbers(), "comparisons": comparisons}


def integers(
    *,
    size: str = "256",
    dtype: str = "fp32",
    form: str = "A@B",
    library: str = "torch",
    device: str = "cpu",
    seed: int = 0,
) -> dict[str, Any]:
    """Products that every accumulation in fp32 gets exactly right: whole numbers, all ones, a zero line.

    No threshold: any differing element is a wrong one, which tells a race from rounding.
    """
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    shape = parse_shape(size, form)
    if shape.k > EXACT_TERMS:
        raise MachineCheckError(f"size: found {shape.k} terms, expected at most {EXACT_TERMS} (exact in fp32)")
    planter = Planter(planted())
    operands = integer_operands(shape, form, seed)
    expected = proven_integer_product(operands, seed)
    if expected is None:
        return Reference({}, False, "REFERENCE UNUSABLE (Freivalds' check failed)").unusable()
    name = f"{form} ({library})"
    result = fetch(planter.output(product(operands, form, kind, library, where)(), form))
    zero_line = result[shape.m // 2]
    ones = Operands(np.ones((shape.m, shape.k)), np.ones((shape.k, shape.n)))
    all_ones = fetch(planter.output(product(ones, form, kind, library, where)(), form))
    count = rounded(np.full((shape.m, shape.n), float(shape.k)), kind.dtype)
    comparisons = {
        f"{name}: whole numbers": metrics.exact(result, rounded(expected, kind.dtype)),
        f"{name}: structural zero": metrics.exact(zero_line, np.zeros_like(zero_line)),
        f"{name}: all ones": metrics.exact(all_ones, count),
    }
    proof = {"usable": True, "reason": "", "agree": ["numpy, one thread", "Freivalds' check in 64-bit integers"]}
    return {"reference": proof, "comparisons": comparisons}
