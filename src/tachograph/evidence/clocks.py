"""Whether the durations of a history can be true."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.findings import Findings, Kind

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SLEW = 5e-4  # largest rate at which adjtime(3) and NTP daemons drift the wall clock without a step
JUMP = 10.0  # a duration this many times the median, while nothing else grew, is a step of the clock
STEP_SECONDS = 0.5  # wall clock against monotonic clock between two rows; slewing stays far below
SLACK = 1.05  # a duration may exceed the monotonic time between two rows by this factor (and SLACK_SECONDS),
SLACK_SECONDS = 0.05  # because rows are written a little after the iteration has ended


def wall_clock_step(outcome: Mapping[str, float]) -> float | None:
    """Seconds by which the wall clock was set against the monotonic one from the start to the end of a program.

    ``outcome`` holds ``started_wall``, ``ended_wall``, ``started_monotonic`` and ``ended_monotonic``. None for what
    slewing explains. A host that slept shows its sleep, as CLOCK_MONOTONIC stands still meanwhile (clock_gettime(2)).
    """
    lived = outcome["ended_monotonic"] - outcome["started_monotonic"]
    step = outcome["ended_wall"] - outcome["started_wall"] - lived
    return step if abs(step) > STEP_SECONDS + SLEW * lived else None


def check_clocks(
    durations: Mapping[str, Floats],
    line: NDArray[np.int64],
    segment: NDArray[np.int64],
    monotonic: Floats | None,
    wall: Floats | None,
    cumulative: Sequence[Floats],
    longer: Bools,
    parallel: Collection[str],
    findings: Findings,
) -> Bools:
    """Return bool[n], False where a duration is impossible; tell what was found.

    Impossible is a negative duration; one that exceeds the monotonic time since the row before; one of more
    than ten times the median while the other durations of the row did not grow. Nothing is clamped.
    ``monotonic`` and ``wall`` are clock readings in seconds, ``cumulative`` raw second counters. ``longer``, bool[n]:
    rows that say why they may take long (an evaluation, a compilation, a checkpoint), which no stage need show.
    ``parallel``: durations added up over what runs at the same time, which may exceed the time that passed.
    """
    ok = np.ones(len(line), dtype=bool)
    elapsed = _differences(monotonic, segment)
    first = np.diff(segment, prepend=-1) > 0
    with np.errstate(invalid="ignore"):
        for name, seconds in durations.items():
            others = [other for key, other in durations.items() if key != name]
            ok &= _not_negative(name, seconds, line, findings)
            if name in parallel:
                continue
            ok &= _within_elapsed(name, seconds, elapsed, line, findings)
            ok &= _no_jump(name, seconds, others, elapsed, line, first | longer, findings)
        _tell_wall_steps(elapsed, _differences(wall, segment), line, findings)
    for counter in cumulative:
        if len(counter) > 1 and np.all(counter == np.floor(counter)) and counter.any():
            findings.add(
                Kind.COARSE_CLOCK,
                None,
                "the seconds are whole numbers: single iterations are uncertain by 1 s, sums are usable",
            )
    return ok


def _differences(clock: Floats | None, segment: NDArray[np.int64]) -> Floats | None:
    """Seconds since the row before, NaN at the first row of a segment; shape (n,)."""
    if clock is None or len(clock) == 0:
        return None
    steps = np.diff(clock, prepend=np.nan)
    steps[np.diff(segment, prepend=-1) > 0] = np.nan
    return steps


def _not_negative(name: str, seconds: Floats, line: NDArray[np.int64], findings: Findings) -> Bools:
    bad = seconds < 0
    for row in np.flatnonzero(bad).tolist():
        sentence = f"{name} took {seconds[row]:.6g} s in line {line[row]}"
        findings.add(Kind.INVALID_CLOCK, int(line[row]), sentence)
    if bad.any():
        findings.add(Kind.WALL_CLOCK, None, f"the clock of {name} steps back: it is no monotonic clock")
    return ~bad


def _within_elapsed(
    name: str, seconds: Floats, elapsed: Floats | None, line: NDArray[np.int64], findings: Findings
) -> Bools:
    if elapsed is None:
        return np.ones(len(seconds), dtype=bool)
    bad = seconds > elapsed * SLACK + SLACK_SECONDS
    for row in np.flatnonzero(bad).tolist():
        sentence = (
            f"{name} claims {seconds[row]:.6g} s in line {line[row]}, "
            f"but only {elapsed[row]:.6g} s had passed on the monotonic clock"
        )
        findings.add(Kind.INVALID_CLOCK, int(line[row]), sentence)
    return ~bad


def _no_jump(
    name: str,
    seconds: Floats,
    others: Sequence[Floats],
    elapsed: Floats | None,
    line: NDArray[np.int64],
    longer: Bools,
    findings: Findings,
) -> Bools:
    ok = np.ones(len(seconds), dtype=bool)
    if elapsed is not None or np.isfinite(seconds).sum() < 3:
        return ok  # the monotonic clock has already judged
    rest = np.sum(others, axis=0) if others else None
    for row in np.flatnonzero((seconds > JUMP * np.nanmedian(seconds)) & ~longer).tolist():
        if rest is None:
            sentence = f"{name} took {seconds[row]:.6g} s in line {line[row]}, over ten times the median"
            findings.add(Kind.CLOCK_STEP, int(line[row]), sentence + ": slow, or a step of the clock")
        elif rest[row] <= 2 * np.nanmedian(rest):
            sentence = f"{name} jumps to {seconds[row]:.6g} s in line {line[row]} while nothing else grew"
            findings.add(Kind.INVALID_CLOCK, int(line[row]), sentence)
            ok[row] = False
    return ok


def _tell_wall_steps(elapsed: Floats | None, wall: Floats | None, line: NDArray[np.int64], findings: Findings) -> None:
    if elapsed is None or wall is None:
        return
    step = wall - elapsed
    for row in np.flatnonzero(np.abs(step) > STEP_SECONDS + 1e-3 * elapsed).tolist():
        sentence = f"the wall clock stepped by {step[row]:+.3f} s before line {line[row]}"
        findings.add(Kind.CLOCK_STEP, int(line[row]), sentence)
