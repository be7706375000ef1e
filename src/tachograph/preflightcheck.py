"""Preflight: does the reference repeat, do the arms compute the same, is each loop the one it claims to be.

Judged from the sealed parity file and the smoke histories before any run is timed (statistics.md, 3.2, tier 1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tachograph.analysis.curves import identical
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.errors import TachographError
from tachograph.evidence.history import read_history
from tachograph.judging import history_spec
from tachograph.models.study import Smoke

PASS, FAIL, NOT_JUDGED = "pass", "fail", "not judged"
NOT_REPEATABLE, REFERENCE_BROKEN = "REFERENCE NOT REPEATABLE", "REFERENCE BROKEN"
TIMES = {"float32": 2.0, "bfloat16": 3.0, "float16": 3.0}
NUMBERS = ("rmse_fp64", "max_abs_fp64", "max_abs_reference", "repeat_max_abs", "tolerance")


def preflight(sealed: SealedStudy) -> dict[str, Any]:
    """``preflight/1``: one verdict per check, and ``ok``: False as soon as one check failed, null without checks."""
    checks = [*_parity_checks(sealed), *(_smoke_check(sealed, check) for check in sealed.study.smoke)]
    not_registered = [
        name for name, there in (("parity", sealed.study.parity), ("smoke", bool(sealed.study.smoke))) if not there
    ]
    verdicts = [check["verdict"] for check in checks]
    ok = None if not verdicts else all(verdict == PASS for verdict in verdicts)
    return {
        "schema": "preflight/1",
        "study": sealed.study.name,
        "ok": ok,
        "checks": checks,
        "not_registered": not_registered,
    }


def _parity_checks(sealed: SealedStudy) -> list[dict[str, Any]]:
    if not sealed.study.parity:
        return []
    run = next(iter(sealed.of_role("parity")), None)
    if run is None:
        return [_check("numerics parity", "all", NOT_JUDGED, "the parity run does not count")]
    return judge_parity(run.content(), sealed.study.design.reference, list(sealed.study.arms), str(run.path))


def judge_parity(
    content: Mapping[str, Any], reference: str, arms: list[str], source: str
) -> list[dict[str, Any]]:
    """Verdicts of a ``parity/1`` file: first the reference itself, then every other arm, tensor by tensor.

    The reference must repeat (the same batch twice: difference 0) and lie within the tolerance of float64; only
    then can an arm be compared to it. An arm passes if it has no row that is not finite and
    RMSE(arm) ≤ c · RMSE(reference) + tolerance / 10 against float64, c = 2 for float32, 3 for half precision.
    Raises TachographError naming ``source`` if the file lacks an arm, a tensor or a number.
    """
    table = _tensors(content, source)
    checks = []
    for name, tensor in table.get(reference, {}).items():
        checks.append(_judge_reference(name, tensor, reference))
    if not checks:
        raise TachographError(f"{source}: no tensor of the reference arm {reference!r}")
    unusable = {check["tensor"] for check in checks if check["verdict"] != PASS}
    for arm in arms:
        if arm == reference:
            continue
        if arm not in table:
            checks.append(_check("numerics parity", arm, NOT_JUDGED, "the parity file does not speak of this arm"))
        for name, tensor in table.get(arm, {}).items():
            checks.append(_judge_arm(name, tensor, table[reference].get(name), arm, name in unusable))
    return checks


def _judge_reference(name: str, tensor: dict[str, Any], arm: str) -> dict[str, Any]:
    if tensor["nonfinite_rows"]:
        verdict, detail = REFERENCE_BROKEN, f"{tensor['nonfinite_rows']} rows are not finite"
    elif tensor["repeat_max_abs"] != 0:
        verdict = NOT_REPEATABLE
        detail = f"the same batch twice differs by up to {tensor['repeat_max_abs']:.3g}"
    elif tensor["rmse_fp64"] > tensor["tolerance"]:
        verdict = REFERENCE_BROKEN
        detail = f"RMSE {tensor['rmse_fp64']:.3g} against float64 exceeds the tolerance {tensor['tolerance']:.3g}"
    else:
        verdict = PASS
        detail = f"repeats bit for bit; RMSE {tensor['rmse_fp64']:.3g} against float64"
    return _check("reference repeats", arm, verdict, detail, name, tensor)


def _judge_arm(
    name: str, tensor: dict[str, Any], reference: dict[str, Any] | None, arm: str, unusable: bool
) -> dict[str, Any]:
    if reference is None or unusable:
        why = "the reference has no such tensor" if reference is None else "the reference cannot be used for it"
        return _check("numerics parity", arm, NOT_JUDGED, why, name, tensor)
    times = TIMES.get(tensor["dtype"])
    if times is None:
        return _check("numerics parity", arm, NOT_JUDGED, f"no bound for {tensor['dtype']}", name, tensor)
    bound = times * reference["rmse_fp64"] + tensor["tolerance"] / 10
    if tensor["nonfinite_rows"]:
        verdict, detail = FAIL, f"{tensor['nonfinite_rows']} rows are not finite"
    else:
        verdict = PASS if tensor["rmse_fp64"] <= bound else FAIL
        sign = "≤" if verdict == PASS else ">"
        detail = f"RMSE {tensor['rmse_fp64']:.3g} {sign} {bound:.3g} against float64"
    return {**_check("numerics parity", arm, verdict, detail, name, tensor), "bound": bound}


def _tensors(content: Mapping[str, Any], source: str) -> dict[str, dict[str, dict[str, Any]]]:
    """``arm -> tensor name -> numbers``, checked."""
    table: dict[str, dict[str, dict[str, Any]]] = {}
    rows = content.get("tensors")
    if not isinstance(rows, list) or not rows:
        raise TachographError(f"{source}: tensors: found {rows!r}, expected a list of compared tensors")
    for place, row in enumerate(rows):
        for key in NUMBERS:
            value = row.get(key)
            if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value) or value < 0:
                raise TachographError(f"{source}: tensors[{place}].{key}: found {value!r}, expected a number")
        if not isinstance(row.get("nonfinite_rows"), int):
            raise TachographError(f"{source}: tensors[{place}].nonfinite_rows: expected a whole number")
        table.setdefault(str(row.get("arm")), {})[str(row.get("name"))] = dict(row)
    return table


def _smoke_check(sealed: SealedStudy, smoke: Smoke) -> dict[str, Any]:
    """Same seed, same registered columns, bit for bit, in the arm and in the loop as it was."""
    keys = [f"preflight-{name}-seed{smoke.seed}" for name in (smoke.arm, f"{smoke.arm}-before")]
    pair = [sealed.runs.get(key) for key in keys]
    if pair[0] is None or pair[1] is None:
        return _check("smoke", smoke.arm, NOT_JUDGED, "a run of the pair does not count")
    runs = [_with_columns(run, sealed, smoke.columns) for run in pair if run is not None]
    found = identical(runs[0], runs[1], list(smoke.columns))
    first = found["first_difference"]
    detail = f"identical in {', '.join(smoke.columns)} over {smoke.iterations} iterations, seed {smoke.seed}"
    if first is not None:
        values = " and ".join(str(value) for value in first["values"])
        where = "the numbers of iterations differ" if first["iteration"] is None else f"iteration {first['iteration']}"
        detail = f"first difference: {where}, {first['column']}: {values}"
    return {**_check("smoke", smoke.arm, PASS if found["identical"] else FAIL, detail), "comparison": found}


def _with_columns(run: SealedRun, sealed: SealedStudy, columns: list[str]) -> SealedRun:
    """The run with a history that holds the smoke check's columns."""
    spec = history_spec(sealed.trainer.history)
    spec = type(spec)(**{**vars(spec), "extra": tuple(dict.fromkeys([*spec.extra, *columns]))})
    return SealedRun(run.planned, run.attempt, run.facts, run.path, read_history(run.path, spec))


def _check(
    name: str, arm: str, verdict: str, detail: str, tensor: str | None = None, numbers: dict[str, Any] | None = None
) -> dict[str, Any]:
    found: dict[str, Any] = {"check": name, "arm": arm, "verdict": verdict, "detail": detail, "tensor": tensor}
    if numbers is not None:
        found["numbers"] = {key: numbers[key] for key in (*NUMBERS, "nonfinite_rows")}
        found["numbers"]["dtype"] = numbers.get("dtype")
    return found
