"""Throughput of every run: ratio of sums over named windows, for the stage, the iteration and the whole process."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.evidence.history import History
from tachograph.evidence.said import said
from tachograph.evidence.throughput import Rate, ThroughputError, end_to_end, rate, retained, whole_run
from tachograph.models.trainer import HistoryFile
from tachograph.wording import counted, verb

ITERATION = "iteration"
WHOLE, RETAINED, WINDOW = "whole run", "retained", "window"
SENSITIVITY = ("twice the warm-up", "second half")  # always computed beside the headline (statistics.md, 3.1)
LONGER = "longer warm-up"  # where steadiness finds one: without the iterations that the MSER rule drops
REASONS = {
    "resumed": "a resumed session's start",
    "clock": "a step of the clock",
    "missing": "missing numbers",
    "instant": "of 0 s by the clock",
}
LONGEST_SERIES = 2000  # points of a run that figures and record.json keep; the history itself is in the record


def run_rows(sealed: SealedStudy, longer_warmup: int | None = None) -> list[dict[str, Any]]:
    """One entry for each counted training run, in registered order.

    ``longer_warmup``: iterations to drop in a further window, where the registered warm-up is too short.
    """
    return [_row(sealed, run, longer_warmup) for run in sealed.runs.values() if run.history is not None]


def checkpoints(sealed: SealedStudy) -> dict[str, int]:
    """Iterations of each counted training run that wrote a checkpoint and therefore give no rate."""
    runs = sealed.runs.values()
    return {run.planned.key: int(run.history.is_checkpoint.sum()) for run in runs if run.history is not None}


def rates_of(
    sealed: SealedStudy, run: SealedRun, duration: str, longer_warmup: int | None = None
) -> dict[str, dict[str, Any]]:
    """The rates of ``duration`` of one run: over the whole run, after warm-up, in the registered window, and others.

    Each is ``{"value", "unit", "work", "seconds", "iterations", "window"}``, or ``{"value": None, "reason"}``.
    """
    assert run.history is not None
    history, design = run.history, sealed.study.design
    found = {WHOLE: _rate(lambda: whole_run(history, duration))}
    if run.planned.amount == design.iterations:  # a shorter run (baseline, burn-in) has no window of its own
        window = f"iterations after {design.warmup} of warm-up"
        found[RETAINED] = _rate(
            lambda: rate(history, duration, retained(history, duration, design.warmup).rows, window)
        )
        if design.window is not None:
            first, last = design.window
            rows = rows_between(history, duration, first, last)
            found[WINDOW] = _rate(lambda: rate(history, duration, rows, f"iterations {first} to {last}"))
        windows = dict(zip(SENSITIVITY, (2 * max(design.warmup, 1), len(history) // 2), strict=True))
        if longer_warmup is not None:
            windows[LONGER] = longer_warmup
        for name, dropped in windows.items():
            label = f"iterations after {dropped} ({name})"
            found[name] = _rate(lambda dropped=dropped, label=label: _after(history, duration, dropped, label))
    return found


def plain_rows(history: History, warmup: int) -> NDArray[np.int64]:
    """Rows of the iterations after ``warmup`` that hold no evaluation and can be timed.

    Those that wrote a checkpoint take part, unlike in rates: a checkpoint is one of the phases.
    Raises ThroughputError if the history is shorter than the warm-up.
    """
    return retained(history, ITERATION, warmup, checkpoints=True).rows


def _after(history: History, duration: str, dropped: int, label: str) -> Rate:
    return rate(history, duration, retained(history, duration, dropped).rows, label)


def rows_between(history: History, duration: str, first: int, last: int) -> NDArray[np.int64]:
    """Rows of iterations ``first`` to ``last`` (inclusive) that can give a rate."""
    rows = retained(history, duration, 0).rows
    iteration = history.iteration[rows]
    return rows[(iteration >= first) & (iteration <= last)]


def _rate(compute: Any) -> dict[str, Any]:
    try:
        found: Rate = compute()
    except ThroughputError as error:
        return {"value": None, "reason": str(error)}
    return dict(vars(found))


def _row(sealed: SealedStudy, run: SealedRun, longer_warmup: int | None) -> dict[str, Any]:
    assert run.history is not None
    history, planned, facts = run.history, run.planned, run.facts
    stage, possible = sealed.trainer.history.stage.name, history.clock_ok
    seconds = history.durations[ITERATION][possible]
    return {
        "run": planned.key,
        "role": planned.role,
        "arm": planned.arm,
        "seed": planned.seed,
        "block": planned.block,
        "attempt": run.attempt.number,
        "iterations": len(history.curve_rows),
        "rates": {
            "stage": rates_of(sealed, run, stage, longer_warmup),
            "iteration": rates_of(sealed, run, ITERATION),
            "end to end": {WHOLE: _rate(lambda: end_to_end(history, ITERATION, run.wall_seconds))},
        },
        "iteration_seconds_mean": float(seconds.mean()) if len(seconds) else None,
        "total_wall_seconds": run.wall_seconds,
        "phase_seconds": {
            phase.name: float(history.durations[phase.name][possible].sum()) for phase in sealed.trainer.history.phases
        },
        "said": said(run.path, sealed.trainer.history, facts_of(sealed.trainer.history)),
        "findings": [{"kind": str(f.kind), "line": f.line, "sentence": f.sentence} for f in history.findings],
        "checks": facts["checks"],
        "host": facts["host"],
        "lease": {"wait_seconds": facts["lease"]["waited_s"], "hold_seconds": run.attempt.hold_seconds},
        "device": facts["device"],
        "history": {
            "file": f"{run.attempt.folder}/{facts['result']}",
            "sha256": history.sha256,
            "bytes": history.size,
            "rows": len(history),
        },
    }


def retained_rates(runs: list[dict[str, Any]], arm: str) -> list[float]:
    """Stage rates after warm-up of the runs of the blocks of ``arm``; ``runs`` are entries of :func:`run_rows`."""
    own = [run for run in runs if run["role"] == "run" and run["arm"] == arm]
    found = [run["rates"]["stage"].get(RETAINED, {}).get("value") for run in own]
    return [value for value in found if value]


def facts_of(history: HistoryFile) -> list[str]:
    """Columns that say what really ran; the state of the cache is one of them."""
    return [*history.facts, *([history.cache] if history.cache and history.cache not in history.facts else [])]


def series(sealed: SealedStudy) -> list[dict[str, Any]]:
    """Per iteration: stage rate and iteration seconds of every counted training run, in the order of execution.

    An iteration of 0 s, which a coarse clock shows, counts in a sum but gives no rate of its own, and is left out.
    """
    stage = sealed.trainer.history.stage.name
    runs = [run for run in sealed.runs.values() if run.history is not None]
    runs.sort(key=lambda run: run.attempt.started_at)
    found = []
    for run in runs:
        assert run.history is not None
        history = run.history
        rows, left_out = _rows_with_a_rate(history, stage)
        stride = max(1, -(-len(rows) // LONGEST_SERIES))
        rows = rows[::stride]
        found.append(
            {
                "run": run.planned.key,
                "role": run.planned.role,
                "arm": run.planned.arm,
                "seed": run.planned.seed,
                "every": stride,
                "left_out": left_out,
                "iteration": history.iteration[rows].tolist(),
                "work": history.work[rows].tolist(),
                "stage_seconds": history.durations[stage][rows].tolist(),
                "iteration_seconds": history.durations[ITERATION][rows].tolist(),
            }
        )
    return found


def _rows_with_a_rate(history: History, stage: str) -> tuple[NDArray[np.int64], dict[str, int]]:
    """Rows whose work over seconds is a rate, and how many of the others there are for which reason."""
    if not len(history):
        return np.zeros(0, dtype=np.int64), {}
    kept = retained(history, stage, 0)
    takes_time = history.durations[stage][kept.rows] > 0
    instant = int(np.sum(~takes_time))
    return kept.rows[takes_time], {**kept.left_out, **({"instant": instant} if instant else {})}


def not_drawn(series: list[dict[str, Any]]) -> str:
    """Which iterations of the runs of a figure have no point in it, and why, in words; empty where all have one.

    ``series`` is that of :func:`series`; the runs of the preflight are in no figure.
    """
    shown = [one for one in series if one["role"] != "preflight"]
    reasons: dict[str, int] = {}
    for one in shown:
        for reason, count in one["left_out"].items():
            reasons[reason] = reasons.get(reason, 0) + count
    told = []
    if reasons:
        why = ", ".join(f"{count} {REASONS.get(reason, reason)}" for reason, count in reasons.items())
        n = sum(reasons.values())
        rate, point = counted(n, "iteration gives", "iterations give"), verb(n, "has", "have")
        told.append(f"{rate} no rate and {point} no point ({why})")
    thinned = {one["run"]: one["every"] for one in shown if one["every"] > 1}
    told += [f"of {run} one iteration in {every} is drawn" for run, every in thinned.items()]
    return "; ".join(told)
