"""The forward sweep, and how much of its gain the supply of states can reach, as the page tells them."""

from __future__ import annotations

from typing import Any

from tachograph.evidence.sweep import GROUP, GROUP_UNBOUND, ITERATION, MADE, SIDE_BY_SIDE
from tachograph.record.markdown import number, percent, table, text
from tachograph.wording import counted

Record = dict[str, Any]

NEARLY = 0.95  # of the greatest gain


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
    lines = [f"{_what(section)}:", table(headers, rows, right=range(4)), _shape(section)]
    return "\n\n".join([*lines, *_supply(record)])


def _what(section: dict[str, Any]) -> str:
    """Which network was called, where, and how often."""
    told = "The network alone"
    told += f" ({' → '.join(map(str, section['network']))})" if section["network"] else ""
    told += f" on {text(section['device'])}"
    told += f", {counted(section['threads'], 'thread')}" if section["threads"] else ""
    return f"{told}, mean of {section['calls']:,} calls after {section['warm_up']:,} of warm-up"


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
    headers = ["arm", "states that can share a call", "states per call", "speed-up of a state", "of the best, at least"]
    return [
        f"How much of this the {group} can use. Beside the states stand the best batch size of the sweep that they "
        "fill and the next one, that they do not fill; what lies between was not measured:",
        table(headers, rows, right=(2, 3, 4)),
        *(sentence for arm in arms if (sentence := _left(found[arm]))),
    ]


def _left(one: dict[str, Any]) -> str:
    """What was made against the most that the iterations held."""
    made, most = one["levels"].get(MADE), one["levels"].get(ITERATION)
    if made is None or most is None:
        return ""
    sentence = (
        f"The calls of {text(one['arm'])} held {number(made['states'], 1)} of at most {number(most['states'], 1)} "
        "states that could have been asked about at once"
    )
    if one["networks"] > 1:
        even = number(most["states"] / one["networks"], 1)
        sentence += (
            f"; a call asks one of {one['networks']} networks: were the states always evenly divided between them, it "
            f"would hold {even} at most"
        )
    return sentence + "."


def _reached(level: dict[str, Any]) -> list[str]:
    if level["speed_up"] is None:
        return ["not measured", ""]
    reached = f"{level['speed_up']:.2f}x at {level['batch_size']}"
    if level["next_speed_up"] is not None:
        reached += f"; {level['next_speed_up']:.2f}x at {level['next_batch_size']}"
    return [reached, percent(level["of_best"])]
