"""The stage table: where the time of a step goes, in each arm, and the component measured alone."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.sealed import SealedStudy
from tachograph.errors import TachographError
from tachograph.evidence.profile import parse_profile
from tachograph.evidence.stages import ArmSummary, ArmTime, stage_table
from tachograph.planning import COMPONENT


def stages(sealed: SealedStudy) -> dict[str, Any]:
    """``rows`` (stage, group, parent, per arm ms per step and share), ``arms`` (totals), ``factors``, or a reason."""
    if sealed.study.profile is None:
        return {"registered": False, "rows": [], "arms": {}, "reason": "no profile is registered"}
    runs = [run for run in sealed.of_role("profile") if run.planned.arm != COMPONENT]
    if not runs:
        return {"registered": True, "rows": [], "arms": {}, "reason": "no profile counts"}
    profiles = {run.planned.arm: parse_profile(run.content(), str(run.path)) for run in runs}
    try:
        table = stage_table(profiles)
    except TachographError as error:
        return {"registered": True, "rows": [], "arms": {}, "reason": str(error)}
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
        "arms": {arm: _summary(summary) for arm, summary in table.arms.items()},
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


def component(sealed: SealedStudy) -> dict[str, Any]:
    """The rates of the trainer's component (such as a game engine) measured alone, or a reason."""
    if not sealed.study.component:
        return {"registered": False, "reason": "no component is registered"}
    run = next((run for run in sealed.of_role("profile") if run.planned.arm == COMPONENT), None)
    if run is None:
        return {"registered": True, "rates": [], "reason": "the measurement of the component does not count"}
    content = run.content()
    known = ("name", "unit", "value", "seconds", "work", "repeats")
    return {
        "registered": True,
        "name": content["name"],
        "threads": content.get("threads"),
        "rates": [{key: one[key] for key in known if key in one} for one in content["rates"]],
    }
