"""What a whole training would take, by arithmetic on the means of the runs."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.rates import ITERATION, plain_rows
from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence.phases import evaluation_cost, projected_hours

Row = dict[str, Any]


def projection(sealed: SealedStudy, phases: dict[str, Any], evaluations: dict[str, Any]) -> dict[str, Any]:
    """Hours that the registered number of iterations would take in each arm, without and with evaluations.

    One row per arm and ``every``: iterations from one of the largest evaluations (of ``games``) to the next, as
    registered or else as observed; null: none. Smaller ones stay as often as observed, ``beside_seconds`` of them per
    iteration. ``seconds``: mean iteration of all runs, its share of the evaluations included; ``_low`` and ``_high``:
    were every iteration like the mean one of the fastest and of the slowest run. ``evaluation_by``: whether
    evaluations count by their excess or by the trainer's own timer, which stands in for all arms where that of one
    cannot be told.
    """
    registered = sealed.study.projection
    if registered is None:
        return {"registered": False, "rows": []}
    by = "excess" if all(kind["told"] for kind in _kinds(evaluations)) else "timer"
    rows = []
    for arm, table in phases["arms"].items():
        largest, *smaller = evaluations["arms"].get(arm, {}).get("kinds") or [None]
        beside = sum(evaluation_cost(kind[by], kind["every"]) for kind in smaller)
        known: list[float | None] = [None]
        if largest is not None:
            known += registered.evaluation_every or [largest["every"]]
        means = _run_means(sealed, arm)
        for every in known:
            more = 0.0 if every is None else evaluation_cost(largest[by], every) + beside
            row: Row = {"arm": arm, "runs": len(means), "every": every, "evaluation_by": by if every else None}
            row |= {"games": largest["games"] if every else None, "beside_seconds": beside if every else 0.0}
            for key, plain in (("", table["seconds"]), ("_low", min(means)), ("_high", max(means))):
                row[f"seconds{key}"] = plain + more
                row[f"hours{key}"] = projected_hours(plain + more, registered.iterations)
            rows.append({**row, "checkpoints": table["checkpoints"]})
    return {"registered": True, "iterations": registered.iterations, "rows": rows}


def _kinds(evaluations: dict[str, Any]) -> list[Row]:
    return [kind for one in evaluations["arms"].values() for kind in one.get("kinds", [])]


def _run_means(sealed: SealedStudy, arm: str) -> list[float]:
    """Mean seconds of a plain iteration, those with a checkpoint included, run by run."""
    found = []
    for run in sealed.of_arm(arm):
        if run.history is not None:
            rows = plain_rows(run.history, sealed.study.design.warmup)
            if len(rows):
                found.append(float(run.history.durations[ITERATION][rows].mean()))
    return found
