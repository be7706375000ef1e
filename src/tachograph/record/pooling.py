"""Factors of several records taken together: only where the facts agree and the sessions are different ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tachograph.evidence.decision import DecisionJudgement, decide, decide_over_sessions
from tachograph.evidence.interval import Factor, paired_log_t
from tachograph.evidence.verdicts import CurveVerdict, Decision, ParityVerdict, SpeedVerdict
from tachograph.record.decision import headline
from tachograph.record.facts import ReadRecord, differing
from tachograph.wording import counted


@dataclass(frozen=True)
class Pooled:
    """One arm over several sessions. ``factor``: geometric mean over sessions, its t interval has sessions as units.

    ``members`` are places in the list of records. ``decision`` None where no common decision rule is registered.
    """

    arm: str
    label: str
    members: tuple[int, ...]
    factor: Factor
    decision: DecisionJudgement | None


def pool(records: Sequence[ReadRecord], names: Sequence[str]) -> tuple[list[Pooled], list[str]]:
    """What may be pooled, and a sentence for every pair of records that may not; ``names`` of the records for these.

    Two records are pooled where they agree in what was measured and on what, and were made in different boots or on
    different days, from different runs. (The same registration on the same machine always agrees.)
    """
    refusals: list[str] = []
    groups: list[list[int]] = []
    for place in range(len(records)):
        for group in groups:
            if not _apart(records[group[0]], records[place]):
                group.append(place)
                break
        else:
            groups.append([place])
    for number, group in enumerate(groups):
        for other in groups[number + 1 :]:
            a, b = group[0], other[0]
            refusals.append(f"{names[a]} and {names[b]}: {_apart(records[a], records[b])}")
    refusals += [
        f"{name}: its runs were too short or not steady, so that it has no headline factor to pool"
        for name, record in zip(names, records, strict=True)
        if not record.content["steadiness"]["headline"]
    ]
    found = []
    for group in groups:
        members: list[int] = []
        for place in group:
            clash = next((m for m in members if _same_session(records[m], records[place])), None)
            if clash is None:
                members.append(place)
            else:
                why = _same_session(records[clash], records[place])
                refusals.append(f"{names[clash]} and {names[place]}: {why}; {names[place]} is left out")
        found += _pool([records[m] for m in members], members)
    return found, refusals


def _apart(a: ReadRecord, b: ReadRecord) -> str | None:
    """Why the factors of two records estimate different quantities, or None."""
    names = [*differing([a, b], "measured"), *differing([a, b], "where")]
    return f"they differ in {', '.join(names)}" if names else None


def _same_session(a: ReadRecord, b: ReadRecord) -> str | None:
    shared = len(a.histories & b.histories)
    if shared:
        return f"they share {counted(shared, 'run')}"
    return None if a.other_session(b) else "they are of one session (same boot and day)"


def _pool(records: list[ReadRecord], members: list[int]) -> list[Pooled]:
    found = []
    for arm in records[0].content["registration"]["arm_order"][1:]:
        rated = [(m, record) for m, record in zip(members, records, strict=True) if _factor(record, arm) is not None]
        if len(rated) < 2:
            continue
        factors = [_factor(record, arm) or 0.0 for _, record in rated]
        factor = paired_log_t([1.0] * len(factors), factors)
        label = headline(rated[0][1].content, arm)["label"]
        decision = _decision([record.content for _, record in rated], arm)
        found.append(Pooled(arm, label, tuple(m for m, _ in rated), factor, decision))
    return found


def _factor(record: ReadRecord, arm: str) -> float | None:
    """The headline factor; None also where the runs were too short or not steady, so that there is none."""
    value: float | None = headline(record.content, arm).get("factor")
    return value if record.content["steadiness"]["headline"] else None


def _decision(records: list[dict[str, Any]], arm: str) -> DecisionJudgement | None:
    """The registered rule over the sessions; None unless all records were made under the same rule."""
    rules = [record["decision"].get("rule") for record in records]
    if rules[0] is None or any(rule != rules[0] for rule in rules):
        return None
    own = [_alone(record, arm, rules[0]) for record in records]
    return decide_over_sessions(own, rules[0]["sessions"])


def _alone(record: dict[str, Any], arm: str, rule: dict[str, Any]) -> Decision:
    """What one session would decide were no other asked for."""
    one = next(one for one in record["decision"]["arms"] if one["arm"] == arm)
    verdicts = SpeedVerdict(one["speed"]), CurveVerdict(one["curves"]), ParityVerdict(one["parity"])
    found = decide(*verdicts, detectable_difference_allowed=rule["allow_detectable_difference"])
    return Decision.HOLD if record["status"] != "complete" and found.decision is Decision.ADOPT else found.decision
