"""Preflight: does the reference repeat, do the arms compute the same, is each loop the one it claims to be.

Judged from the sealed parity file and the smoke histories before any run is timed (statistics.md, 3.2, tier 1).
"""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from tachograph.analysis.identity import identical
from tachograph.analysis.refusal import comparison_refused, machine_checks
from tachograph.analysis.sealed import SealedMachine, SealedRun, SealedStudy
from tachograph.evidence.history import read_history
from tachograph.evidence.judging import judged
from tachograph.evidence.parity import judge_parity
from tachograph.evidence.verdicts import ParityVerdict
from tachograph.execution.judging import history_spec
from tachograph.machine.sections import preflight as of_machine_study
from tachograph.models.study import Smoke
from tachograph.wording import counted


def preflight(sealed: SealedStudy | SealedMachine) -> dict[str, Any]:
    """``preflight/1``: one verdict per check. ``ok`` is False as soon as one is not PASS, null without checks."""
    if isinstance(sealed, SealedMachine):
        return of_machine_study(sealed)
    parity = _parity(sealed)
    checks = [
        *machine_checks(sealed),
        *parity["checks"],
        *(_smoke_check(sealed, check) for check in sealed.study.smoke),
    ]
    registered = {"parity": sealed.study.parity is not None, "smoke": bool(sealed.study.smoke)}
    return {
        "schema": "preflight/1",
        "study": sealed.study.name,
        "ok": all(check["verdict"] == ParityVerdict.PASS for check in checks) if checks else None,
        "checks": checks,
        "tensors": parity["tensors"],
        "batches": parity["batches"],
        "reference": sealed.study.design.reference,
        "reference_bounds": dict(sealed.study.parity.reference_bounds) if sealed.study.parity else {},
        "not_registered": [name for name, there in registered.items() if not there],
    }


def _parity(sealed: SealedStudy) -> dict[str, Any]:
    """A check per arm, the reference first: only where it repeats and is sound can another arm be compared to it."""
    empty: dict[str, Any] = {"checks": [], "tensors": [], "batches": None}
    if sealed.study.parity is None:
        return empty
    run = next(iter(sealed.of_role("parity")), None)
    reference = sealed.study.design.reference
    arms = [reference, *sealed.other_arms]
    refused = comparison_refused(sealed)
    if refused is not None:
        return {**empty, "checks": [_no_verdict(arm, reference, f"skipped, {refused}") for arm in arms]}
    if run is None:
        return {**empty, "checks": [_no_verdict(arm, reference, "the parity run does not count") for arm in arms]}
    source = f"{run.attempt.folder}/{run.facts['result']}"
    bounds = sealed.study.parity.reference_bounds
    found = judged("parity", lambda: judge_parity(run.content(), source, reference, bounds))
    if found.result is None:
        reason = found.reason or "unknown"
        return {**empty, "checks": [_no_verdict(arm, reference, reason) for arm in arms]}
    parity = found.result
    reasons = dict(parity.reasons)
    if parity.verdicts[reference] == ParityVerdict.PASS:
        twice = max(tensor.repeat_max or 0.0 for tensor in parity.tensors if tensor.arm == reference)
        reasons[reference] = f"largest difference when run twice on the same batches {twice:.3g}"
    checks = [
        _check(_name(arm, reference), arm, parity.verdicts[arm], reasons[arm])
        if arm in parity.verdicts
        else _no_verdict(arm, reference, "the parity file does not speak of this arm")
        for arm in arms
    ]
    return {"checks": checks, "tensors": [asdict(tensor) for tensor in parity.tensors], "batches": parity.batches}


def _name(arm: str, reference: str) -> str:
    return "reference repeats" if arm == reference else "numerics parity"


def _no_verdict(arm: str, reference: str, why: str) -> dict[str, Any]:
    return _check(_name(arm, reference), arm, ParityVerdict.NO_VERDICT, why)


def _smoke_check(sealed: SealedStudy, smoke: Smoke) -> dict[str, Any]:
    """Same seed, same registered columns, bit for bit, in the arm and in the loop as it was."""
    keys = [f"preflight-{name}-seed{smoke.seed}" for name in (smoke.arm, f"{smoke.arm}-before")]
    pair = [sealed.runs[key] for key in keys if key in sealed.runs]
    if len(pair) < 2:
        return _check("smoke", smoke.arm, ParityVerdict.NO_VERDICT, "a run of the pair does not count")
    runs = [_with_columns(run, sealed, smoke.columns) for run in pair]
    found = identical(runs[0], runs[1], list(smoke.columns))
    first = found["first_difference"]
    what = f"{', '.join(smoke.columns)} over {counted(smoke.iterations, 'iteration')}, seed {smoke.seed}"
    if first is None:
        return {
            **_check("smoke", smoke.arm, ParityVerdict.PASS, f"identical to {smoke.like.title} in {what}"),
            "comparison": found,
        }
    where = "" if first["iteration"] is None else f"iteration {first['iteration']}, "
    values = " and ".join("no number" if value is None else repr(value) for value in first["values"])
    detail = f"first difference in {where}{first['column']}: {values}"
    return {**_check("smoke", smoke.arm, ParityVerdict.FAIL, detail), "comparison": found}


def _with_columns(run: SealedRun, sealed: SealedStudy, columns: list[str]) -> SealedRun:
    """The run with a history that holds the smoke check's columns."""
    spec = history_spec(sealed.trainer.history)
    spec = replace(spec, extra=tuple(dict.fromkeys([*spec.extra, *columns])))
    return replace(run, history=read_history(run.path, spec))


def _check(name: str, arm: str, verdict: ParityVerdict, detail: str) -> dict[str, Any]:
    return {"check": name, "arm": arm, "verdict": str(verdict), "detail": detail}
