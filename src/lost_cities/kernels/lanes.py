"""Lanes: traversals side by side, each stopped at a decision until the network has answered for all of them.

A traversal has a stream of random numbers of its own, derived from seed, iteration and its number, so its
course does not depend on the number of lanes, nor on what runs in the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lost_cities.kernels.encode import encode
from lost_cities.kernels.game import deal, legal_actions, score, step
from lost_cities.kernels.random import derive
from lost_cities.rules import RUNNING, Rules

IDLE = -1
# positions in Lanes.counts
NEXT, FINISHED, NODES, FORCED, DECK_ENDINGS, CAP_ENDINGS, TOO_LONG, CHAINS, LONGEST_CHAIN, NOT_FINITE, COUNTS = range(
    11
)
ADVANTAGE, STRATEGY, UNEXPLORED = range(3)  # kinds of records; nothing is learned from the last


class Lanes(NamedTuple):
    """State of the lanes (W of them) and of the traversals that they still have to take up."""

    rows: NDArray[np.int16]  # (W, rules.row): the game
    streams: NDArray[np.uint64]  # (W,): random state
    traversal: NDArray[np.int64]  # (W,): number of the traversal or IDLE; even numbers traverse for player 0
    record: NDArray[np.int64]  # (W,): the record of the decision that the lane waits at
    visited: NDArray[np.int64]  # (W,): decisions of the traversal so far
    depth: NDArray[np.int64]  # (W,): decisions of the traverser on the way to the present state
    path_record: NDArray[np.int64]  # (W, D): record of each of them
    path_action: NDArray[np.int64]  # (W, D): action taken there
    counts: NDArray[np.int64]  # (COUNTS,): the next traversal, sums over all of them, their longest chain


class Records(NamedTuple):
    """What traversals learn, one row per decision; N rows allocated."""

    inputs: NDArray[np.int8]  # (N, rules.inputs)
    targets: NDArray[np.float32]  # (N, rules.actions): advantages in units, or probabilities
    legal: NDArray[np.uint8]  # (N, rules.actions)
    kind: NDArray[np.uint8]  # (N,): ADVANTAGE, STRATEGY or UNEXPLORED
    player: NDArray[np.uint8]  # (N,): the player who decided
    traversal: NDArray[np.int64]  # (N,)


def make_lanes(rules: Rules, width: int, depth: int) -> Lanes:
    """``width`` idle lanes for traversals with at most ``depth`` decisions of the traverser on a path."""
    return Lanes(
        np.zeros((width, rules.row), np.int16),
        np.zeros(width, np.uint64),
        np.full(width, IDLE, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros(width, np.int64),
        np.zeros((width, depth), np.int64),
        np.zeros((width, depth), np.int64),
        np.zeros(COUNTS, np.int64),
    )


def make_records(rules: Rules, rows: int) -> Records:
    return Records(
        np.empty((rows, rules.inputs), np.int8),
        np.empty((rows, rules.actions), np.float32),
        np.empty((rows, rules.actions), np.uint8),
        np.empty(rows, np.uint8),
        np.empty(rows, np.uint8),
        np.empty(rows, np.int64),
    )


@njit(cache=True)
def to_decision(rules, row, legal, counts):
    """Take forced actions until the mover has a choice; returns the number of legal actions, 0 at the end."""
    number = legal_actions(rules, row, legal)
    while number == 1:
        counts[FORCED] += 1
        step(rules, row, np.argmax(legal))
        number = legal_actions(rules, row, legal)
    return number


@njit(cache=True)
def start_lane(rules, lanes, lane, legal, seed, iteration, last):
    """Take up the next traversal below ``last`` that has a decision, or leave the lane idle."""
    lanes.traversal[lane] = IDLE
    while lanes.counts[NEXT] < last:
        number = lanes.counts[NEXT]
        lanes.counts[NEXT] += 1
        lanes.streams[lane] = derive(seed, iteration, number & 1, number >> 1)
        lanes.depth[lane] = 0
        lanes.visited[lane] = 0
        deal(rules, lanes.rows[lane], lanes.streams, lane)
        if to_decision(rules, lanes.rows[lane], legal, lanes.counts) > 0:
            lanes.traversal[lane] = number
            return
        count_ending(rules, lanes.rows[lane], lanes.counts)
        lanes.counts[FINISHED] += 1


@njit(cache=True)
def start_lanes(rules, lanes, seed, iteration, first, last):
    """Give the traversals ``first`` to ``last - 1`` to the lanes, as many as there are lanes for now."""
    legal = np.empty(rules.actions, np.uint8)
    lanes.counts[:] = 0
    lanes.counts[NEXT] = first
    for lane in range(lanes.rows.shape[0]):
        start_lane(rules, lanes, lane, legal, seed, iteration, last)


@njit(cache=True)
def gather(rules, lanes, records, filled):
    """Write one record per waiting lane, player 0's decisions first; returns how many there are of each player."""
    at = filled
    middle = filled
    for player in range(2):
        for lane in range(lanes.rows.shape[0]):
            row = lanes.rows[lane]
            if lanes.traversal[lane] == IDLE or row[rules.mover_at] != player:
                continue
            encode(rules, row, records.inputs[at])
            legal_actions(rules, row, records.legal[at])
            records.targets[at, :] = 0.0
            records.kind[at] = ADVANTAGE if lanes.traversal[lane] & 1 == player else STRATEGY
            records.player[at] = player
            records.traversal[at] = lanes.traversal[lane]
            lanes.record[lane] = at
            at += 1
        if player == 0:
            middle = at
    return middle - filled, at - middle


@njit(cache=True)
def count_ending(rules, row, counts):
    if row[rules.ended_at] > RUNNING:
        counts[DECK_ENDINGS + row[rules.ended_at] - 1] += 1


@njit(cache=True)
def count_chain(counts, decisions):
    """Of a traversal that is over: decisions of which each had to wait for the answer to the one before it."""
    counts[CHAINS] += decisions
    counts[LONGEST_CHAIN] = max(counts[LONGEST_CHAIN], decisions)


@njit(cache=True)
def final_value(rules, row, traverser, points_per_unit):
    """The traverser's points minus the other's, in units."""
    return (score(rules, row, traverser) - score(rules, row, 1 - traverser)) / points_per_unit
