"""``record.md``: the page that people read, rendered from the content of ``record.json`` and from nothing else."""

from __future__ import annotations

from typing import Any

from tachograph.record import (
    candidates,
    decision,
    evaluation,
    head,
    machine_page,
    phases,
    projection,
    reliability,
    speed,
    stages,
    sweep,
    trust,
)
from tachograph.record.document import MACHINE_SCHEMA
from tachograph.record.markdown import text
from tachograph.record.words import OF_A_MACHINE, words

Record = dict[str, Any]


def page(record: Record) -> str:
    """The whole page as Markdown, of a record of either kind."""
    of_a_machine = record["schema"] == MACHINE_SCHEMA
    parts = machine_page.parts(record) if of_a_machine else _parts(record)
    whole = "\n\n".join(part for part in parts if part)
    return f"{whole}\n\n## Words used here\n\n{words(whole, OF_A_MACHINE if of_a_machine else None)}\n"


def _parts(record: Record) -> list[str]:
    return [
        f"# {text(record['study']['title'])}",
        decision.top(record),
        head.result(record),
        head.introduction(record),
        "## Registration and machine",
        head.registration(record),
        head.machine(record),
        "## Commands",
        head.commands(record),
        "## Stage table",
        stages.stages(record),
        "## Throughput",
        speed.throughput(record),
        "## Phases, and what could still be won",
        phases.phases(record),
        *titled("## Evaluation", evaluation.evaluation(record)),
        *titled("## Batches of the network", sweep.sweep(record)),
        *titled("## A whole training", projection.projection(record)),
        "## Factors",
        speed.factors(record),
        "## Can they be relied on",
        reliability.reliability(record) if record["factors"] else "There is no factor.",
        "## Decision",
        decision.decision(record) if record["factors"] else "There is nothing to decide.",
        "## Matched curves",
        trust.curves(record),
        *(["## Candidates, kept and rejected", candidates.candidates(record)] if "candidates" in record else []),
        "## Preflight",
        trust.preflight(record),
        "## Planned and done",
        trust.counts(record),
        "## Provenance",
        trust.provenance(record),
        "## Deviations from the registration",
        trust.deviations(record),
        "## What was not measured",
        trust.not_measured(record),
        "## Where the time went",
        trust.time(record),
        "## How to verify",
        trust.verification(record),
    ]


def titled(title: str, content: str) -> list[str]:
    """A section that only some studies have."""
    return [title, content] if content else []
