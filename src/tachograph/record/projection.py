"""What a whole training would take, as the page tells it."""

from __future__ import annotations

from typing import Any

from tachograph.record.markdown import significant, table, text

Record = dict[str, Any]


def projection(record: Record) -> str:
    """Hours for a whole training, arm beside arm, with what they rest on."""
    section = record["projection"]
    if not section["arms"]:
        return ""
    order = record["registration"]["arm_order"]
    arms = sorted(section["arms"], key=lambda row: order.index(row["arm"]))
    compared = "hours" if any(row["hours_with_evaluations"] is None for row in arms) else "hours_with_evaluations"
    first, rows = arms[0], []
    for row in arms:
        more = "–"
        if row is not first:
            more = f"{(row[compared] - first[compared]) * 60:+.1f} min ({row[compared] / first[compared] - 1:+.1%})"
        cells = [text(row["arm"]), _ranged(row, "seconds"), _ranged(row, "hours")]
        rows.append([*cells, _ranged(row, "hours_with_evaluations"), more])
    included = "evaluations included" if compared == "hours_with_evaluations" else "without evaluations"
    headers = ["arm", "s/iteration", "hours without evaluations", "hours with them",
               f"against {text(first['arm'])}, {included}"]  # fmt: skip
    counted = ", ".join(f"{row['runs']} ({text(row['arm'])})" for row in arms)
    sentences = [
        f"Projected to {section['iterations']:,} iterations from the mean iteration of {counted} runs after their "
        f"warm-up, {record['registration']['design']['iterations']} iterations each: arithmetic, not a measurement. In "
        "brackets, were every iteration like the mean one of the fastest and of the slowest run. That later iterations "
        "take as long as these is assumed."
    ]
    sentences += [_evaluated(row) for row in arms if row["evaluation_by"] is not None]
    if any(row["checkpoints"] for row in arms):
        sentences.append("Checkpoints are taken to be as frequent as in these runs.")
    return " ".join(sentences) + "\n\n" + table(headers, rows, right=range(1, len(headers)))


def _evaluated(row: dict[str, Any]) -> str:
    by = "their excess" if row["evaluation_by"] == "excess" else "the trainer's own timer"
    return f"Evaluations of {text(row['arm'])}: one in {row['evaluation_every']} iterations, by {by}."


def _ranged(row: dict[str, Any], key: str) -> str:
    if row[key] is None:
        return "–"
    if row["runs"] < 2:
        return significant(row[key], 4)
    return f"{significant(row[key], 4)} [{significant(row[f'{key}_low'])}, {significant(row[f'{key}_high'])}]"
