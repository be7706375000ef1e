"""Matched curves as description: how far the arms lie apart, beside how far reference seeds lie apart."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

import numpy as np

from tachograph.analysis.identity import identical
from tachograph.analysis.names import metric_columns
from tachograph.analysis.rates import LONGEST_SERIES
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.errors import TachographError
from tachograph.evidence.curves import CurveError, RunCurve, align
from tachograph.evidence.envelope import describe


def curves(sealed: SealedStudy) -> list[dict[str, Any]]:
    """For each metric its registered margin and, in ``rows``, each run against the reference run of its seed.

    A row holds what :class:`tachograph.evidence.envelope.Envelope` describes, or a ``reason`` why it cannot be.
    Iterations without a value in some run (of a metric that may lack one) are left out, ``iterations`` counts the
    ones that were compared.
    """
    registered = {metric.column: metric for metric in sealed.study.curves}
    found = []
    for column in metric_columns(sealed.study, sealed.trainer):
        metric = registered.get(column)
        found.append(
            {
                "metric": column,
                "label": column.replace("_", " ") if metric is None else metric.label,
                "margin": None if metric is None else {"value": metric.delta, "reason": metric.reason},
                "rows": [_row(sealed, run, column) for arm in sealed.other_arms for run in sealed.of_arm(arm)],
            }
        )
    return found


def _row(sealed: SealedStudy, run: SealedRun, column: str) -> dict[str, Any]:
    seed = run.planned.seed
    references = sealed.of_arm(sealed.study.design.reference)
    references.sort(key=lambda one: one.planned.seed != seed)  # the run of the same seed comes first
    row = {"arm": run.planned.arm, "seed": seed, "run": run.planned.key}
    if not references or references[0].planned.seed != seed:
        return {**row, "other": None, "reason": "no reference run of this seed counts"}
    row["other"] = references[0].planned.key
    try:
        lines = common([*references, run], column)
        found = asdict(describe(align(lines[:-1], lines[-1:], [column]))[0])
    except TachographError as error:
        return {**row, "reason": str(error)}
    if found["ratio"] is not None and not math.isfinite(found["ratio"]):
        found["ratio"] = None  # the references do not differ at all
    label = describe_label(found)
    return {**row, **found, "label": label, "iterations": len(lines[0].iteration)}


def describe_label(found: dict[str, Any]) -> str:
    """The same words for the same number, whatever the metric."""
    if found["reference_max"] is None:
        return "no envelope"
    return "inside the envelope" if found["fast_max"] <= found["reference_max"] else "outside the envelope"


def curve_of(run: SealedRun, columns: list[str]) -> RunCurve:
    """The curves of a counted run as the tests want them."""
    assert run.history is not None
    history = run.history
    values = {column: history.curve(column) for column in columns}
    return RunCurve(run.planned.key, run.planned.seed, history.iteration[history.curve_rows], values)


def common(runs: list[SealedRun], column: str) -> list[RunCurve]:
    """One metric of several runs over the iterations in which all of them have a finite value.

    Raises CurveError if there is no such iteration.
    """
    lines = [curve_of(run, [column]) for run in runs]
    usable = [line.iteration[np.isfinite(line.values[column])] for line in lines]
    shared = usable[0]
    for one in usable[1:]:
        shared = np.intersect1d(shared, one)
    if len(shared) == 0:
        raise CurveError(f"{column}: no iteration has a value in every run")
    return [
        RunCurve(line.run, line.seed, shared, {column: line.values[column][np.isin(line.iteration, shared)]})
        for line in lines
    ]


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
        "largest_differences": {column: _largest(first, second, column) for column in columns},
    }


def _largest(first: SealedRun, second: SealedRun, column: str) -> float | None:
    try:
        a, b = common([first, second], column)
    except CurveError:
        return None
    return float(np.abs(a.values[column] - b.values[column]).max())


def curve_series(sealed: SealedStudy) -> list[dict[str, Any]]:
    """Values of each metric by iteration for every run of the blocks and the repeat; null where missing."""
    columns = metric_columns(sealed.study, sealed.trainer)
    found = []
    for run in sealed.of_role("run", "aa"):
        curve = curve_of(run, columns)
        stride = max(1, -(-len(curve.iteration) // LONGEST_SERIES))
        found.append(
            {
                "run": run.planned.key,
                "role": run.planned.role,
                "arm": run.planned.arm,
                "seed": run.planned.seed,
                "every": stride,
                "iteration": curve.iteration[::stride].tolist(),
                "metrics": {
                    column: [float(value) if math.isfinite(value) else None for value in values[::stride]]
                    for column, values in curve.values.items()
                },
            }
        )
    return found
