"""The phase table of an iteration, and what could still be won by working on which part."""

from __future__ import annotations

from typing import Any

from tachograph.evidence.amdahl import NO_PAY
from tachograph.record.markdown import factor, percent, significant, table, text

Record = dict[str, Any]
NESTED = "The share of a part of another one is in the share of that one, too: the two are never added."


def phases(record: Record, over: str = "the iterations after warm-up of all runs") -> str:
    """Mean seconds and share of every phase, arm beside arm; the check by Amdahl's law; the ceilings.

    ``over``: what the means are over.
    """
    section = record["phases"]
    parts = [_table(record, over)] if section["arms"] else [f"There is no phase table: {text(section['reason'])}."]
    parts += [
        f"**{text(arm)}**: {text(warning)}." for arm, one in section["arms"].items() for warning in one["warnings"]
    ]
    parts += [_check(one) for one in section["predictions"]]
    parts += [_ceilings(record, whole) for whole in ("step", "iteration")]
    return "\n\n".join(part for part in parts if part)


def _table(record: Record, over: str) -> str:
    arms = {name: record["phases"]["arms"][name] for name in record["registration"]["arm_order"]}
    first = next(iter(arms.values()))
    headers = ["phase"]
    for arm in arms:
        headers += [f"{text(arm)} s/iteration", "share"]
    rows, idle = [], []
    for row in first["rows"]:
        if not any(own["seconds"] for one in arms.values() for own in one["rows"] if own["phase"] == row["phase"]):
            idle.append(text(row["phase"]))
            continue
        inside = f" (in {text(row['parent'])})" if row["parent"] else " (nested)" if row["nested"] else ""
        inside += " (parallel)" if row["parallel"] else ""
        cells = [text(row["phase"]) + inside]
        for one in arms.values():
            own = next(other for other in one["rows"] if other["phase"] == row["phase"])
            cells += [significant(own["seconds"]), percent(own["share"])]
        rows.append(cells)
    together, total = ["sum of the phases without a parent"], ["**iteration**"]
    for one in arms.values():
        together += [significant(one["covered"] * one["seconds"]), percent(one["covered"])]
        total += [f"**{significant(one['seconds'])}**", ""]
    found = table(headers, [*rows, together, total], right=range(1, len(headers)))
    left_out = f"\n\nNot shown, as they take no time in these iterations: {', '.join(idle)}." if idle else ""
    return f"{_window(record, arms, over)}\n\n{found}{left_out}"


def _window(record: Record, arms: dict[str, dict[str, Any]], over: str) -> str:
    """Which iterations the means are over, and why another table may be over fewer."""
    evaluated = bool(record["evaluation"]["arms"])
    counted = ", ".join(f"{one['iterations']} ({text(arm)})" for arm, one in arms.items())
    plain = " that hold no evaluation" if evaluated else ""
    sentence = f"Means over {over}{plain}: {counted}."
    saved = ", ".join(f"{one['checkpoints']} ({text(arm)})" for arm, one in arms.items() if one["checkpoints"])
    if saved:
        others = "rates and the cost of evaluations" if evaluated else "rates"
        sentence += (
            f" Iterations that wrote a checkpoint are among them, {saved}, as saving is part of what a training "
            f"spends; {others} leave them out."
        )
    return f"{sentence} By the trainer's own timers, in the training runs themselves."


def _check(one: dict[str, Any]) -> str:
    """What the registered stage alone would make of the iteration, and what its failure tells."""
    stage, arm = text(one["stage"]), text(one["arm"])
    measured = factor(one["measured"], one["measured_low"], one["measured_high"])
    sentence = (
        f"Amdahl's law: {stage} takes {percent(one['share'])} of the reference's iteration. Its "
        f"{one['stage_factor']:.2f}x in {arm}, with everything else as it was, would make the iteration "
        f"{one['predicted']:.2f}x as fast; measured {measured}, {one['gap']:+.1%}"
    )
    if not one["flagged"]:
        return f"{sentence}: within 5 %, so that nothing outside of {stage} needs to have changed."
    most, rest = one["most"], ""
    if most is not None:
        rest = (
            f" The largest difference beside it is in {text(most['phase'])}: "
            f"{significant(most['reference_seconds'])} s per iteration in the reference, "
            f"{significant(most['seconds'])} s in {arm}."
        )
    return f"{sentence}: **more than 5 % apart**, so {stage} alone does not explain it.{rest}"


def _ceilings(record: Record, whole: str) -> str:
    """Parts ranked by what they could still give, and those on which no work pays.

    A part of no time in the iterations that were counted, such as an evaluation in those without one, tells nothing.
    """
    found = {
        one["arm"]: sorted(
            (row for row in [*one["rows"], *one["nested"]] if row["share"]), key=lambda row: -row["share"]
        )
        for one in record["ceilings"]
        if one["whole"] == whole
    }
    rows = [
        [
            text(arm),
            text(row["part"]) + _part_of(row),
            percent(row["share"]),
            "no limit" if row["ceiling"] is None else f"{row['ceiling']:.3f}x",
            "yes" if row["pays"] else "no",
        ]
        for arm in record["registration"]["arm_order"]
        for row in found.get(arm, [])
    ]
    if not rows:
        return ""
    what = "stage" if whole == "step" else "phase"
    headers = ["arm", what, f"share of the {whole}", f"{whole} at most", f"worth work ({NO_PAY - 1:.0%})"]
    parts = [
        f"What could still be won, were a {what} to take no time at all:",
        table(headers, rows, right=(2, 3)),
        *([NESTED] if any("part_of" in row for own in found.values() for row in own) else []),
        *(_no_pay(arm, whole, found[arm]) for arm in record["registration"]["arm_order"] if arm in found),
        *([_evaluations(record)] if whole == "iteration" and record["evaluation"]["arms"] else []),
    ]
    return "\n\n".join(part for part in parts if part)


def _evaluations(record: Record) -> str:
    """What iterations without evaluations cannot tell: the ceiling of the evaluations, spread over a training."""
    told = []
    for arm in record["registration"]["arm_order"]:
        engine = record["evaluation"]["arms"].get(arm, {}).get("engine")
        if engine is not None:
            most = 1 + engine["evaluations"] / engine["plain_seconds"]
            told.append(f"{percent(1 - 1 / most)} of an iteration of {text(arm)}, which would be at most {most:.3f}x")
    if not told:
        return ""
    return (
        f"Evaluations are in none of these iterations. Spread over a training as they were run, they take "
        f"{' as fast without them, and '.join(told)} as fast without them."
    )


def _part_of(row: dict[str, Any]) -> str:
    """Whose part a nested timer is, where anybody knows."""
    if "part_of" not in row:
        return ""
    return f" (part of {text(row['part_of'])})" if row["part_of"] else " (part of another)"


def _no_pay(arm: str, whole: str, rows: list[dict[str, Any]]) -> str:
    """Which parts are not worth any work, whatever could be done about them."""
    small = [text(row["part"]) for row in rows if not row["pays"]]
    if not small:
        return f"In {text(arm)} work could pay on each of them."
    return (
        f"In {text(arm)} no work pays on {', '.join(small)}: without any one of them the {whole} would be less than "
        f"{NO_PAY - 1:.0%} faster."
    )
