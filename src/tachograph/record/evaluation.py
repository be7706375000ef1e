"""What evaluations cost, as the page tells it."""

from __future__ import annotations

from typing import Any

from tachograph.record.markdown import UNKNOWN, percent, significant, table, text
from tachograph.record.speed import SAME_WORK
from tachograph.wording import counted

Record = dict[str, Any]
LAST_DIGITS = 1e-9  # relative: what sums of floats differ by


def evaluation(record: Record) -> str:
    """Each arm's evaluation iterations against the plain ones, spread over training, and by subject."""
    parts = []
    for arm in record["registration"]["arm_order"]:
        one = record["evaluation"]["arms"].get(arm)
        if one is None:
            continue
        if "kinds" not in one:
            parts.append(f"{text(arm)}: {text(one['reason'])}.")
            continue
        kinds = one["kinds"]
        if len(kinds) > 1:
            parts.append(
                f"The evaluations of {text(arm)} are of {len(kinds)} kinds, each told by itself: no mean is over two."
            )
        for kind in kinds:
            name = text(arm) + (f", {_kind(kind)}" if len(kinds) > 1 else "")
            parts += [_cost(name, kind), _spread(kind), _subjects(name, kind)]
        parts.append(_engine(arm, one))
    return "\n\n".join(part for part in parts if part)


def _kind(one: dict[str, Any]) -> str:
    """What makes an evaluation another one: games, and how many subjects they are against."""
    subjects, least = one["subjects"], min(filter(None, one["subjects"].values()), default=None)
    if one["games"] is None:
        return f"against {', '.join(map(text, subjects)) or 'nobody whose time is known'}"
    size = str(one["games"]) if least == one["games"] else f"{least} to {one['games']}"
    return f"{size} games against {', '.join(map(text, subjects))}"


def _cost(name: str, one: dict[str, Any]) -> str:
    own = ", each run against its own" if one["runs"] > 1 else ""
    sentence = (
        f"**{name}**: {counted(one['evaluations'], 'evaluation')} ({_where(one['iterations'])}). An "
        "iteration with one took "
        f"{significant(one['seconds'], 4)} s on average, one without {significant(one['plain_seconds'], 4)} s "
        f"({one['plain_iterations']} of them{own}): an excess of {significant(one['excess'], 4)} s"
    )
    if one["excess_low"] is not None and _spreads(one):
        sentence += f" (95% interval {significant(one['excess_low'])} to {significant(one['excess_high'])} s)"
    sentence += _saving(one)
    timer = f"{_work(one)}The trainer's own timer says {significant(one['timer'], 4)} s"
    if one["evaluations"] > 1:
        timer += f" ({significant(one['timer_low'])} to {significant(one['timer_high'])} s)"
    if one["saving"] == "inside":
        return f"{sentence}, so that what follows rests on the trainer's own timer. {timer}."
    if not one["told"]:
        return (
            f"{sentence}. **By this an iteration with an evaluation cannot be told from one without**, so what follows "
            f"rests on the trainer's own timer. {timer}."
        )
    more = one["excess"] - one["timer"]
    if abs(more) <= LAST_DIGITS * one["seconds"]:
        timer += ", as the iteration shows"
    elif one["excess_low"] <= one["timer"] <= one["excess_high"]:
        timer += ", which lies in that interval" if _spreads(one) else ""
    else:
        timer += f", {significant(abs(more), 4)} s {'less' if more > 0 else 'more'} than the iteration shows"
    return f"{sentence}. {timer}."


def _work(one: dict[str, Any]) -> str:
    """Whether the iterations that are compared did the same work; a longer one may have done more."""
    ratio = one.get("work_ratio")
    if ratio is None or abs(ratio - 1) <= SAME_WORK:
        return ""
    return f"An iteration with one did {ratio:.2f} times the work of one without, which is in the excess. "


def _saving(one: dict[str, Any]) -> str:
    """What became of the checkpoints that evaluation iterations wrote, as those without one wrote none."""
    wrote = one["checkpoints"]
    if one["saving"] == "timer":
        return f", without the time of the checkpoint that {wrote} of the former wrote"
    if one["saving"] == "left out":
        return f"; {wrote} more wrote a checkpoint, whose time nobody took, and are left out"
    if one["saving"] == "inside":
        return f". **It holds what {wrote} of the former wrote as a checkpoint**, whose time nobody took"
    return ""


def _spreads(one: dict[str, Any]) -> bool:
    """Whether the interval is more than the last digits: a coarse clock is no certainty."""
    return bool(one["excess_high"] - one["excess_low"] > LAST_DIGITS * one["seconds"])


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
    how = f"{one['every']:.4g}"
    if one["every_from"] == "count":
        how += " (by count: no run holds two)"
    bounded = one["engine_ceiling"] is not None
    headers = ["games", "an evaluation every … iterations"]
    headers += [*(["excess, s/iteration"] if one["told"] else []), "own timer, s/iteration", "share of an iteration"]
    headers += ["iteration at most, without the network's timed seconds"] if bounded else []
    rows = []
    for row, every in [(one, how), *((row, str(row["every"])) for row in one["projected"])]:
        spread = row["by_excess"] if one["told"] else row["by_timer"]
        cells = [_size(row, row is one), every]
        cells += [significant(row["by_excess"], 4)] if one["told"] else []
        cells += [significant(row["by_timer"], 4), percent(spread / (one["plain_seconds"] + spread))]
        cells += ["no limit" if row["engine_ceiling"] is None else f"{row['engine_ceiling']:.3f}x"] if bounded else []
        rows.append(cells)
    note = ""
    if one["projected"]:
        note = (
            "\n\nThe first line is what was observed; the others are arithmetic on its mean, in proportion to the "
            "size, and share its uncertainty."
        )
    return table(headers, rows, right=range(1, len(headers))) + note


def _size(row: dict[str, Any], observed: bool) -> str:
    if row["games"] is None:
        return "as run"
    return f"as run: {row['games']}" if observed else str(row["games"])


def _subjects(name: str, one: dict[str, Any]) -> str:
    found = one["breakdown"]
    if found is None:
        return ""
    names = list(found["rows"][0]["timers"])
    rows = []
    for row in found["rows"]:
        parts = [UNKNOWN if row["timers"][name] is None else significant(row["timers"][name]) for name in names]
        rest = UNKNOWN if row["remainder"] is None else significant(row["remainder"])
        rows.append([text(row["subject"]), str(row["evaluations"]), significant(row["elapsed"]), *parts, rest])
    headers = ["evaluated against", "evaluations", "elapsed s", *(text(name) for name in names), "remainder"]
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
    title = f"Evaluation of {name}, seconds per evaluation:"
    return "\n\n".join([title, table(headers, rows, right=range(1, len(headers))), how + limit])


def _engine(arm: str, one: dict[str, Any]) -> str:
    """What a faster network could bring at most to a training, and which of its time no timer tells."""
    engine = one["engine"]
    whole = engine["plain_seconds"] + engine["evaluations"]
    by = "" if engine["by"] == "excess" else " by the trainer's own timer"
    sentence = (
        f"What an inference engine could bring at most to a training of {text(arm)}: an iteration takes "
        f"{significant(whole, 4)} s with the evaluations{by} spread over it as they were run"
    )
    timers = ", ".join(map(text, engine["timers"]))
    untold = "what an engine could bring there is not known"
    if engine["in_evaluations"] is not None:
        sentence += f"; the network holds it up for {significant(engine['in_evaluations'], 4)} s in evaluations"
    else:
        sentence += f"; no timer tells the network's part of the evaluations, so {untold}"
    if engine["elsewhere"] is not None:
        sentence += f"; outside of them {timers} takes {significant(engine['elsewhere'], 4)} s"
    else:
        sentence += f"; no timer tells the network's part of the rest of the iteration, so {untold}"
    if engine["in_evaluations"] is None and engine["elsewhere"] is None:
        return f"{sentence}."
    most = "without a limit" if engine["ceiling"] is None else f"at most {engine['ceiling']:.3f}x as fast"
    return f"{sentence}. Were the time that is told to vanish, training would be {most}."
