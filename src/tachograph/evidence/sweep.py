"""What batching the network's calls would bring: a sweep over batch sizes, and whether there are states enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class SweepError(ValueError):
    """A sweep that cannot be; the sentence says why."""


@dataclass(frozen=True)
class SweepRow:
    """Seconds per call and per state at one batch size; ``speed_up`` of a state over the smallest batch."""

    batch_size: int
    seconds_per_call: float
    seconds_per_state: float
    speed_up: float


@dataclass(frozen=True)
class Sweep:
    """``peak`` is the batch size with the greatest speed-up; ``monotone``: none of the larger ones lost anything."""

    rows: tuple[SweepRow, ...]
    peak: int
    monotone: bool


@dataclass(frozen=True)
class Reach:
    """What a supply of ``states`` per group reaches: the best ``speed_up`` of a row with no larger batch, and its
    share of the best of the whole sweep. None of both where the supply is below the smallest batch."""

    states: float
    batch_size: int | None
    speed_up: float | None
    of_best: float | None


def sweep(batch_sizes: Sequence[int], seconds_per_call: Sequence[float]) -> Sweep:
    """The table of a sweep from mean seconds per call. Raises :class:`SweepError` for anything that is none."""
    if len(batch_sizes) != len(seconds_per_call) or len(batch_sizes) < 2:
        raise SweepError(
            f"found {len(batch_sizes)} batch sizes and {len(seconds_per_call)} times, expected two or more"
        )
    if sorted(set(batch_sizes)) != list(batch_sizes) or batch_sizes[0] < 1:
        raise SweepError(f"found batch sizes {list(batch_sizes)}, expected rising ones from 1 on, each once")
    if not all(0 < seconds < float("inf") for seconds in seconds_per_call):
        raise SweepError(f"found times {list(seconds_per_call)}, expected positive seconds")
    per_state = [seconds / size for size, seconds in zip(batch_sizes, seconds_per_call, strict=True)]
    rows = tuple(
        SweepRow(size, call, state, per_state[0] / state)
        for size, call, state in zip(batch_sizes, seconds_per_call, per_state, strict=True)
    )
    gains = [row.speed_up for row in rows]
    peak = max(rows, key=lambda row: row.speed_up)
    return Sweep(rows, peak.batch_size, gains == sorted(gains))


def reach(found: Sweep, states: float) -> Reach:
    """How much of the gain ``states`` per call can reach; the sweep is not extended beyond what was measured."""
    within = [row for row in found.rows if row.batch_size <= states]
    if not within:
        return Reach(states, None, None, None)
    best = max(within, key=lambda row: row.speed_up)
    return Reach(states, best.batch_size, best.speed_up, best.speed_up / max(row.speed_up for row in found.rows))
