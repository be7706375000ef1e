"""What evaluations cost, the forward sweep and the projection to a whole training, as the page tells them."""

from __future__ import annotations

from typing import Any

from tachograph.evidence.sweep import GROUP, GROUP_UNBOUND, ITERATION, MADE, SIDE_BY_SIDE
from tachograph.record.markdown import UNKNOWN, number, percent, significant, table, text

Record = dict[str, Any]

NEARLY = 0.95  # of the greatest gain


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
    shown = ", ".join(map(str, one["iterations"][:8])) + (", …" if len(one["iterations"]) > 8 else "")
    sentence = (
        f"**{text(arm)}**: {one['evaluations']} iteration(s) with an evaluation (iteration {shown}) took "
        f"{significant(one['seconds'], 4)} s on average, "
        f"{one['plain_iterations']} without one {significant(one['plain_seconds'], 4)} s: an excess of "
        f"{significant(one['excess'], 4)} s"
    )
    error = one["excess_error"]
    sentence += "." if error is None else f" (standard error {significant(error)} s)."
    sentence += f" The trainer's own timer says {significant(one['timer'], 4)} s"
    more = one["excess"] - one["timer"]
    if error is not None and abs(more) <= 2 * error:
        sentence += ", which agrees within twice that error"
    elif one["timer"] > 0 and abs(more) > 0.05 * one["timer"]:
        sentence += f", {significant(abs(more), 4)} s {'less' if more > 0 else 'more'} than the iteration shows"
    return sentence + "."


def _spread(one: dict[str, Any]) -> str:
    """Seconds per iteration at the observed interval, then at the registered ones."""
    rows = [["as run", str(one["every"]), significant(one["amortised"], 4), significant(one["amortised_timer"], 4)]]
    rows += [
        [
            "as run" if row["games"] is None else str(row["games"]),
            str(row["every"]),
            significant(row["amortised"], 4),
            significant(row["amortised_timer"], 4),
        ]
        for row in one["projected"]
    ]
    headers = ["size", "an evaluation every", "excess, s/iteration", "own timer, s/iteration"]
    note = ""
    if one["projected"]:
        note = "\n\nThe first line is what was observed; the others are arithmetic: cost in proportion to the size."
    return table(headers, rows, right=range(1, 4)) + note


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


def sweep(record: Record) -> str:
    """The forward sweep, and what the supply of states reaches of its gain."""
    section = record["sweep"]
    if not section["rows"]:
        return f"There is no sweep: {text(section['reason'])}." if section["registered"] else ""
    rows = [
        [
            str(row["batch_size"]),
            number(row["seconds_per_call"] * 1e6, 2),
            number(row["seconds_per_state"] * 1e6, 3),
            f"{row['speed_up']:.2f}x",
        ]
        for row in section["rows"]
    ]
    headers = ["batch size", "µs per call", "µs per state", "speed-up of a state"]
    where = f"The network alone on {text(section['device'])}"
    where += f", {section['threads']} thread(s)" if section["threads"] else ""
    lines = [f"{where}, mean of the registered number of calls:", table(headers, rows, right=range(4)), _shape(section)]
    return "\n\n".join([*lines, *_supply(record)])


def _shape(section: dict[str, Any]) -> str:
    """Where the gain is greatest, and from which batch size on nearly all of it is there."""
    best = max(row["speed_up"] for row in section["rows"])
    enough = next(row["batch_size"] for row in section["rows"] if row["speed_up"] >= NEARLY * best)
    sentence = f"The gain is greatest at batch size {section['peak']}"
    if enough != section["peak"]:
        sentence += f"; {NEARLY:.0%} of it are there at {enough}"
    return sentence + ("." if section["monotone"] else ". It is not monotone: some larger batches gain less.")


def _supply(record: Record) -> list[str]:
    """How many states could share a call, how many did, and what either reaches of the sweep's gain."""
    found = {one["arm"]: one for one in record["sweep"]["supply"]}
    arms = [arm for arm in record["registration"]["arm_order"] if arm in found]
    if not arms:
        return []
    group = text(found[arms[0]]["group"])
    meaning = {
        GROUP_UNBOUND: f"one {group}, were none of its states to wait for another (upper bound)",
        GROUP: f"one {group}, states that wait for no other one",
        SIDE_BY_SIDE: f"every {group} that is walked at the same time, at most",
        ITERATION: f"every {group} of an iteration, at most",
        MADE: "calls that were made",
    }
    rows = [
        [text(arm), meaning[kind], number(level["states"], 1), *_reached(level)]
        for arm in arms
        for kind, level in sorted(found[arm]["levels"].items(), key=lambda item: list(meaning).index(item[0]))
    ]
    headers = ["arm", "states that can share a call", "states per call", "speed-up of a state", "of the best"]
    return [
        f"How much of this the {group} can use. The speed-up is that of the largest batch size of the sweep that the "
        "states fill; nothing is read between two sizes:",
        table(headers, rows, right=(2, 3, 4)),
        *(sentence for arm in arms if (sentence := _left(arm, found[arm]["levels"]))),
    ]


def _left(arm: str, levels: dict[str, Any]) -> str:
    """What was made against the most that the iterations held."""
    made, most = levels.get(MADE), levels.get(ITERATION)
    if made is None or most is None:
        return ""
    return (
        f"The calls of {text(arm)} held {number(made['states'], 1)} of at most {number(most['states'], 1)} states that "
        "could have shared one."
    )


def _reached(level: dict[str, Any]) -> list[str]:
    if level["speed_up"] is None:
        return ["not measured", ""]
    return [f"{level['speed_up']:.2f}x at {level['batch_size']}", percent(level["of_best"])]


def projection(record: Record) -> str:
    """Hours for a whole training, arm beside arm."""
    section = record["projection"]
    if not section["arms"]:
        return ""
    order = record["registration"]["arm_order"]
    arms = sorted(section["arms"], key=lambda row: order.index(row["arm"]))
    first, rows = arms[0], []
    for row in arms:
        more = "–"
        if row is not first:
            more = f"{(row['hours'] - first['hours']) * 60:+.1f} min ({row['hours'] / first['hours'] - 1:+.1%})"
        evaluated = "–" if row["hours_with_evaluations"] is None else significant(row["hours_with_evaluations"])
        rows.append([text(row["arm"]), significant(row["seconds"], 4), significant(row["hours"]), evaluated, more])
    headers = ["arm", "s/iteration", "hours", "with evaluations", f"against {text(first['arm'])}"]
    return (
        f"Projected to {section['iterations']:,} iterations from the means of plain iterations (arithmetic, not a "
        "measurement):\n\n" + table(headers, rows, right=range(1, 5))
    )
