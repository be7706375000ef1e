"""Where the time of an iteration goes, by the trainer's own timers, and what Amdahl's law leaves to be won."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tachograph.analysis.factors import factor_of
from tachograph.analysis.rates import ITERATION, RETAINED, plain_rows
from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence import amdahl
from tachograph.evidence.history import History
from tachograph.evidence.judging import judged
from tachograph.evidence.phases import Phase, PhaseError, PhaseTable, phase_table
from tachograph.evidence.throughput import retained
from tachograph.models.trainer import Phase as DeclaredPhase


def phases(sealed: SealedStudy, factors: list[dict[str, Any]]) -> dict[str, Any]:
    """``arms`` (total, rows with seconds and share per iteration, warnings), ``predictions`` by Amdahl's law, or
    a ``reason``.

    The means are over the retained iterations of all counted runs of an arm. ``factors`` is the section of that name.
    """
    if not sealed.trainer.history.phases:
        return {"arms": {}, "predictions": [], "reason": "the trainer file declares no phase"}
    arms: dict[str, tuple[PhaseTable, int]] = {}
    for arm in sealed.study.arms:
        found = judged(f"the phases of {arm}", lambda arm=arm: _of_arm(sealed, arm))  # type: ignore[misc]
        if found.result is None:
            return {"arms": {}, "predictions": [], "reason": found.reason}
        arms[arm] = found.result
    tables = {arm: table for arm, (table, _) in arms.items()}
    return {
        "arms": {arm: arm_row(*one) for arm, one in arms.items()},
        "predictions": [one for arm in sealed.other_arms if (one := _check(sealed, tables, factors, arm))],
    }


def _of_arm(sealed: SealedStudy, arm: str) -> tuple[PhaseTable, int]:
    histories = [run.history for run in sealed.of_arm(arm) if run.history is not None]
    warmup = sealed.study.design.warmup
    return table_of(histories, sealed.trainer.history.phases, warmup), checkpoints_among(histories, warmup)


def table_of(histories: Sequence[History], declared: Sequence[DeclaredPhase], warmup: int) -> PhaseTable:
    """The phase table over the iterations of all histories that hold no evaluation, without warm-up.

    Iterations that wrote a checkpoint take part, unlike in rates: it is one of the phases.

    Raises PhaseError if there is no history, ThroughputError if one is shorter than its warm-up.
    """
    if not histories:
        raise PhaseError("no run of the arm counts")
    totals: list[Any] = []
    timers: dict[str, list[Any]] = {phase.name: [] for phase in declared}
    for history in histories:
        rows = plain_rows(history, warmup)
        totals.append(history.durations[ITERATION][rows])
        for name, parts in timers.items():
            parts.append(history.durations[name][rows])
    total = np.concatenate(totals)
    joined = {name: np.concatenate(parts) for name, parts in timers.items()}
    described = [Phase(phase.name, phase.parent, phase.parallel) for phase in declared]
    return phase_table(total, joined, described)


def checkpoints_among(histories: Sequence[History], warmup: int) -> int:
    """How many of the iterations of :func:`table_of` wrote a checkpoint."""
    return sum(int(one.is_checkpoint[plain_rows(one, warmup)].sum()) for one in histories)


def arm_row(table: PhaseTable, checkpoints: int) -> dict[str, Any]:
    """A phase table as plain JSON values; ``checkpoints`` of its iterations wrote one."""
    return {
        "seconds": table.total,
        "iterations": table.iterations,
        "checkpoints": checkpoints,
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
    """What the registered stage alone would make of the iteration (Amdahl's law), against what was measured.

    The stage's share of the reference's iteration and its measured factor predict that of the iteration, everything
    else taken as unchanged. Put together from the ratios of all phases, the prediction could not fail: it would be
    the measured factor by arithmetic. ``most``: the phase beside the stage whose seconds changed most.
    """
    stage = sealed.trainer.history.stage
    gained, whole = (factor_of(factors, arm, quantity, RETAINED) for quantity in ("stage", ITERATION))
    if gained is None or whole is None:
        return None
    share = _share_of_stage(sealed, sealed.study.design.reference)
    one = amdahl.check({stage.name: share}, {stage.name: gained.factor}, whole.factor)
    return {
        "arm": arm,
        **vars(one),
        "stage": stage.name,
        "share": share,
        "stage_factor": gained.factor,
        "measured_low": whole.low,
        "measured_high": whole.high,
        "most": _changed_most(arms[sealed.study.design.reference], arms[arm], stage.name),
    }


def _share_of_stage(sealed: SealedStudy, arm: str) -> float:
    """Ratio of sums over the iterations that give the rates, so without checkpoints and evaluations."""
    stage, whole = 0.0, 0.0
    for run in sealed.of_arm(arm):
        if run.history is not None:
            rows = retained(run.history, ITERATION, sealed.study.design.warmup).rows
            stage += float(run.history.durations[sealed.trainer.history.stage.name][rows].sum())
            whole += float(run.history.durations[ITERATION][rows].sum())
    return min(1.0, stage / whole)


def _changed_most(reference: PhaseTable, other: PhaseTable, stage: str) -> dict[str, Any] | None:
    """Of the phases that add up, without the stage, the one whose mean seconds differ most between two arms."""
    own = {row.name: row.seconds for row in other.rows if row.adds_up}
    rest = [row for row in reference.rows if row.adds_up and row.name in own and row.name != stage]
    if not rest:
        return None
    most = max(rest, key=lambda row: abs(own[row.name] - row.seconds))
    return {"phase": most.name, "reference_seconds": most.seconds, "seconds": own[most.name]}


def ceilings(stages: dict[str, Any], phases: dict[str, Any]) -> list[dict[str, Any]]:
    """For every arm what could still be won: stages of a profiled step and phases of an iteration, largest first.

    ``ceiling``: the step or iteration would become this many times faster if the part took no time; null: no limit.
    ``rows`` are parts beside each other. ``nested`` are parts of one of them, ``part_of`` it (null: found from the
    sums, nobody declared of which): work on them can pay as well, but their share is in that of the other. Parallel
    parts are left out, as their time is no share of the iteration.
    """
    found = []
    for arm in stages["arms"]:
        there = [row for row in stages["rows"] if row["arms"].get(arm)]
        shares = {row["stage"]: row["arms"][arm]["share"] for row in there}
        found.append(_ranked(arm, "step", shares, {row["stage"]: row["parent"] for row in there if row["parent"]}))
    for arm, table in phases["arms"].items():
        there = [row for row in table["rows"] if not row["parallel"]]
        shares = {row["phase"]: row["share"] for row in there}
        inside = {row["phase"]: row["parent"] for row in there if row["nested"]}
        found.append(_ranked(arm, "iteration", shares, inside))
    return found


def _ranked(arm: str, whole: str, shares: dict[str, float], inside: dict[str, str | None]) -> dict[str, Any]:
    """``inside``: nested part -> the part that contains it."""
    rows: list[dict[str, Any]] = []
    nested: list[dict[str, Any]] = []
    for one in amdahl.rank({name: min(share, 1.0) for name, share in shares.items()}):
        limit = one.ceiling if math.isfinite(one.ceiling) else None
        row = {"part": one.name, "share": one.share, "ceiling": limit, "pays": one.pays}
        if one.name in inside:
            nested.append({**row, "part_of": inside[one.name]})
        else:
            rows.append(row)
    return {"arm": arm, "whole": whole, "rows": rows, "nested": nested}
