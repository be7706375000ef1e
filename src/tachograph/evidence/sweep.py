"""What batching the network's calls would bring: a sweep over batch sizes, and whether there are states enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tachograph.wording import counted

Floats = NDArray[np.float64]

GROUP_UNBOUND, GROUP, ITERATION = "group if nothing waited", "group", "iteration"
SIDE_BY_SIDE, MADE = "side by side", "made"


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
    """What a supply of ``states`` per call reaches: the best ``speed_up`` of a row with no larger batch, and its
    share of the best of the whole sweep. None of both where the supply is below the smallest batch.

    ``next_batch_size`` and ``next_speed_up``: the smallest row that the supply does not fill. What a batch between two
    rows gains was not measured. None of both where the supply fills the largest row, or exactly a row.
    """

    states: float
    batch_size: int | None
    speed_up: float | None
    of_best: float | None
    next_batch_size: int | None = None
    next_speed_up: float | None = None


def sweep(batch_sizes: Sequence[int], seconds_per_call: Sequence[float]) -> Sweep:
    """The table of a sweep from mean seconds per call. Raises :class:`SweepError` for anything that is none."""
    if len(batch_sizes) != len(seconds_per_call) or len(batch_sizes) < 2:
        raise SweepError(
            f"found {counted(len(batch_sizes), 'batch size')} and {counted(len(seconds_per_call), 'time')}, "
            "expected two or more"
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
    above = [row for row in found.rows if row.batch_size > states and states != within[-1].batch_size]
    share = best.speed_up / max(row.speed_up for row in found.rows)
    if not above:
        return Reach(states, best.batch_size, best.speed_up, share)
    return Reach(states, best.batch_size, best.speed_up, share, above[0].batch_size, above[0].speed_up)


def supply(
    states: Floats,
    groups: Floats,
    chains: Floats | None = None,
    longest_chain: Floats | None = None,
    side_by_side: Floats | None = None,
    mean_batch: Floats | None = None,
) -> dict[str, float]:
    """States that could share a call, on average, and those that did: name of the supply -> states per call.

    All of shape (n,), over n iterations; NaN where a row lacks one. Work that depends on itself can be done, on
    average, at most (work / longest chain) pieces at a time (Brent 1974, "The parallel evaluation of general
    arithmetic expressions"). So ``GROUP``, one group alone, gives states over its longest chain: 1 where a group is
    one chain, as in outcome sampling. ``ITERATION``, all groups of an iteration at once, gives states over the longest
    chain of all. ``SIDE_BY_SIDE``, the groups that are walked together, gives no more than both allow. ``MADE`` is
    the mean of the calls that were made. Without ``chains`` only ``GROUP_UNBOUND`` is known of a group: all its
    states, an upper bound. Empty without states or groups.
    """
    asked, walked = float(np.nansum(states)), float(np.nansum(groups))
    if not (asked > 0 and walked > 0):
        return {}
    found: dict[str, float] = {}
    in_chains = 0.0 if chains is None else float(np.nansum(chains))
    if not in_chains > 0:
        found[GROUP_UNBOUND] = asked / walked
    else:
        found[GROUP] = asked / in_chains
    if longest_chain is not None and (longest := float(np.nansum(longest_chain))) > 0:
        found[ITERATION] = asked / longest
    if side_by_side is not None and in_chains > 0 and np.isfinite(side_by_side).any():
        together = float(np.nanmean(side_by_side)) * found[GROUP]
        found[SIDE_BY_SIDE] = min(together, found.get(ITERATION, together))
    if mean_batch is not None:
        known = mean_batch > 0
        if known.any():
            found[MADE] = float(states[known].sum() / (states[known] / mean_batch[known]).sum())
    return found
