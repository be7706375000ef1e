"""The stage table: where the time of a step goes, in each arm, and the component measured alone."""

from __future__ import annotations

import math
from statistics import geometric_mean
from typing import Any

from tachograph.analysis.disturbance import disturbed, quiet
from tachograph.analysis.factors import headline_factor
from tachograph.analysis.rates import retained_rates
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.errors import TachographError
from tachograph.evidence.profile import Profile, parse_profile
from tachograph.evidence.stages import ArmSummary, ArmTime, StageTable, stage_table
from tachograph.study.planning import COMPONENT
from tachograph.wording import fault


def stages(sealed: SealedStudy, training: list[dict[str, Any]], measured: list[dict[str, Any]]) -> dict[str, Any]:
    """``rows`` (stage, group, parent, per arm ms per step and share), ``arms`` (totals), ``factors``, or a reason.

    ``checks``: the factor of the whole step beside the headline, for every arm that has one. ``training`` and
    ``measured`` are the sections runs and factors.
    """
    if sealed.study.profile is None:
        return _without("no profile is registered", registered=False)
    runs = [run for run in sealed.of_role("profile") if run.planned.arm in sealed.study.arms]
    if not runs:
        return _without("no profile counts")
    try:
        profiles = {run.planned.arm: parse_profile(run.content(), _source(run)) for run in runs}
        table = stage_table(profiles, _training_rates(sealed, profiles, training))
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
            run.planned.arm: {
                **_summary(table.arms[run.planned.arm]),
                "disturbed": disturbed(run.facts, quiet(sealed)),
            }
            for run in runs
        },
        "factors": {
            arm: table.factor(reference, arm)
            for arm in sealed.other_arms
            if arm in table.arms and reference in table.arms
        },
        "checks": _checks(sealed, table, measured),
        "bounds": _bounds(sealed, table),
    }


def _training_rates(
    sealed: SealedStudy, profiles: dict[str, Profile], training: list[dict[str, Any]]
) -> dict[str, float]:
    """The geometric mean of the retained rate of each profiled arm's runs, where both count the same unit of work."""
    unit = sealed.trainer.history.work.unit
    rates = {arm: retained_rates(training, arm) for arm, profile in profiles.items() if profile.unit == unit}
    return {arm: geometric_mean(found) for arm, found in rates.items() if found}


def _checks(sealed: SealedStudy, table: StageTable, measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Amdahl's check of the stage table; ``sentence`` where the gap exceeds 5 %, else None."""
    reference, found = sealed.study.design.reference, []
    for arm in sealed.other_arms:
        headline = headline_factor(measured, arm)
        if headline is None or not {arm, reference} <= table.arms.keys():
            continue
        one = table.check(reference, arm, headline.factor)
        sentence = (
            f"the stages of {arm} and {reference} add up to a factor of {one.predicted:.2f}, the training runs give "
            f"{one.measured:.2f} ({one.gap:+.1%}, over 5 %): the shares explain the profiles and not the headline"
        )
        found.append({"arm": arm, **vars(one), "sentence": sentence if one.flagged else None})
    return found


def _bounds(sealed: SealedStudy, table: StageTable) -> dict[str, dict[str, Any]]:
    """By arm the largest factor that its stages allow by Amdahl's law; an arm without a limit is absent."""
    reference = sealed.study.design.reference
    profiled = [arm for arm in sealed.other_arms if {arm, reference} <= table.arms.keys()]
    found = {arm: table.bound(reference, arm) for arm in profiled}
    return {arm: vars(one) for arm, one in found.items() if one is not None and math.isfinite(one.factor)}


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
        "training_rate": summary.training_rate,
        "warnings": list(summary.warnings),
        "publishable": summary.publishable,
    }


def _without(reason: str, *, registered: bool = True) -> dict[str, Any]:
    return {
        "registered": registered,
        "rows": [],
        "arms": {},
        "steps": {},
        "factors": {},
        "checks": [],
        "bounds": {},
        "reason": reason,
    }


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
        if not rates:
            raise ValueError("found no rate")
        measured = {"name": str(content["name"]), "threads": content.get("threads"), "rates": rates}
        return {"registered": True, **measured, "disturbed": disturbed(run.facts, quiet(sealed))}
    except (KeyError, TypeError, ValueError) as error:
        reason = f"{_source(run)}: {fault(error)}, expected name and rates with name, unit and value"
        return {"registered": True, "rates": [], "reason": reason}


def _rate(one: dict[str, Any]) -> dict[str, Any]:
    """One rate of a component file; raises KeyError, TypeError or ValueError for anything else."""
    numbers = {key: float(one[key]) for key in ("value", "seconds", "work") if one.get(key) is not None}
    if not all(0 < value < math.inf for value in numbers.values()) or "value" not in numbers:
        raise ValueError(f"found {numbers}, expected positive numbers")
    return {"name": str(one["name"]), "unit": str(one["unit"]), **numbers, "repeats": one.get("repeats")}


def _source(run: SealedRun) -> str:
    return f"{run.attempt.folder}/{run.facts['result']}"
