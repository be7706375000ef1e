"""Where the time of an iteration goes, by the trainer's own timers, and what Amdahl's law leaves to be won."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tachograph.analysis.rates import ITERATION, RETAINED
from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence import amdahl
from tachograph.evidence.history import History
from tachograph.evidence.judging import judged
from tachograph.evidence.phases import Phase, PhaseTable, phase_table
from tachograph.evidence.throughput import retained
from tachograph.models.trainer import Phase as DeclaredPhase


def phases(sealed: SealedStudy, factors: list[dict[str, Any]]) -> dict[str, Any]:
    """``arms`` (total, rows with seconds and share per iteration, warnings), Amdahl ``checks``, or a ``reason``.

    The means are over the retained iterations of all counted runs of an arm. ``factors`` is the section of that name.
    """
    if not sealed.trainer.history.phases:
        return {"arms": {}, "checks": [], "reason": "the trainer file declares no phase"}
    arms: dict[str, PhaseTable] = {}
    for arm in sealed.study.arms:
        found = judged(f"the phases of {arm}", lambda arm=arm: _table(sealed, arm))  # type: ignore[misc]
        if found.result is None:
            return {"arms": {}, "checks": [], "reason": found.reason}
        arms[arm] = found.result
    return {
        "arms": {arm: arm_row(table) for arm, table in arms.items()},
        "checks": [one for arm in sealed.other_arms if (one := _check(sealed, arms, factors, arm))],
    }


def _table(sealed: SealedStudy, arm: str) -> PhaseTable:
    histories = [run.history for run in sealed.of_arm(arm) if run.history is not None]
    return table_of(histories, sealed.trainer.history.phases, sealed.study.design.warmup)


def table_of(histories: Sequence[History], declared: Sequence[DeclaredPhase], warmup: int) -> PhaseTable:
    """The phase table over the iterations of all histories that hold no evaluation, without warm-up.

    Iterations that wrote a checkpoint take part, unlike in rates: it is one of the phases.

    Raises ValueError if there is no history, ThroughputError if one is shorter than its warm-up.
    """
    if not histories:
        raise ValueError("no run of the arm counts")
    totals: list[Any] = []
    timers: dict[str, list[Any]] = {phase.name: [] for phase in declared}
    for history in histories:
        rows = retained(history, ITERATION, warmup, checkpoints=True).rows
        totals.append(history.durations[ITERATION][rows])
        for name, parts in timers.items():
            parts.append(history.durations[name][rows])
    total = np.concatenate(totals)
    joined = {name: np.concatenate(parts) for name, parts in timers.items()}
    described = [Phase(phase.name, phase.parent, phase.parallel) for phase in declared]
    return phase_table(total, joined, described)


def arm_row(table: PhaseTable) -> dict[str, Any]:
    """A phase table as plain JSON values."""
    return {
        "seconds": table.total,
        "iterations": table.iterations,
        "covered": table.overlap.share,
        "rows": [
            {
                "phase": row.name,
                "seconds": row.seconds,
                "share": row.share,
                "parent": row.parent,
                "nested": row.nested,
                "parallel": row.overlapping,
            }
            for row in table.rows
        ],
        "warnings": list(table.warnings),
        "nested": list(table.overlap.nested),
    }


def _check(
    sealed: SealedStudy, arms: dict[str, PhaseTable], factors: list[dict[str, Any]], arm: str
) -> dict[str, Any] | None:
    """The factor of the iteration that the phases predict, against the measured one."""
    measured = next(
        (
            one["factor"]
            for one in factors
            if one["numerator"] == arm and one["quantity"] == ITERATION and one["kind"] == RETAINED
        ),
        None,
    )
    reference = {row.name: row for row in arms[sealed.study.design.reference].rows if row.adds_up}
    own = {row.name: row.seconds for row in arms[arm].rows if row.adds_up}
    ratios = {name: row.seconds / own[name] for name, row in reference.items() if own.get(name) and row.seconds}
    if measured is None or not ratios:
        return None
    found = amdahl.check({name: row.share for name, row in reference.items()}, ratios, measured)
    return {"arm": arm, **vars(found)}


def ceilings(stages: dict[str, Any], phases: dict[str, Any]) -> list[dict[str, Any]]:
    """For every arm what could still be won: stages of a profiled step and phases of an iteration, largest first.

    ``ceiling``: the step or iteration would become this many times faster if the part took no time; null: no limit.
    Nested and parallel parts are left out, as their time is that of others.
    """
    found = []
    for arm in stages["arms"]:
        leaves = [row for row in stages["rows"] if not row["parent"] and row["arms"].get(arm)]
        found.append(_ranked(arm, "step", {row["stage"]: row["arms"][arm]["share"] for row in leaves}))
    for arm, table in phases["arms"].items():
        outer = [row for row in table["rows"] if not (row["nested"] or row["parallel"])]
        found.append(_ranked(arm, "iteration", {row["phase"]: row["share"] for row in outer}))
    return found


def _ranked(arm: str, whole: str, shares: dict[str, float]) -> dict[str, Any]:
    ranked = amdahl.rank({name: min(share, 1.0) for name, share in shares.items()})
    rows = [
        {"part": one.name, "share": one.share, "ceiling": one.ceiling if math.isfinite(one.ceiling) else None,
         "pays": one.pays}
        for one in ranked
    ]  # fmt: skip
    return {"arm": arm, "whole": whole, "rows": rows}
