"""Matched curves as description: how far the arms lie apart, beside how far two reference seeds lie apart."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from tachograph.analysis.names import metric_columns
from tachograph.analysis.rates import LONGEST_SERIES
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.evidence.columns import Missing


def curves(sealed: SealedStudy) -> dict[str, Any]:
    """For each metric: largest per-iteration difference of each arm to the reference of the same seed, and of
    all pairs of reference seeds; whether the first lies within the second (the envelope of document 000).
    """
    reference = sealed.study.design.reference
    runs = {run.planned.seed: run for run in sealed.of_arm(reference)}
    labels = {metric.column: metric.label for metric in sealed.study.curves}
    margins = {metric.column: metric for metric in sealed.study.curves}
    metrics = []
    for column in metric_columns(sealed.study, sealed.trainer):
        pairs = [_difference(runs[a], runs[b], column) for a, b in combinations(runs, 2)]
        known = [pair["max_abs"] for pair in pairs if pair["max_abs"] is not None]
        metric = margins.get(column)
        metrics.append(
            {
                "metric": column,
                "label": labels.get(column, column.replace("_", " ")),
                "margin": None if metric is None else {"value": metric.margin, "reason": metric.reason},
                "reference_pairs": pairs,
                "reference_max_abs": max(known, default=None),
                "arms": {
                    arm: [
                        _against_envelope(_difference(run, runs[run.planned.seed], column), max(known, default=None))
                        for run in sealed.of_arm(arm)
                        if run.planned.seed in runs
                    ]
                    for arm in sealed.other_arms
                },
            }
        )
    return {"metrics": metrics, "reference_runs": len(runs), "false_alarm": false_alarm(len(runs))}


def false_alarm(references: int) -> dict[str, Any]:
    """How often a run of the reference arm itself would fall outside: the envelope is no test.

    Of the k runs that are compared with one reference run (k − 1 other references and a run of an identical arm)
    each is the farthest with the same probability 1 / k (statistics.md, 3.2). With more than one pair of references
    in the envelope it is an upper bound.
    """
    if references < 2:
        return {"probability": None, "reason": "fewer than two reference runs give no envelope"}
    return {"probability": 1 / references, "reference_runs": references}


def _difference(run: SealedRun, other: SealedRun, column: str) -> dict[str, Any]:
    """Largest absolute difference of two curves over the iterations that both have, and where it occurs."""
    assert run.history is not None
    assert other.history is not None
    found: dict[str, Any] = {"run": run.planned.key, "other": other.planned.key, "max_abs": None, "iteration": None}
    mine, theirs = (h.iteration[h.curve_rows] for h in (run.history, other.history))
    common, left, right = np.intersect1d(mine, theirs, return_indices=True)
    difference = np.abs(run.history.curve(column)[left] - other.history.curve(column)[right])
    if not np.isfinite(difference).any():
        return {**found, "reason": "no iteration with a value in both runs"}
    place = int(np.nanargmax(difference))
    return {**found, "max_abs": float(difference[place]), "iteration": int(common[place])}


def _against_envelope(difference: dict[str, Any], envelope: float | None) -> dict[str, Any]:
    if envelope is None or difference["max_abs"] is None:
        return {**difference, "over_envelope": None, "within": None}
    within = difference["max_abs"] <= envelope
    ratio = difference["max_abs"] / envelope if envelope > 0 else None
    return {**difference, "over_envelope": ratio, "within": bool(within)}


def identical(run: SealedRun, other: SealedRun, columns: list[str]) -> dict[str, Any]:
    """Whether two runs have the same values, bit for bit, in ``columns``; if not, the first difference.

    ``{"identical": bool, "columns": [...], "first_difference": {"iteration", "column", "values"} or None}``
    """
    assert run.history is not None
    assert other.history is not None
    first: dict[str, Any] | None = None
    a, b = run.history, other.history
    if not np.array_equal(a.iteration, b.iteration):
        first = {"iteration": None, "column": "iteration", "values": [len(a), len(b)]}
    else:
        for column in columns:
            # Bytes, so that −0 and 0 differ. Text and absent values cannot be compared here, so they never pass.
            same = a.columns[column].view(np.uint64) == b.columns[column].view(np.uint64)
            kinds = a.missing[column]
            same &= (kinds == b.missing[column]) & np.isin(kinds, (Missing.PRESENT, Missing.NULL))
            if same.all():
                continue
            row = int(np.argmin(same))
            if first is None or a.iteration[row] < first["iteration"]:
                values = [_number(a.columns[column][row]), _number(b.columns[column][row])]
                first = {"iteration": int(a.iteration[row]), "column": column, "values": values}
    return {"identical": first is None, "columns": columns, "first_difference": first}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def repeat(sealed: SealedStudy) -> dict[str, Any]:
    """Whether the reference repeats: the same seed twice, metric by metric, bit for bit (tier 0)."""
    reference, seed = sealed.study.design.reference, sealed.study.design.seeds[0]
    if not sealed.study.design.repeat_reference:
        return {"registered": False, "reason": "no repeat of the reference (A/A) is registered"}
    first, second = sealed.runs.get(f"run-{reference}-seed{seed}"), sealed.runs.get(f"aa-{reference}-seed{seed}")
    if first is None or second is None:
        return {"registered": True, "identical": None, "reason": "a run of the pair does not count"}
    columns = metric_columns(sealed.study, sealed.trainer)
    return {
        "registered": True,
        "runs": [second.planned.key, first.planned.key],
        **identical(second, first, columns),
        "differences": {column: _difference(second, first, column) for column in columns},
    }


def curve_series(sealed: SealedStudy) -> list[dict[str, Any]]:
    """Values of each metric by iteration for every run of the blocks and the repeat; null where missing."""
    found = []
    for run in sealed.of_role("run", "aa"):
        assert run.history is not None
        iteration = run.history.iteration[run.history.curve_rows]
        stride = max(1, -(-len(iteration) // LONGEST_SERIES))
        found.append(
            {
                "run": run.planned.key,
                "role": run.planned.role,
                "arm": run.planned.arm,
                "seed": run.planned.seed,
                "every": stride,
                "iteration": iteration[::stride].tolist(),
                "metrics": {
                    column: [_number(value) for value in run.history.curve(column)[::stride]]
                    for column in metric_columns(sealed.study, sealed.trainer)
                },
            }
        )
    return found


def endings(sealed: SealedStudy) -> list[dict[str, Any]]:
    """The counts of the trainer file (such as games by kind of ending), summed over each run."""
    counts = sealed.trainer.history.endings
    found = []
    for run in sealed.of_role("baseline", "run", "aa"):
        if not counts:
            break
        assert run.history is not None
        history = run.history
        found.append(
            {
                "run": run.planned.key,
                "arm": run.planned.arm,
                "seed": run.planned.seed,
                "iterations": len(history.curve_rows),
                "counts": {count.name: _sum(history.curve(count.column)) for count in counts},
            }
        )
    return found


def _sum(values: Any) -> float | None:
    """The sum, as a whole number where it is one; None where a value is missing."""
    total = float(np.sum(values))
    if not np.isfinite(total):
        return None
    return int(total) if total == int(total) else total
