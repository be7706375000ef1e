"""``tachograph compare RECORD RECORD …``: records of several machines, days or studies side by side."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.record.decision import headline
from tachograph.record.facts import ReadRecord, differing, read_record
from tachograph.record.markdown import UNKNOWN, code, factor, significant, table, text
from tachograph.record.pooling import Pooled, pool
from tachograph.wording import counted


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("compare", help="records of several machines, days or studies side by side")
    parser.add_argument("record", nargs="+", type=Path, help="a record folder, or the folder of its study")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    if len(arguments.record) < 2:
        raise TachographError("compare: found one record, expected two or more")
    records = [read_record(path) for path in arguments.record]
    seen: dict[str, Path] = {}
    for record in records:
        known = seen.setdefault(record.content["record_id"], record.folder)
        if known is not record.folder:
            raise TachographError(f"{record.folder}: it is the same record as {known}, expected different ones")
    print(comparison(records))
    return 0


def comparison(records: list[ReadRecord]) -> str:
    """The page as Markdown: the results side by side, what differs, what may be pooled and what not."""
    names = [f"R{number}" for number in range(1, len(records) + 1)]
    pooled, refusals = pool(records, names)
    parts = [
        f"# {counted(len(records), 'record')} side by side",
        "\n".join(
            f"- {name}: {code(r.content['record_id'])}, {code(r.folder)}"
            for name, r in zip(names, records, strict=True)
        ),
        _results(records, names),
        _candidates(records, names),
        "## What differs",
        _differences(records, names),
        "## Taken together",
        *(_pooled(one, records, names) for one in pooled),
        "" if pooled else "No two of these factors may be pooled.",
        "\n".join(f"- not pooled: {text(sentence)}" for sentence in refusals),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _results(records: list[ReadRecord], names: list[str]) -> str:
    rows = []
    for name, record in zip(names, records, strict=True):
        content = record.content
        decided = {one["arm"]: one for one in content["decision"]["arms"]}
        curves = {one["arm"]: one["verdict"] for one in content["curve_verdicts"]}
        for arm in content["registration"]["arm_order"][1:]:
            one, measured = decided.get(arm, {}), headline(content, arm)
            rows.append(
                [
                    name, text(content["study"]["name"]), ", ".join(sorted(record.days)) or UNKNOWN, text(arm),
                    factor(measured.get("factor"), measured.get("low"), measured.get("high")),
                    str(len(measured.get("pairs", []))), one.get("speed", "–"), curves.get(arm, "–"),
                    _prediction(content["prediction"], arm), one.get("decision", "–"),
                ]
            )  # fmt: skip
    headers = ["", "study", "day", "arm", "factor", "blocks", "speed", "curves", "prediction", "decision"]
    return table(headers, rows, right=(4, 5)) if rows else "None of these studies compares arms."


def _candidates(records: list[ReadRecord], names: list[str]) -> str:
    """What became of each candidate, record by record; nothing is pooled."""
    found = {
        name: {one["name"]: one for one in record.content.get("candidates", [])}
        for name, record in zip(names, records, strict=True)
    }
    every = dict.fromkeys(candidate for own in found.values() for candidate in own)
    if not every:
        return ""
    rows = [[text(one), *(_became(found[name].get(one)) for name in names)] for one in every]
    return "Candidates:\n\n" + table(["candidate", *names], rows)


def _became(one: dict[str, Any] | None) -> str:
    if one is None:
        return "–"
    reason = f" ({one['reason']})" if one["reason"] else ""
    measured = one["measured"] or {}
    speed = (
        "" if measured.get("factor") is None else f", {factor(*(measured[key] for key in ('factor', 'low', 'high')))}"
    )
    return f"{one['verdict']}{reason}{speed}"


def _prediction(one: dict[str, Any], arm: str) -> str:
    if not one["registered"] or one["arm"] != arm:
        return "–"
    ratio = "" if one["ratio"] is None else f" ({significant(one['ratio'])})"
    return f"{one['verdict']}{ratio}"


def _differences(records: list[ReadRecord], names: list[str]) -> str:
    each = [record.facts.all for record in records]
    apart = differing(records)
    rows = [[text(name), *(_fact(facts.get(name)) for facts in each)] for name in apart]
    alike = [name for name in dict.fromkeys(key for facts in each for key in facts) if name not in apart]
    parts = [table(["fact", *names], rows)] if rows else []
    parts += [f"Alike: {text(', '.join(alike))}."] if alike else []
    return "\n\n".join(parts)


def _fact(value: Any) -> str:
    return "–" if value is None else text(value)


def _pooled(one: Pooled, records: list[ReadRecord], names: list[str]) -> str:
    found = one.factor
    chosen = ", ".join(names[member] for member in one.members)
    reference = text(records[one.members[0]].content["registration"]["design"]["reference"])
    interval = "no interval"
    if found.low is not None and found.high is not None:
        interval = f"{found.confidence:.0%} t interval over sessions {found.low:.2f} to {found.high:.2f}"
    note = f"; {found.note}" if found.note else ""
    sentence = (
        f"**{text(one.arm)} over {reference}, {text(one.label)}**: {found.factor:.2f}x over "
        f"{counted(len(one.members), 'session')} ({chosen}), {interval}{text(note)}."
    )
    if one.decision is None:
        return f"{sentence} No common decision rule is registered."
    return f"{sentence} By the registered rule: **{one.decision.decision}**, {text(one.decision.sentence)}."
