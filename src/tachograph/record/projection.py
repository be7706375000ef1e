"""What a whole training would take, as the page tells it."""

from __future__ import annotations

from typing import Any

from tachograph.record.markdown import significant, table, text
from tachograph.wording import counted

Record = dict[str, Any]


def projection(record: Record) -> str:
    """Hours for a whole training, arm beside arm, with what they rest on."""
    section = record["projection"]
    if not section["rows"]:
        return ""
    order = record["registration"]["arm_order"]
    arms = sorted(section["rows"], key=lambda row: order.index(row["arm"]))  # stable: intervals keep their order
    first = {row["every"]: row for row in arms if row["arm"] == arms[0]["arm"]}
    rows = []
    for row in arms:
        base, more = first.get(row["every"]), "–"
        if base is not None and base is not row:
            more = f"{(row['hours'] - base['hours']) * 60:+.1f} min ({row['hours'] / base['hours'] - 1:+.1%})"
        every = "none" if row["every"] is None else f"every {row['every']:g}"
        rows.append([text(row["arm"]), every, _ranged(row, "seconds"), _ranged(row, "hours"), more])
    headers = ["arm", "evaluations", "s/iteration", "hours", f"against {text(arms[0]['arm'])} with as many evaluations"]
    return " ".join(_rests_on(record, arms)) + "\n\n" + table(headers, rows, right=(2, 3, 4))


def _rests_on(record: Record, arms: list[dict[str, Any]]) -> list[str]:
    """The sentences above the table: what was measured, what is assumed."""
    plain = [row for row in arms if row["every"] is None]
    members = ", ".join(f"{row['runs']} ({text(row['arm'])})" for row in plain)
    sentences = [
        f"Projected to {record['projection']['iterations']:,} iterations from the mean iteration of the runs "
        f"({members}) of {counted(record['registration']['design']['iterations'], 'iteration')} each, after "
        "their warm-up: arithmetic, not a measurement. In square brackets, were every iteration like the mean one of "
        "the fastest and of the slowest run. That later iterations take as long as these is assumed."
    ]
    for by, words in (
        ("excess", "their excess"),
        ("timer", "the trainer's own timer, as not every excess can be told"),
    ):
        names = dict.fromkeys(text(row["arm"]) for row in arms if row["evaluation_by"] == by)
        if names:
            sentences.append(f"Evaluations of {', '.join(names)} count by {words}.")
    beside = {text(row["arm"]): row["beside_seconds"] for row in arms if row["beside_seconds"]}
    if beside:
        cost = ", ".join(f"{significant(seconds)} s/iteration ({arm})" for arm, seconds in beside.items())
        sentences.append(
            f"The interval is that of the largest evaluations; smaller ones are taken to be as frequent as in these "
            f"runs and cost {cost}, which is in each row with evaluations."
        )
    if any(row["checkpoints"] for row in arms):
        sentences.append("Checkpoints are taken to be as frequent as in these runs.")
    return sentences


def _ranged(row: dict[str, Any], key: str) -> str:
    if row["runs"] < 2:
        return significant(row[key], 4)
    return f"{significant(row[key], 4)} [{significant(row[f'{key}_low'])}, {significant(row[f'{key}_high'])}]"
