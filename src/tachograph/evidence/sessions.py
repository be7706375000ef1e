"""Sessions of a run: where a history starts again, and what cumulative counters mean across such a place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.findings import Findings, Kind

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Segment:
    """Rows ``start`` to ``stop`` (exclusive) written without interruption, and why the segment begins."""

    start: int
    stop: int
    first_iteration: int
    last_iteration: int
    reason: str


def split_segments(
    iteration: Ints, resets: list[Floats], session: Floats | None, line: Ints, findings: Findings
) -> tuple[Ints, tuple[Segment, ...]]:
    """Segment number of each row (int64[n]) and the segments.

    A segment begins where the iteration does not advance, where one of ``resets`` (clocks and counters that
    never step back within a session) steps back, or where ``session`` changes.
    """
    n = len(iteration)
    if n == 0:
        return np.zeros(0, dtype=np.int64), ()
    reasons = {int(row): "iteration repeated" for row in np.flatnonzero(np.diff(iteration) <= 0) + 1}
    for counter in resets:
        with np.errstate(invalid="ignore"):
            back = np.flatnonzero(np.diff(counter) < 0) + 1
        reasons.update({int(row): "counter of the session started again" for row in back})
    if session is not None:
        reasons.update({int(row): "new session" for row in np.flatnonzero(np.diff(session) != 0) + 1})
    starts = [0, *sorted(reasons)]
    stops = [*starts[1:], n]
    number = np.zeros(n, dtype=np.int64)
    number[starts[1:]] = 1
    segments = []
    for start, stop in zip(starts, stops, strict=True):
        reason = reasons.get(start, "first")
        segments.append(Segment(start, stop, int(iteration[start]), int(iteration[stop - 1]), reason))
        if start:
            sentence = f"a session begins in line {line[start]} with iteration {iteration[start]}: {reason}"
            findings.add(Kind.SESSION, int(line[start]), sentence)
    return np.cumsum(number), tuple(segments)


def per_iteration(values: Floats, iteration: Ints, segment: Ints, session: Floats | None) -> Floats:
    """Increments of a cumulative counter, shape (n,).

    Within a segment: the difference to the row before. At the first row of a later segment: the difference
    to the last earlier row of a smaller iteration (the checkpoint that was restored), or the value itself
    where the counter began again at 0. Dividing cumulative work by the time of the last session, as several
    trainers do, is what this avoids (DLR-RM/stable-baselines3#518).
    """
    increments = np.diff(values, prepend=0.0)
    firsts = np.flatnonzero(np.diff(segment) > 0) + 1
    if len(firsts) == 0:
        return increments
    restored = _last_smaller(iteration)
    for row in firsts.tolist():
        base = values[restored[row]] if restored[row] >= 0 else 0.0
        new_session = session is not None and session[row] != session[row - 1]
        increments[row] = values[row] if values[row] < base or new_session else values[row] - base
    return increments


def _last_smaller(iteration: Ints) -> list[int]:
    """For each row the last earlier row with a smaller iteration, -1 if there is none."""
    numbers = iteration.tolist()
    result, open_rows = [], list[int]()
    for row, number in enumerate(numbers):
        while open_rows and numbers[open_rows[-1]] >= number:
            open_rows.pop()
        result.append(open_rows[-1] if open_rows else -1)
        open_rows.append(row)
    return result
