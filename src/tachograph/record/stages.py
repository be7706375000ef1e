"""The stage table: where the time of a step goes in each arm, what the profile is worth, the component alone."""

from __future__ import annotations

from typing import Any

from tachograph.record.markdown import UNKNOWN, figure, number, percent, significant, table, text
from tachograph.wording import counted

Record = dict[str, Any]


def _arms(record: Record) -> list[str]:
    return list(record["registration"]["arm_order"])


def stages(record: Record) -> str:
    """The table of document 000: milliseconds per step and share, arm beside arm, with total and environment."""
    section = record["stages"]
    if not section["rows"]:
        return "\n\n".join([f"There is no stage table: {text(section['reason'])}.", *_component(record["component"])])
    arms = [arm for arm in _arms(record) if arm in section["arms"]]
    others = [arm for arm in arms[1:] if arm in section["factors"]]
    headers = ["stage"]
    for arm in arms:
        headers += [f"{text(arm)} ms/step", "share"]
    headers += [f"{text(arm)} factor" for arm in others]
    rows = []
    for row in section["rows"]:
        name = text(row["stage"]) + (f" (in {text(row['parent'])})" if row["parent"] else "")
        cells = [name]
        for arm in arms:
            time = row["arms"].get(arm)
            cells += ["–", "–"] if time is None else [_ms(time["ms_per_step"]), percent(time["share"])]
        rows.append(cells + [_factor(row["factors"].get(arm)) for arm in others])
    total = ["**total**"]
    for arm in arms:
        total += [f"**{_ms(section['arms'][arm]['total']['ms_per_step'])}**", ""]
    rows.append(total + [_factor(section["factors"][arm]) for arm in others])
    steps = ", ".join(f"{counted(section['steps'][arm], 'step')} ({text(arm)})" for arm in arms)
    parts = [
        f"Instrumented: {steps}, a synchronise bracket around each stage, "
        f"{number(section['work_per_step'])} {text(section['unit'])} per step. One session of each arm: neither the "
        "shares nor the factors of this table have an interval.",
        table(headers, rows, right=range(1, len(headers))),
        *_not_to_be_quoted(section, arms),
        *_environment(section, arms),
        *_instrumentation(section, arms),
        *_component(record["component"]),
        figure("stages", "Stage profile of every arm"),
    ]
    return "\n\n".join(parts)


def _ms(value: float) -> str:
    return f"{value:.2f}" if abs(value) >= 0.1 or value == 0 else f"{value:.4f}"


def _factor(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}x"


def _not_to_be_quoted(section: dict[str, Any], arms: list[str]) -> list[str]:
    """Timers that absorb or hold each other's time have no shares (statistics.md, 3.5)."""
    untrue = [text(arm) for arm in arms if not section["arms"][arm]["publishable"]]
    return [f"**The shares of {' and '.join(untrue)} are not to be quoted**, as said below."] if untrue else []


def _environment(section: dict[str, Any], arms: list[str]) -> list[str]:
    sentences = []
    for arm in arms:
        summary = section["arms"][arm]
        inside = summary["environment"]
        if inside:
            sentences.append(
                f"{_ms(inside['ms_per_step'])} ms of {_ms(summary['total']['ms_per_step'])} = "
                f"{percent(inside['share'])} ({text(arm)})"
            )
    names = [text(row["stage"]) for row in section["rows"] if row["group"] == "environment"]
    return [f"Environment share ({' + '.join(names)}): {', '.join(sentences)}."] if sentences else []


def _instrumentation(section: dict[str, Any], arms: list[str]) -> list[str]:
    """What the brackets cost, how fast the sessions were beside the training runs, and what disturbed them."""
    rows = []
    for arm in arms:
        one = section["arms"][arm]
        ratio = one["instrumented_over_uninstrumented"]
        rows.append(
            [
                text(arm),
                number(one["rate"]),
                number(one["uninstrumented_rate"]),
                UNKNOWN if ratio is None else f"{ratio:.3f}",
                number(one["training_rate"]),
            ]
        )
    unit = text(section["unit"])
    headers = ["arm", f"instrumented {unit}/s", f"without brackets {unit}/s", "ratio", "training runs, after warm-up"]
    warnings = [f"{text(arm)}: {text(sentence)}." for arm in arms for sentence in section["arms"][arm]["warnings"]]
    lines = ["With and without the brackets:", table(headers, rows, right=(1, 2, 3, 4))]
    disturbed = [f"{text(arm)}: {text(one)}" for arm in arms for one in section["arms"][arm]["disturbed"]]
    warnings += [f"{text(one['arm'])}: {text(one['sentence'])}." for one in section["checks"] if one["sentence"]]
    warnings += [f"Disturbed while it was profiled: {'; '.join(disturbed)}."] if disturbed else []
    return lines + ([" ".join(warnings)] if warnings else [])


def profile_beside_headline(record: Record) -> str:
    """Why the factor of the profile is another one than the headline, and which of them counts."""
    section, reference = record["stages"], record["registration"]["design"]["reference"]
    return " ".join(_beside(record, arm, reference) for arm in section["factors"])


def _beside(record: Record, arm: str, reference: str) -> str:
    section = record["stages"]
    told = (
        f"The profiles of {text(arm)} and {text(reference)} give {section['factors'][arm]:.2f}x, which is not the "
        f"headline: they are one session of {counted(section['steps'][arm], 'step')} each, with a bracket "
        "around every stage"
    )
    bare = {name: section["arms"][name]["uninstrumented_rate"] for name in (reference, arm)}
    trained = {name: section["arms"][name]["training_rate"] for name in (reference, arm)}
    if all(bare.values()):
        told += f" (without brackets {bare[arm] / bare[reference]:.2f}x)"
    if all(bare.values()) and all(trained.values()):
        ratios = " and ".join(f"{bare[name] / (trained[name] or 1):.2f} ({text(name)})" for name in bare)
        told += f"; without brackets they went at {ratios} times the rate of the training runs"
    return f"{told}. The headline counts; the profiles say where the time of a step goes."


def _component(section: dict[str, Any]) -> list[str]:
    if not section.get("rates"):
        return [f"The component alone: {text(section['reason'])}."] if section["registered"] else []
    rates = "; ".join(
        f"{text(one['name'])} at {number(one['value'])} {text(one['unit'])}{_spread(one)}" for one in section["rates"]
    )
    threads = f", {counted(section['threads'], 'thread')}" if section.get("threads") else ""
    return [f"{text(section['name'])} alone, in a run of its own{threads}: {rates}.{_beside_it(section)}"]


def _beside_it(section: dict[str, Any]) -> str:
    return f" Disturbed meanwhile: {text('; '.join(section['disturbed']))}." if section["disturbed"] else ""


def _spread(one: dict[str, Any]) -> str:
    """How far the repeats lie apart and how long they lasted: a rate without either looks more certain than it is."""
    repeats = [rate for rate in one.get("repeats") or [] if isinstance(rate, int | float)]
    told = [f"{number(min(repeats))} to {number(max(repeats))} in {len(repeats)} repeats"] if len(repeats) > 1 else []
    told += [f"{significant(one['seconds'])} s in all"] if one.get("seconds") else []
    return f" ({', '.join(told)})" if told else ""
