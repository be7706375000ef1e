"""The speed verdict and the decision on every arm, by the rule that was registered before the first run."""

from __future__ import annotations

import math
from typing import Any

from tachograph.analysis.conditions import no_headline
from tachograph.analysis.factors import headline_factor
from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence.decision import DecisionJudgement, SpeedJudgement, decide, speed_verdict
from tachograph.evidence.interval import Factor
from tachograph.evidence.judging import Judged, judged
from tachograph.evidence.verdicts import CurveVerdict, Decision, ParityVerdict, SpeedVerdict
from tachograph.models import DecisionRule
from tachograph.study.reach import reach
from tachograph.wording import share

SESSIONS_IN_A_RECORD = 1  # a record is one confirmation however long it took: its interval pools all its blocks


def decision(sealed: SealedStudy, analysis: dict[str, Any]) -> dict[str, Any]:
    """The registered ``rule``, one entry of ``arms`` for each arm but the reference, and what the ``plan`` could reach.

    ``analysis`` holds the sections that the rule speaks of: factors, steadiness, reservations, curve verdicts,
    preflight, counts. Whatever is raised while judging is NO VERDICT with its reason, and the decision HOLD.
    """
    rule = sealed.study.decision
    plan = reach(sealed.study)
    if rule is None:
        return {"registered": False, "reason": "no decision rule is registered", "arms": [], "plan": plan}
    return {
        "registered": True,
        "rule": rule.model_dump(mode="json"),
        "sessions": SESSIONS_IN_A_RECORD,
        "arms": [_arm(rule, analysis, arm) for arm in sealed.other_arms],
        "plan": plan,
    }


def _arm(rule: DecisionRule, analysis: dict[str, Any], arm: str) -> dict[str, Any]:
    parity = judged("the parity", lambda: parity_of(analysis["preflight"], arm))
    shown = parity.result or ParityVerdict.NO_VERDICT
    speed = judged("the speed", lambda: _speed(rule, analysis, arm, shown))
    curve = judged("the curves", lambda: _curve(analysis, arm))
    ground = next((one.get("why", one["sentence"]) for one in analysis["curve_verdicts"] if one["arm"] == arm), "")
    found = judged("the decision", lambda: _decide(rule, analysis["counts"], speed, curve, parity, ground))
    caps = speed.result.caps if speed.result else ()
    decided = found.result or DecisionJudgement(Decision.HOLD, found.reason or "it could not be judged")
    return {
        "arm": arm,
        "decision": str(decided.decision),
        "sentence": decided.sentence,
        "speed": str(speed.result.verdict if speed.result else SpeedVerdict.NO_VERDICT),
        "speed_uncapped": str(speed.result.uncapped if speed.result else SpeedVerdict.NO_VERDICT),
        "caps": list(caps),
        "curves": str(curve.result or CurveVerdict.NO_VERDICT),
        "parity": str(parity.result or ParityVerdict.NO_VERDICT),
        "failures": [one.reason for one in (speed, curve, parity, found) if one.reason],
    }


def _speed(rule: DecisionRule, analysis: dict[str, Any], arm: str, parity: ParityVerdict) -> SpeedJudgement:
    one = next(one for one in analysis["factors"] if one["headline"] and one["numerator"] == arm)
    found = headline_factor(analysis["factors"], arm)
    factor: Judged[Factor] = Judged(found, None if found else one.get("reason"))
    caps = [one["sentence"] for one in analysis["reservations"] if one["arm"] in (None, arm)]
    ceiling, origin = ceiling_of(rule, analysis["stages"], arm)
    unsteady = no_headline(analysis["steadiness"])
    return speed_verdict(factor, rule.minimum_effect, caps, unsteady, ceiling, parity, origin)


def ceiling_of(rule: DecisionRule, stages: dict[str, Any], arm: str) -> tuple[float, str]:
    """The largest factor of ``arm`` that can be true, and whence: registered, else by Amdahl's law on the profiles."""
    if rule.ceiling is not None:
        return rule.ceiling, "registered"
    one = stages["bounds"].get(arm)
    if one is None:
        return math.inf, "none"
    parts = f"{len(one['parts'])} stages" if len(one["parts"]) > 1 else one["parts"][0]
    return one["factor"], f"Amdahl's law: {parts} of the reference's profile, {one['share']:.1%} of a step"


def _curve(analysis: dict[str, Any], arm: str) -> CurveVerdict:
    return CurveVerdict(next(one["verdict"] for one in analysis["curve_verdicts"] if one["arm"] == arm))


def parity_of(preflight: dict[str, Any], arm: str) -> ParityVerdict:
    """The verdict of the numerics parity of ``arm``, NOT REGISTERED where none is registered."""
    if "parity" in preflight["not_registered"]:
        return ParityVerdict.NOT_REGISTERED
    checks = [one for one in preflight["checks"] if one["check"] == "numerics parity" and one["arm"] == arm]
    return ParityVerdict(checks[0]["verdict"]) if checks else ParityVerdict.NO_VERDICT


def _decide(
    rule: DecisionRule,
    counts: dict[str, Any],
    speed: Judged[SpeedJudgement],
    curve: Judged[CurveVerdict],
    parity: Judged[ParityVerdict],
    curve_why: str,
) -> DecisionJudgement:
    incomplete = None
    if counts["counted"] < counts["planned"]:
        incomplete = f"only {share(counts['counted'], counts['planned'], 'planned run', 'counts', 'count')}"
    return decide(
        speed.result.verdict if speed.result else SpeedVerdict.NO_VERDICT,
        curve.result or CurveVerdict.NO_VERDICT,
        parity.result or ParityVerdict.NO_VERDICT,
        SESSIONS_IN_A_RECORD,
        rule.sessions,
        rule.allow_detectable_difference,
        speed.result.sentence if speed.result else None,
        curve_why if curve.result else "",
        incomplete,
    )
