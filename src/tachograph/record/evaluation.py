"""What evaluations cost, as the page tells it."""

from __future__ import annotations

from typing import Any

from tachograph.record.markdown import UNKNOWN, percent, significant, table, text
from tachograph.wording import counted

Record = dict[str, Any]


def evaluation(record: Record) -> str:
    """Each arm's evaluation iterations against the plain ones, spread over training, and by subject."""
    parts = []
    for arm in record["registration"]["arm_order"]:
        one = record["evaluation"]["arms"].get(arm)
        if one is None:
            continue
        if "excess" not in one:
            parts.append(f"{text(arm)}: {text(one['reason'])}.")
            continue
        parts += [_cost(arm, one), _spread(one), _subjects(arm, one)]
    return "\n\n".join(part for part in parts if part)


def _cost(arm: str, one: dict[str, Any]) -> str:
    own = ", each run against its own" if one["runs"] > 1 else ""
    sentence = (
        f"**{text(arm)}**: {counted(one['evaluations'], 'evaluation')} ({_where(one['iterations'])}). An "
        "iteration with one took "
        f"{significant(one['seconds'], 4)} s on average, one without {significant(one['plain_seconds'], 4)} s "
        f"({one['plain_iterations']} of them{own}): an excess of {significant(one['excess'], 4)} s"
    )
    if one["excess_low"] is not None and _spreads(one):
        sentence += f" (95% interval {significant(one['excess_low'])} to {significant(one['excess_high'])} s)"
    if one["checkpoints"]:
        sentence += f", with what {one['checkpoints']} of the former wrote as a checkpoint"
    timer = f"The trainer's own timer says {significant(one['timer'], 4)} s"
    if one["evaluations"] > 1:
        timer += f" ({significant(one['timer_low'])} to {significant(one['timer_high'])} s)"
    if not one["told"]:
        return (
            f"{sentence}. **By this an iteration with an evaluation cannot be told from one without**, so what follows "
            f"rests on the trainer's own timer. {timer}."
        )
    more = one["excess"] - one["timer"]
    if one["excess_low"] <= one["timer"] <= one["excess_high"]:
        timer += ", which lies in that interval" if _spreads(one) else ""
    else:
        timer += f", {significant(abs(more), 4)} s {'less' if more > 0 else 'more'} than the iteration shows"
    return f"{sentence}. {timer}."


def _spreads(one: dict[str, Any]) -> bool:
    """Whether the interval is more than the last digits: a coarse clock is no certainty."""
    return bool(one["excess_high"] - one["excess_low"] > 1e-9 * one["seconds"])


def _where(iterations: list[int]) -> str:
    """Each iteration once, with the number of runs that evaluated there; many are cut short."""
    distinct = sorted(set(iterations))
    shown = []
    for iteration in distinct[:8]:
        times = iterations.count(iteration)
        shown.append(str(iteration) if times == 1 else f"{iteration} of {times} runs")
    return f"iteration {', '.join(shown)}{', …' if len(distinct) > 8 else ''}"


def _spread(one: dict[str, Any]) -> str:
    """Seconds per iteration at the observed interval, then at the registered ones."""
    observed = {**one, "games": None}
    how = str(one["every"])
    if one["every_from"] == "count":
        how += " (by count: no run holds two)"
    headers = ["size", "an evaluation every … iterations"]
    headers += [*(["excess, s/iteration"] if one["told"] else []), "own timer, s/iteration", "share of an iteration"]
    rows = []
    for row, every in [(observed, how), *((row, str(row["every"])) for row in one["projected"])]:
        spread = row["by_excess"] if one["told"] else row["by_timer"]
        cells = ["as run" if row["games"] is None else str(row["games"]), every]
        cells += [significant(row["by_excess"], 4)] if one["told"] else []
        cells += [significant(row["by_timer"], 4), percent(spread / (one["plain_seconds"] + spread))]
        rows.append(cells)
    note = ""
    if one["projected"]:
        note = (
            "\n\nThe first line is what was observed; the others are arithmetic on its mean, in proportion to the "
            "size, and share its uncertainty."
        )
    return table(headers, rows, right=range(1, len(headers))) + note


def _subjects(arm: str, one: dict[str, Any]) -> str:
    found = one["breakdown"]
    if found is None:
        return ""
    names = list(found["rows"][0]["timers"])
    rows = []
    for row in found["rows"]:
        parts = [UNKNOWN if row["timers"][name] is None else significant(row["timers"][name]) for name in names]
        rest = UNKNOWN if row["remainder"] is None else significant(row["remainder"])
        rows.append([text(row["subject"]), str(row["evaluations"]), significant(row["elapsed"]), *parts, rest])
    headers = ["evaluated against", "times", "elapsed s", *(text(name) for name in names), "remainder"]
    if found["parallel"]:
        how = (
            f"They are evaluated at the same time, so their seconds are no sum (it would be "
            f"{significant(found['together'])} s); the slowest bounds the evaluation from below."
        )
    else:
        how = f"They are evaluated one after the other: {significant(found['together'])} s together."
    limit = ""
    if found["inference"] is not None:
        most = UNKNOWN if found["ceiling"] is None else f"{found['ceiling']:.2f}x"
        limit = f" Were {text(found['inference'])} to take no time at all, they would be at most {most} as fast."
    title = f"Evaluation of {text(arm)}, seconds per evaluation:"
    return "\n\n".join([title, table(headers, rows, right=range(1, len(headers))), how + limit])
