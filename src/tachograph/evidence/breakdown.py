"""What an evaluation is made of, subject by subject (opponent, task, data set)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.amdahl import ceiling
from tachograph.evidence.overlap import CLOSURE

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SubjectRow:
    """Mean seconds per evaluation of one subject. ``timers`` None where no row holds them; ``remainder``: elapsed
    minus its timers, None where one is unknown."""

    subject: str
    evaluations: int
    elapsed: float
    timers: Mapping[str, float | None]
    remainder: float | None


@dataclass(frozen=True)
class Breakdown:
    """``rows`` by subject, the slowest first. ``slowest`` seconds bound the evaluation from below if subjects are
    evaluated in parallel; ``together`` their sum, which is then no wall time.

    ``ceiling``: the evaluation would become this many times faster if ``inference`` took no time at all (Amdahl's law:
    over the slowest subject that remains, or over the sum); ``saved`` the seconds per evaluation that would then be
    gone. Both None where that is not known.
    """

    rows: tuple[SubjectRow, ...]
    slowest: float
    together: float
    parallel: bool
    inference: str | None
    ceiling: float | None
    saved: float | None


def breakdown(
    columns: Mapping[tuple[str, str], Floats],
    subjects: Sequence[str],
    elapsed: str,
    timers: Sequence[str],
    inference: str | None,
    parallel: bool | None,
    timer: float,
) -> Breakdown | None:
    """``timer``: mean seconds of the whole evaluation; subjects that sum to more overlap, where ``parallel`` is None.

    ``columns``: (subject, timer) -> seconds, shape (evaluations,), NaN where a row lacks it (a light evaluation
    has fewer subjects). None if no subject was ever evaluated."""
    rows = []
    for subject in subjects:
        whole = columns[subject, elapsed]
        there = np.isfinite(whole)
        if not there.any():
            continue
        means = {timer: _mean(columns[subject, timer][there]) for timer in timers}
        known = [value for value in means.values() if value is not None]
        mean = float(whole[there].mean())
        remainder = mean - sum(known) if len(known) == len(timers) else None
        rows.append(SubjectRow(subject, int(there.sum()), mean, means, remainder))
    if not rows:
        return None
    rows.sort(key=lambda row: -row.elapsed)
    seconds = [row.elapsed for row in rows]
    together = sum(seconds)
    overlap = together > timer * (1 + CLOSURE) if parallel is None else parallel
    spent = seconds[0] if overlap else together
    rest = _without(rows, inference, overlap)
    saved = None if rest is None else min(spent, max(0.0, spent - rest))
    limit = None if saved is None else ceiling(saved / spent if spent else 0.0)
    return Breakdown(tuple(rows), seconds[0], together, overlap, inference, limit, saved)


def _mean(values: Floats) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _without(rows: Sequence[SubjectRow], inference: str | None, parallel: bool) -> float | None:
    """Seconds of the evaluation if ``inference`` took no time, None where a subject lacks that timer."""
    left = []
    for row in rows:
        spent = None if inference is None else row.timers[inference]
        if spent is None:
            return None
        left.append(row.elapsed - spent)
    return max(left) if parallel else sum(left)
