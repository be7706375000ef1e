"""Numerics parity against double precision."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from tachograph.evidence.parity import Parity, ParityError, judge_parity
from tachograph.evidence.verdicts import ParityVerdict
from tachograph.record.trust import preflight


def tensor(arm: str, rmse: float, dtype: str = "bfloat16", **more: Any) -> dict[str, Any]:
    row = {
        "arm": arm, "name": "policy logits", "dtype": dtype, "rmse_fp64": rmse, "max_abs_fp64": 4 * rmse,
        "max_abs_reference": 0.0078, "nonfinite_rows": 0, "repeat_max_abs": 0.0, "tolerance": 1e-3,
    }  # fmt: skip
    return {**row, **more}


def judge(*tensors: dict[str, Any], batches: int = 20, **settings: Any) -> Parity:
    data = {"schema": "parity/1", "batches": batches, "rows": 1280, "tensors": list(tensors)}
    return judge_parity(data, "parity.json", **settings)


@pytest.mark.parametrize(
    ("reference", "fast", "dtype", "verdict"),
    [
        (0.002, 0.0078, "bfloat16", ParityVerdict.FAIL),
        (0.004, 0.0078, "bfloat16", ParityVerdict.PASS),
        (0.004, 0.0078, "float16", ParityVerdict.PASS),
        (0.004, 0.0081, "float32", ParityVerdict.PASS),
        (0.004, 0.0082, "float32", ParityVerdict.FAIL),
    ],
)
def test_rounding_bound(reference: float, fast: float, dtype: str, verdict: ParityVerdict) -> None:
    """I26: an arm may be off by c times the reference's own error plus a tenth of the tolerance."""
    found = judge(tensor("reference", reference, dtype), tensor("fast", fast, dtype))
    assert found.verdicts == {"reference": ParityVerdict.PASS, "fast": verdict}


def test_non_finite_rows_fail() -> None:
    """One row that is not finite fails the arm, however exact the others are; so does an undefined error."""
    found = judge(tensor("reference", 0.004), tensor("fast", 0.001, nonfinite_rows=1))
    assert found.verdicts["fast"] is ParityVerdict.FAIL
    assert "1 row" in found.reasons["fast"]
    found = judge(tensor("reference", 0.004), tensor("fast", float("nan")))
    assert found.verdicts["fast"] is ParityVerdict.FAIL


NOTHING_FINITE = {"rmse_fp64": None, "max_abs_fp64": 0.0, "nonfinite_rows": 1280}


def test_arm_without_a_finite_number_fails_alone() -> None:
    """D25: an arm of nothing but NaN has no error (null): it FAILs, the others are judged, and no 0 is told of it."""
    found = judge(tensor("reference", 0.004), tensor("fast", 0.004), tensor("compiled", 0.0, **NOTHING_FINITE))
    passed = ParityVerdict.PASS
    assert found.verdicts == {"reference": passed, "fast": passed, "compiled": ParityVerdict.FAIL}
    assert found.reasons["compiled"] == "1280 rows of policy logits are not finite"
    one = found.tensors[-1]
    assert (one.rmse, one.max_abs_fp64, one.max_abs_reference, one.repeat_max) == (None, None, None, None)
    section = {"checks": [], "tensors": [asdict(one)], "batches": 20, "reference": "reference", "not_registered": []}
    row = preflight({"preflight": section}).splitlines()[-1].replace(" ", "")
    assert row == "|compiled|policylogits|bfloat16|unknown|0.0121|unknown|unknown|1280|"
    with pytest.raises(ParityError, match="expected the numbers of a parity file"):
        judge(tensor("reference", 0.004), tensor("fast", 0.0, rmse_fp64=None))  # although every row is finite


@pytest.mark.parametrize(
    "fault", [NOTHING_FINITE, {"nonfinite_rows": 2}, {"rmse_fp64": float("nan")}, {"rmse_fp64": 0.2}]
)
def test_broken_reference_is_told_apart(fault: dict[str, Any]) -> None:
    """Where the reference is off against double precision, it is the reference that is broken."""
    found = judge(
        {**tensor("reference", 0.004), **fault},
        tensor("fast", 0.004),
        reference_bounds={"policy logits": 0.05},
    )
    assert set(found.verdicts.values()) == {ParityVerdict.REFERENCE_BROKEN}


def test_reference_that_does_not_repeat_is_not_compared() -> None:
    """D22: a reference that differs from itself is no reference: the comparison is skipped, not passed."""
    found = judge(tensor("reference", 0.004, repeat_max_abs=0.146), tensor("fast", 0.004))
    assert found.verdicts["fast"] is ParityVerdict.REFERENCE_NOT_REPEATABLE
    assert "0.146" in found.reasons["fast"]
    found = judge(tensor("reference", 0.004, repeat_max_abs=float("nan")), tensor("fast", 0.004))
    assert found.verdicts["fast"] is ParityVerdict.REFERENCE_NOT_REPEATABLE


def test_too_few_batches_give_no_verdict() -> None:
    """Fewer than twenty batches decide nothing."""
    found = judge(tensor("reference", 0.004), tensor("fast", 0.004), batches=19)
    assert found.verdicts["fast"] is ParityVerdict.NO_VERDICT


def test_bad_parity_files_are_refused() -> None:
    """A file of another schema, without a key, with an unknown type or a missing tensor is refused."""
    with pytest.raises(ParityError, match="expected 'parity/1'"):
        judge_parity({"schema": "x"}, "parity.json")
    incomplete = tensor("reference", 0.1)
    del incomplete["rmse_fp64"]
    with pytest.raises(ParityError, match="'rmse_fp64' is missing"):
        judge(incomplete)
    with pytest.raises(ParityError, match="int8"):
        judge(tensor("reference", 0.1, dtype="int8"))
    with pytest.raises(ParityError, match="no tensor of the arm 'reference'"):
        judge()
    with pytest.raises(ParityError, match="lacks the tensors value logits"):
        judge(tensor("reference", 0.1), tensor("reference", 0.1, name="value logits"), tensor("fast", 0.1))
