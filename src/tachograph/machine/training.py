"""Training steps that were watched: is everything finite, does it learn, does the speed last?"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median
from typing import Any

from tachograph.machine.cellrecord import Steps
from tachograph.machine.verdict import Judged, judged
from tachograph.models.bounds import Bounds
from tachograph.wording import counted

BESIDE = {
    "clock_mhz": "clock",
    "cpu_clock_mhz": "processor clock",
    "temperature_celsius": "temperature",
    "cpu_temperature_celsius": "processor temperature",
    "foreign_processors": "processors used by others",
}


def judge_steps(steps: Steps) -> Judged:
    """FAIL unless losses and parameters are finite and every parameter changed."""
    return judged(_wrong(steps), [], _derived(steps))


def judge_soak(steps: Steps, bounds: Bounds) -> Judged:
    """As :func:`judge_steps`, and the loss has to fall; WARN where the speed fell below the registered share.

    The loss falls if the median of the last tenth is below the first one.
    """
    failures, derived = _wrong(steps), _derived(steps)
    known = [loss for loss in steps.losses if loss is not None]
    if not failures:
        last = median(known[-max(1, len(known) // 10) :])
        if not last < known[0]:
            failures = [f"the loss did not fall: {known[0]:.4g} at first, {last:.4g} at last"]
    return judged(failures, _slower(steps, derived["speed_last_over_first"], bounds.soak_speed), derived)


def _wrong(steps: Steps) -> list[str]:
    failures = []
    bad = steps.losses.count(None)
    if bad:
        rate, first = bad / len(steps.losses), steps.losses.index(None) + 1
        failures.append(f"{bad}/{len(steps.losses)} ({rate:.2%}) losses not finite, first at step {first}")
    if steps.nonfinite_parameters:
        failures.append(f"{counted(steps.nonfinite_parameters, 'parameter is', 'parameters are')} not finite")
    if steps.unchanged_parameters:
        failures.append(f"parameters that did not change: {', '.join(steps.unchanged_parameters[:5])}")
    return failures


def _slower(steps: Steps, share: float | None, least: float) -> list[str]:
    """A warning that says what the sensors said of the first and the last quarter: heat, or work of others."""
    if share is None or share >= least:
        return []
    beside = [
        f"{words} {first:.4g}, then {last:.4g}"
        for name, words in BESIDE.items()
        if (found := _quarters(steps.series.get(name, []))) is not None
        for first, last in [found]
    ]
    seen = f"; means of the two: {', '.join(beside)}" if beside else ""
    return [
        f"slowed down: the last quarter ran at {share:.2f} of the first one's speed, allowed is {least:g} "
        f"(throttling, or load of the host{seen})"
    ]


def _quarters(points: Sequence[Sequence[float]]) -> tuple[float, float] | None:
    """Means of a sampled quantity over the first and the last quarter of its time; None of fewer than four samples,
    and where a quarter has none."""
    if len(points) < 4:
        return None
    start, end = points[0][0], points[-1][0]
    first = [value for when, value in points if when <= start + (end - start) / 4]
    last = [value for when, value in points if when >= end - (end - start) / 4]
    return (fmean(first), fmean(last)) if first and last else None


def _derived(steps: Steps) -> dict[str, Any]:
    ends = steps.step_ends
    quarter = max(1, len(ends) // 4)
    first, last = _rate(ends[: quarter + 1]), _rate(ends[-quarter - 1 :])
    return {
        "steps": len(steps.losses),
        "seconds": ends[-1] - ends[0] if len(ends) > 1 else None,  # from the end of the first step on
        "first_loss": steps.losses[0],
        "last_loss": steps.losses[-1],
        "speed_last_over_first": None if first is None or last is None else last / first,
    }


def _rate(ends: Sequence[float]) -> float | None:
    """Steps per second between the first and the last of some step ends, seconds."""
    return None if len(ends) < 2 or ends[-1] <= ends[0] else (len(ends) - 1) / (ends[-1] - ends[0])
