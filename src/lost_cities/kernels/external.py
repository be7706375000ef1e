"""External sampling (Lanctot et al. 2009, section 3.2): every action of the traverser, one of chance and opponent.

The walk goes depth first with a stack of its own: a decision of the traverser is a frame that keeps the game and
the values of the actions already tried. Advantages are the values of the actions minus that of the strategy.

In a long game that would never end. With a share below 1, a decision of the traverser is tried out by lot and
never below another one that is; at all others the strategy is played. A record then rests on one continuation of
each action, all dealt the same cards, and remains unbiased, because the lot does not depend on the game.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lost_cities.kernels.game import step
from lost_cities.kernels.lanes import (
    FINISHED,
    IDLE,
    NODES,
    NOT_FINITE,
    STRATEGY,
    TOO_LONG,
    UNEXPLORED,
    count_chain,
    count_ending,
    final_value,
    start_lane,
    to_decision,
)
from lost_cities.kernels.random import uniform
from lost_cities.kernels.regret import regret_matching, sample
from lost_cities.rules import Rules


class Frames(NamedTuple):
    """One stack per lane; D frames each."""

    rows: NDArray[np.int16]  # (W, D, rules.row): the game before the action
    policy: NDArray[np.float64]  # (W, D, rules.actions)
    values: NDArray[np.float64]  # (W, D, rules.actions): of the actions tried, 0 else
    course: NDArray[np.int64]  # (W, D): decisions on the way to the frame, its own included
    at: NDArray[np.int64]  # (W,): decisions on the way to the present state
    longest: NDArray[np.int64]  # (W,): most decisions on the way to any state of the traversal


def make_frames(rules: Rules, width: int, depth: int) -> Frames:
    return Frames(
        np.empty((width, depth, rules.row), np.int16),
        np.empty((width, depth, rules.actions)),
        np.empty((width, depth, rules.actions)),
        np.zeros((width, depth), np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
    )


@njit(cache=True)
def resume_external(rules, lanes, frames, records, filled, advantages, settings, seed, iteration, last):
    """Go on in every waiting lane with the network's answers, up to its next decision or next traversal.

    ``advantages``: float32, row i answers record ``filled + i``. ``settings``: those of
    :func:`lost_cities.kernels.outcome.resume_outcome`, of which epsilon and the baseline do not apply.
    """
    _, unit, _, most, share = settings
    policy = np.empty(rules.actions)
    legal = np.empty(rules.actions, np.uint8)
    for lane in range(lanes.rows.shape[0]):
        if lanes.traversal[lane] == IDLE:
            continue
        row, record = lanes.rows[lane], lanes.record[lane]
        if not regret_matching(advantages[record - filled], records.legal[record], policy):
            lanes.counts[NOT_FINITE] += 1
        lanes.counts[NODES] += 1
        if lanes.visited[lane] == 0:
            frames.at[lane] = frames.longest[lane] = 0
        lanes.visited[lane] += 1
        frames.at[lane] += 1
        frames.longest[lane] = max(frames.longest[lane], frames.at[lane])
        if lanes.visited[lane] > most:
            lanes.counts[TOO_LONG] += 1
        if records.kind[record] == STRATEGY:
            records.targets[record, :] = policy
            action = sample(policy, lanes.streams, lane)
        elif share < 1.0 and (lanes.depth[lane] > 0 or uniform(lanes.streams, lane) >= share):
            records.kind[record] = UNEXPLORED
            action = sample(policy, lanes.streams, lane)
        else:
            depth = lanes.depth[lane]
            frames.rows[lane, depth] = row
            frames.policy[lane, depth] = policy
            frames.values[lane, depth] = 0.0
            frames.course[lane, depth] = frames.at[lane]
            action = np.argmax(records.legal[record])
            lanes.path_record[lane, depth] = record
            lanes.path_action[lane, depth] = action
            lanes.depth[lane] = depth + 1
        step(rules, row, action)
        if to_decision(rules, row, legal, lanes.counts) == 0 and not _backtrack(
            rules, lanes, lane, frames, records, legal, unit
        ):
            count_chain(lanes.counts, frames.longest[lane])
            lanes.counts[FINISHED] += 1
            start_lane(rules, lanes, lane, legal, seed, iteration, last)


@njit(cache=True)
def _backtrack(rules, lanes, lane, frames, records, legal, unit):
    """From an ended game to the next decision of the walk; False when the walk is over."""
    row = lanes.rows[lane]
    traverser = lanes.traversal[lane] & 1
    count_ending(rules, row, lanes.counts)
    value = final_value(rules, row, traverser, unit)
    while lanes.depth[lane] > 0:
        depth = lanes.depth[lane] - 1
        record, action = lanes.path_record[lane, depth], lanes.path_action[lane, depth]
        frames.values[lane, depth, action] = value
        action += 1
        while action < rules.actions and not records.legal[record, action]:
            action += 1
        if action < rules.actions:
            lanes.path_action[lane, depth] = action
            row[:] = frames.rows[lane, depth]
            frames.at[lane] = frames.course[lane, depth]
            step(rules, row, action)
            if to_decision(rules, row, legal, lanes.counts) > 0:
                return True
            count_ending(rules, row, lanes.counts)
            value = final_value(rules, row, traverser, unit)
        else:
            value = np.dot(frames.policy[lane, depth], frames.values[lane, depth])
            for other in range(rules.actions):
                if records.legal[record, other]:
                    records.targets[record, other] = frames.values[lane, depth, other] - value
            lanes.depth[lane] = depth
    return False
