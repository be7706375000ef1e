"""The decision on the page: one sentence at the top, and the section that says how it came about."""

from __future__ import annotations

from typing import Any

from tachograph.record.markdown import factor, table, text
from tachograph.wording import counted

Record = dict[str, Any]


def top(record: Record) -> str:
    """The decision on every arm, each in one sentence."""
    section = record["decision"]
    if not record["factors"]:
        return ""
    if not section["registered"]:
        return f"**No decision**: {text(section['reason'])}."
    return " ".join(_sentence(record, one) for one in section["arms"])


def _sentence(record: Record, one: dict[str, Any]) -> str:
    kind = record["registration"]["kind"]
    return (
        f"**{one['decision']} {text(one['arm'])}**: {text(why(one))} ({kind} study, {_sessions(record['decision'])})."
    )


def why(one: dict[str, Any]) -> str:
    """Why an arm was decided upon like this: every cause, and what was raised while judging."""
    return "; ".join([one["sentence"], *one["failures"]])


def _sessions(section: dict[str, Any]) -> str:
    wanted = section["rule"]["sessions"]
    return "one session" if wanted == 1 else f"one session of the {wanted} registered"


def decision(record: Record) -> str:
    """The rule as it was registered, what each verdict is, and which verdicts the plan could have reached."""
    section = record["decision"]
    if not section["registered"]:
        return f"There is none: {text(section['reason'])}."
    rule = section["rule"]
    parts = [
        _rule(rule),
        table(
            ["arm", "decision", "factor", "speed", "curves", "parity", "why"],
            [_row(record, one) for one in section["arms"]],
        ),
        *(_caps(one) for one in section["arms"] if one["caps"]),
        *(_reach(one) for one in section["plan"]["arms"]),
    ]
    return "\n\n".join(parts)


def _rule(rule: dict[str, Any]) -> str:
    """The registered rule in words, as evidence.decision applies it."""
    differing = "adopted" if rule["allow_detectable_difference"] else "not adopted"
    effect = f"{rule['minimum_effect']:g}"
    return (
        f"Registered rule: ADOPT where the interval of the factor reaches down to no less than {effect} and nothing "
        "speaks against relying on it, the curves are identical or match, the numerics parity passed where one is "
        f"registered, and every planned run counts, in {counted(rule['sessions'], 'session')}; REJECT where the "
        f"interval lies below {effect} and nothing speaks against relying on it, the curves do not match, the parity "
        "failed, or a run of the arm failed a gate of its output; else HOLD. A run of the reference that is invalid "
        "and a run of any arm that failed in another way, or was settled, reject nothing: they hold what would be "
        f"adopted. Curves with a detectable difference inside of their margins are {differing}. "
        f"α = {rule['alpha']:g}. Reason: {text(rule['reason'])}."
    )


def _row(record: Record, one: dict[str, Any]) -> list[str]:
    measured = headline(record, one["arm"])
    interval = factor(measured.get("factor"), measured.get("low"), measured.get("high"))
    interval += f", n = {len(measured['pairs'])}" if measured.get("pairs") else ""
    words = [f"**{one['decision']}**", interval, one["speed"], one["curves"], one["parity"]]
    return [text(one["arm"]), *words, text(why(one))]


def headline(record: Record, arm: str) -> dict[str, Any]:
    """The headline factor of an arm; empty if there is none."""
    return next((one for one in record["factors"] if one["headline"] and one["numerator"] == arm), {})


def _caps(one: dict[str, Any]) -> str:
    reasons = "\n".join(f"- {text(reason)}" for reason in one["caps"])
    return f"What speaks against relying on the speed of {text(one['arm'])}:\n\n{reasons}"


def _reach(one: dict[str, Any]) -> str:
    """What could be known before the first run."""
    if not one["missing"]:
        return f"The plan could reach every outcome of the rule for {text(one['arm'])}."
    missing = "\n".join(f"- {text(sentence)}" for sentence in one["missing"])
    found = (
        f"Not to be expected of this plan for {text(one['arm'])}, as known before the first run from the registered "
        f"assumptions alone:\n\n{missing}"
    )
    return f"{found}\n\n{text(one['whatever_the_seeds'])}." if one["whatever_the_seeds"] else found
