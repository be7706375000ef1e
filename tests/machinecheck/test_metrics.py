"""Bounds, the exact comparison and the gate say what rounding explains, and nothing slips past them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from machinecheck import metrics
from machinecheck.devices import fetch, open_device
from machinecheck.precision import PRECISIONS
from machinecheck.products import normal_operands, parse_shape, product
from tachograph.machine.cellrecord import Comparison
from tachograph.machine.correctness import judge_comparison
from tachograph.machine.verdict import Verdict
from tachograph.models.bounds import Bounds

FP32, BF16 = PRECISIONS["fp32"], PRECISIONS["bf16"]


def verdict(found, dtype="fp32"):
    """The study's verdict on one comparison."""
    return judge_comparison(Comparison.model_validate(found), dtype, Bounds()).verdict


@pytest.fixture(scope="module", params=["fp32", "bf16"])
def clean(request):
    """A correct 512-term product with its float64 result and bound."""
    kind = PRECISIONS[request.param]
    operands = normal_operands(parse_shape("512", "A@B"), "A@B", kind.dtype, 0)
    result = fetch(product(operands, "A@B", kind, "torch", open_device("cpu"))())
    reference = operands.left @ operands.right
    return kind, result, reference, metrics.sum_bound(reference, operands.magnitude, 512, kind)


def test_clean_product_passes(clean):
    """A correct product is within the bound everywhere, in fp32 and in bf16."""
    _, result, reference, bound = clean
    found = metrics.compare(result, reference, bound)
    assert verdict(found) is Verdict.PASS
    assert 0 < found["ratio"] < 1


def test_one_element_off_by_a_half_is_found(clean):
    """One of 262,144 elements off by 0.5 is found at its place, though the norm in bf16 does not move."""
    kind, result, reference, bound = clean
    damaged = result.copy()
    damaged[77, 3] = reference[77, 3] + 0.5
    found = metrics.compare(damaged, reference, bound)
    assert verdict(found) is Verdict.FAIL
    assert (found["wrong"], found["first"]) == (1, [77, 3])
    if kind is BF16:
        assert found["frobenius"] == pytest.approx(metrics.errors(result, reference)["frobenius"], rel=0.01)


def shortened(values, bits):
    """fp32 numbers rounded to ``bits`` significant ones, as a kernel may do with its inputs."""
    mantissas, exponents = np.frexp(values)
    return np.ldexp(np.round(mantissas * 2.0**bits) / 2.0**bits, exponents)


def test_tf32_inputs_show_in_the_norm_alone():
    """Long sums hide inputs rounded to TF32's 11 bits from every single element, and not from the Frobenius error."""
    operands = normal_operands(parse_shape("64x16384x64", "A@B"), "A@B", FP32.dtype, 0)
    reference = operands.left @ operands.right
    bound = metrics.sum_bound(reference, operands.magnitude, 16384, FP32)
    wrong = metrics.compare(shortened(operands.left, 11) @ shortened(operands.right, 11), reference, bound)
    limit = {"frobenius_limit": metrics.frobenius_limit(16384, FP32)}
    assert (wrong["wrong"], verdict(wrong)) == (0, Verdict.PASS)
    assert verdict(wrong | limit) is Verdict.FAIL
    assert verdict(wrong | {"frobenius_limit": metrics.frobenius_limit(16384, PRECISIONS["tf32"])}) is Verdict.PASS
    right = metrics.compare(fetch(product(operands, "A@B", FP32, "torch", open_device("cpu"))()), reference, bound)
    assert verdict(right | limit) is Verdict.PASS


@pytest.mark.parametrize(
    ("kind", "terms", "limit"), [("fp32", 1024, "7.6e-06"), ("fp32", 4096, "1.5e-05"), ("bf16", 4096, "3.9e-03")]
)
def test_limits_of_the_frobenius_error(kind, terms, limit):
    """4 √k u in fp32, u of the output in bf16 (Higham & Mary's form with λ = 4)."""
    assert f"{metrics.frobenius_limit(terms, PRECISIONS[kind]):.1e}" == limit


def test_non_finite_is_counted_first(clean):
    """A NaN fails no comparison, so it is counted before one is made; infinity as well."""
    _, result, reference, bound = clean
    damaged = result.copy()
    damaged[0, 0], damaged[1, 1] = np.nan, np.inf
    found = metrics.compare(damaged, reference, bound)
    assert (verdict(found), found["nonfinite"]) == (Verdict.FAIL, 2)
    assert "ratio" not in found
    assert verdict(metrics.beside(damaged, [result], reference)) is Verdict.FAIL


def test_bound_is_the_published_one():
    """T = u_out |R| + 4 √k u_acc (|A||B|), with fp32's u = 2⁻²⁴, and the reference's own part."""
    bound = metrics.sum_bound(np.array([3.0]), np.array([100.0]), 1024, FP32)
    assert bound[0] == pytest.approx(3 * 2**-24 + 4 * 32 * (2**-24 + 2**-53) * 100, rel=1e-9)


def test_relative_errors_of_document_003():
    """The largest error over the largest magnitude gives the 3.451e-06 that document 003 prints."""
    assert f"{metrics.relative_error(1.157519e-03, 335.39):.3e}" == "3.451e-06"


def test_half_precision_sums_warn_but_a_race_fails():
    """Widespread excess within the half-precision bound is rounding; a rare one is a wrong result."""
    reference = np.zeros(1000)
    bound, loose = np.full(1000, 1e-3), np.full(1000, 1.0)
    widespread, rare, huge = np.zeros(1000), np.zeros(1000), np.full(1000, 2.0)
    widespread[:500], rare[0] = 0.5, 0.5
    assert verdict(metrics.compare(widespread, reference, bound, loose)) is Verdict.WARN
    assert verdict(metrics.compare(rare, reference, bound, loose)) is Verdict.FAIL
    assert verdict(metrics.compare(huge, reference, bound, loose)) is Verdict.FAIL
    assert verdict(metrics.compare(widespread, reference, bound)) is Verdict.FAIL


def test_gate_follows_the_rule():
    """RMSE ≤ 2 × the baseline's + 1e-5 of the reference's root mean square, judged at its edge."""
    reference = np.ones(1000)
    baseline = reference + 1e-3
    limit = 2 * 1e-3 + 1e-5
    assert verdict(metrics.beside(reference + 0.999 * limit, [baseline], reference)) is Verdict.PASS
    assert verdict(metrics.beside(reference + 1.001 * limit, [baseline], reference)) is Verdict.FAIL


def test_gate_with_a_broken_baseline_fails():
    """A baseline that is NaN allows nothing, also beside a good one."""
    reference = np.ones(10)
    found = metrics.beside(reference, [reference, np.full(10, np.nan)], reference)
    assert verdict(found) is Verdict.FAIL
    assert found["baseline_rmse"] is None


def test_exact_has_no_tolerance():
    """One unit in the last place is a difference."""
    expected = np.array([1.0, 0.0])
    assert verdict(metrics.exact(expected, expected)) is Verdict.PASS
    wrong = np.array([1.0, math.ulp(0.0)])
    assert metrics.exact(wrong, expected)["wrong"] == 1
