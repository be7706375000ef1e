"""The stage table: where the time of a step goes, in each arm, and the component measured alone."""

from __future__ import annotations

import math
from typing import Any

from tachograph.analysis.disturbance import disturbed
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.errors import TachographError
from tachograph.evidence.profile import parse_profile
from tachograph.evidence.stages import ArmSummary, ArmTime, stage_table
from tachograph.study.planning import COMPONENT


def stages(sealed: SealedStudy) -> dict[str, Any]:
    """``rows`` (stage, group, parent, per arm ms per step and share), ``arms`` (totals), ``factors``, or a reason."""
    if sealed.study.profile is None:
        return _without("no profile is registered", registered=False)
    runs = [run for run in sealed.of_role("profile") if run.planned.arm != COMPONENT]
    if not runs:
        return _without("no profile counts")
    try:
        profiles = {run.planned.arm: parse_profile(run.content(), _source(run)) for run in runs}
        table = stage_table(profiles)
    except TachographError as error:
        return _without(str(error))
    reference = sealed.study.design.reference
    first = next(iter(profiles.values()))
    return {
        "registered": True,
        "steps": {arm: profile.steps for arm, profile in profiles.items()},
        "unit": first.unit,
        "work_per_step": first.work_per_step,
        "rows": [
            {
                "stage": row.name,
                "group": row.group,
                "parent": row.parent,
                "arms": {arm: _time(time) for arm, time in row.arms.items()},
                "factors": {arm: row.factor(reference, arm) for arm in sealed.other_arms},
            }
            for row in table.rows
        ],
        "arms": {
            run.planned.arm: {**_summary(table.arms[run.planned.arm]), "disturbed": disturbed(run.facts["host"])}
            for run in runs
        },
        "factors": {
            arm: table.factor(reference, arm)
            for arm in sealed.other_arms
            if arm in table.arms and reference in table.arms
        },
    }


def _time(time: ArmTime | None) -> dict[str, float] | None:
    return None if time is None else {"ms_per_step": time.ms, "share": time.share}


def _summary(summary: ArmSummary) -> dict[str, Any]:
    bare = summary.uninstrumented_rate
    return {
        "total": _time(summary.total),
        "environment": _time(summary.environment),
        "closure": summary.closure,
        "rate": summary.rate,
        "uninstrumented_rate": bare,
        "instrumented_over_uninstrumented": None if bare is None else summary.rate / bare,
        "warnings": list(summary.warnings),
        "publishable": summary.publishable,
    }


def _without(reason: str, *, registered: bool = True) -> dict[str, Any]:
    return {"registered": registered, "rows": [], "arms": {}, "steps": {}, "factors": {}, "reason": reason}


def component(sealed: SealedStudy) -> dict[str, Any]:
    """The rates of the trainer's component (such as a game engine) measured alone, or a reason."""
    if not sealed.study.component:
        return {"registered": False, "rates": [], "reason": "no component is registered"}
    run = next((run for run in sealed.of_role("profile") if run.planned.arm == COMPONENT), None)
    if run is None:
        return {"registered": True, "rates": [], "reason": "the measurement of the component does not count"}
    content = run.content()
    try:
        rates = [_rate(one) for one in content["rates"]]
        measured = {"name": str(content["name"]), "threads": content.get("threads"), "rates": rates}
        return {"registered": True, **measured, "disturbed": disturbed(run.facts["host"])}
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{_source(run)}: {error!r}, expected name and rates with name, unit and value"
        return {"registered": True, "rates": [], "reason": reason}


def _rate(one: dict[str, Any]) -> dict[str, Any]:
    """One rate of a component file; raises KeyError, TypeError or ValueError for anything else."""
    numbers = {key: float(one[key]) for key in ("value", "seconds", "work") if one.get(key) is not None}
    if not all(0 < value < math.inf for value in numbers.values()) or "value" not in numbers:
        raise ValueError(f"found {numbers}, expected positive numbers")
    return {"name": str(one["name"]), "unit": str(one["unit"]), **numbers, "repeats": one.get("repeats")}


def _source(run: SealedRun) -> str:
    return f"{run.attempt.folder}/{run.facts['result']}"
