"""In which order the runs of a study start, and in which order they did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np


def mean_positions(orders: Sequence[Sequence[str]]) -> dict[str, float]:
    """Mean position of each arm relative to the middle of the session; all 0 where the order is balanced.

    The spread times the drift per run is the bias a linear drift leaves in a difference of two arms.
    """
    flat = [arm for order in orders for arm in order]
    middle = (len(flat) - 1) / 2
    places: dict[str, list[int]] = {}
    for place, arm in enumerate(flat):
        places.setdefault(arm, []).append(place)
    return {arm: float(np.mean(where)) - middle for arm, where in places.items()}


@dataclass(frozen=True)
class Started:
    """When a run held the device: monotonic seconds within one boot, and the wall time of its start."""

    run: str
    block: str | None
    boot_id: str
    start_monotonic: float
    end_monotonic: float
    start_wall: float


@dataclass(frozen=True)
class OrderCheck:
    """``realised`` order of runs and what differs from the registered one; deviations, never errors."""

    realised: tuple[str, ...]
    deviations: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.deviations


def realised_order(runs: Sequence[Started]) -> list[Started]:
    """Runs in the order in which they started: by monotonic clock within a boot, boots by wall clock."""
    boots: dict[str, float] = {}
    for run in runs:
        boots[run.boot_id] = min(boots.get(run.boot_id, np.inf), run.start_wall)
    return sorted(runs, key=lambda run: (boots[run.boot_id], run.start_monotonic))


def compare_order(registered: Sequence[str], runs: Sequence[Started]) -> OrderCheck:
    """Compare the realised order with the registered one, over the runs that are in both.

    Told are: another order, runs that overlapped in time, blocks whose runs are no longer adjacent, and
    several boots within one block.
    """
    started = realised_order(runs)
    realised = [run.run for run in started]
    planned = [run for run in registered if run in set(realised)]
    deviations = []
    if [run for run in realised if run in set(registered)] != planned:
        deviations.append(f"runs started as {', '.join(realised)}; registered was {', '.join(registered)}")
    for before, after in pairwise(started):
        if before.boot_id == after.boot_id and after.start_monotonic < before.end_monotonic:
            deviations.append(f"{before.run} and {after.run} overlapped in time")
    for block, places in _places(started).items():
        if places[-1] - places[0] != len(places) - 1:
            deviations.append(f"the runs of block {block} are not adjacent")
        if len({started[place].boot_id for place in places}) > 1:
            deviations.append(f"the machine was restarted within block {block}")
    return OrderCheck(tuple(realised), tuple(deviations))


def _places(started: Sequence[Started]) -> Mapping[str, list[int]]:
    places: dict[str, list[int]] = {}
    for place, run in enumerate(started):
        if run.block is not None:
            places.setdefault(run.block, []).append(place)
    return places
