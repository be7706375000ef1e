"""Throughput of a run: work over seconds of a named set of iterations, always a ratio of sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.errors import TachographError
from tachograph.evidence.history import History
from tachograph.wording import counted

MIN_RETAINED = 5
MIN_RETAINED_SHARE = 0.5


class ThroughputError(TachographError):
    """A rate that cannot be computed; the sentence says why."""


@dataclass(frozen=True)
class Rate:
    """``value`` = ``work`` / ``seconds`` over ``iterations`` rows of ``window``, in ``unit`` per second."""

    value: float
    unit: str
    work: float
    seconds: float
    iterations: int
    window: str


@dataclass(frozen=True)
class Retained:
    """``rows`` int64[m] of the history that count for a rate, and how many were left out for which reason.

    A row is counted under the first reason that applies; the reasons add up to the rows left out.
    """

    rows: NDArray[np.int64]
    left_out: Mapping[str, int]
    window: str

    def enough(self) -> bool:
        """At least five rows and at least half of all rows."""
        total = len(self.rows) + sum(self.left_out.values())
        return len(self.rows) >= MIN_RETAINED and len(self.rows) >= MIN_RETAINED_SHARE * total


def retained(
    history: History, duration: str, warmup: int, window: str | None = None, checkpoints: bool = False
) -> Retained:
    """The rows of ``duration`` that count: after ``warmup`` rows, no evaluation, checkpoint or compilation, valid.

    ``checkpoints``: keep rows that wrote one. The first row of a resumed segment is warm-up, too. Raises
    :class:`ThroughputError` when there are not more rows than warm-up.
    """
    n = len(history)
    if n <= warmup:
        raise ThroughputError(f"{counted(n, 'iteration')} with a warm-up of {warmup}: nothing is left to measure")
    seconds = history.durations[duration]
    with np.errstate(invalid="ignore"):
        reasons = {
            "warm-up": np.arange(n) < warmup,
            "resumed": history.resumed_first,
            "compilation": history.is_compile,
            "evaluation": history.is_evaluation,
            "checkpoint": history.is_checkpoint & (not checkpoints),
            "clock": ~history.clock_ok,
            "missing": ~((seconds >= 0) & (history.work > 0)),  # 0 s is what a coarse clock shows
        }
    keep = np.ones(n, dtype=bool)
    left_out = {}
    for reason, mask in reasons.items():
        count = int(np.sum(keep & mask))
        if count:
            left_out[reason] = count
        keep &= ~mask
    return Retained(np.flatnonzero(keep), left_out, window or f"after {counted(warmup, 'warm-up iteration')}")


def rate(history: History, duration: str, rows: NDArray[np.int64], window: str) -> Rate:
    """Ratio of sums over ``rows``: the work-weighted harmonic mean, never the mean of rates.

    Raises :class:`ThroughputError` if no row is left or a sum is not positive and finite.
    """
    work = float(history.work[rows].sum())
    seconds = float(history.durations[duration][rows].sum())
    if not (0 < work < np.inf and 0 < seconds < np.inf):
        raise ThroughputError(
            f"no rate of {duration} {window}: {work:.6g} {history.spec.work_unit} in {seconds:.6g} s "
            f"over {counted(len(rows), 'iteration')}"
        )
    return Rate(work / seconds, history.spec.work_unit, work, seconds, len(rows), window)


def whole_run(history: History, duration: str) -> Rate:
    """The rate over every row with a possible duration, warm-up and evaluations included."""
    with np.errstate(invalid="ignore"):
        rows = np.flatnonzero(history.clock_ok & (history.durations[duration] >= 0) & (history.work > 0))
    return rate(history, duration, rows, "whole run")


def end_to_end(history: History, duration: str, total_seconds: float | None = None) -> Rate:
    """Useful work over all time: evaluations, compilation and repeated iterations cost, each counts once.

    ``total_seconds`` is the wall time of the process (monotonic); without it the sum of ``duration`` over
    all executed iterations is taken, which leaves out the start of the process.
    """
    rows = history.curve_rows
    work = float(history.work[rows].sum())
    seconds = total_seconds
    window = "end to end, process start included"
    if seconds is None:
        if not history.clock_ok.all():
            raise ThroughputError("no rate end to end: the clock stepped, the sum of durations is wrong")
        seconds = float(history.durations[duration].sum())
        window = "end to end, from the first iteration"
    if not (0 < work < np.inf and 0 < seconds < np.inf):
        raise ThroughputError(f"no rate end to end: {work:.6g} {history.spec.work_unit} in {seconds:.6g} s")
    return Rate(work / seconds, history.spec.work_unit, work, seconds, len(rows), window)


def spread(rates: Sequence[float]) -> float | None:
    """By how much the fastest exceeds the slowest, relatively; None for fewer than two rates."""
    return None if len(rates) < 2 else max(rates) / min(rates) - 1
