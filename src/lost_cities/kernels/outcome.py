"""Outcome sampling (Lanctot et al. 2009, section 3.1): one action at every decision, the traverser exploring.

At a decision h of the traverser with strategy s, the action a is drawn with probability q(a) = e / n + (1 - e) s(a).
With the value V' of what follows and a baseline b that does not depend on the action (Schmid et al. 2019,
section 3), unbiased estimates are V(h) = b + s(a) / q(a) (V' - b) and, as advantages of the legal actions,
(1 - s(a)) / q(a) (V' - b) for a and -s(a) / q(a) (V' - b) for the others.

Over the hundreds of decisions of a standard game the factors s / q multiply to estimates of huge variance. So only
a share of the traverser's decisions, drawn by lot, explores and gives a record; at the others the strategy itself
is played, whose factor is 1. Every record remains unbiased, because the lot does not depend on the game.

Unbiased means: within one iteration. How often a state is met depends on the traverser's own strategy of that
iteration, and records are not weighted by its inverse, whose variance would be that of the factors above. Over the
iterations, states that the strategy avoided weigh less than in external sampling; tests/lost_cities measures that
exploitability falls all the same. With e = 1 at every decision the traverser plays uniformly, so that a state is met
as often in every iteration as the other player's strategy and chance make it, and nothing is left to weigh.
"""

from __future__ import annotations

import numpy as np
from numba import njit

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


@njit(cache=True)
def resume_outcome(rules, lanes, memo, records, filled, advantages, settings, seed, iteration, last):
    """Go on in every waiting lane with the network's answers, up to its next decision or next traversal.

    ``advantages``: float32, row i answers record ``filled + i``. ``memo``: float64 (W, D, 3), per decision of the
    traverser q(a), s(a) and b. ``settings``: epsilon, points per unit, baseline by the score (0 or 1), most
    decisions of a traversal, share of the traverser's decisions that explore.
    """
    epsilon, unit, score_baseline, most, share = settings
    policy = np.empty(rules.actions)
    legal = np.empty(rules.actions, np.uint8)
    for lane in range(lanes.rows.shape[0]):
        if lanes.traversal[lane] == IDLE:
            continue
        row, record = lanes.rows[lane], lanes.record[lane]
        traverser = lanes.traversal[lane] & 1
        if not regret_matching(advantages[record - filled], records.legal[record], policy):
            lanes.counts[NOT_FINITE] += 1
        lanes.counts[NODES] += 1
        lanes.visited[lane] += 1
        if lanes.visited[lane] > most:
            lanes.counts[TOO_LONG] += 1
        if records.kind[record] == STRATEGY:
            records.targets[record, :] = policy
            action = sample(policy, lanes.streams, lane)
        elif share < 1.0 and uniform(lanes.streams, lane) >= share:
            records.kind[record] = UNEXPLORED
            action = sample(policy, lanes.streams, lane)
        else:
            legal[:] = records.legal[record]
            number = np.sum(legal)
            explore = epsilon / number
            depth = lanes.depth[lane]
            action = sample(explore * legal + (1.0 - epsilon) * policy, lanes.streams, lane)
            memo[lane, depth, 0] = explore + (1.0 - epsilon) * policy[action]
            memo[lane, depth, 1] = policy[action]
            memo[lane, depth, 2] = final_value(rules, row, traverser, unit) * score_baseline
            lanes.path_record[lane, depth] = record
            lanes.path_action[lane, depth] = action
            lanes.depth[lane] = depth + 1
        step(rules, row, action)
        if to_decision(rules, row, legal, lanes.counts) == 0:
            count_ending(rules, row, lanes.counts)
            value = final_value(rules, row, traverser, unit)
            for depth in range(lanes.depth[lane] - 1, -1, -1):
                value = _write_advantages(
                    records, lanes.path_record[lane, depth], lanes.path_action[lane, depth], memo[lane, depth], value
                )
            count_chain(lanes.counts, lanes.visited[lane])
            lanes.counts[FINISHED] += 1
            start_lane(rules, lanes, lane, legal, seed, iteration, last)


@njit(cache=True)
def _write_advantages(records, record, action, memo, value):
    """Fill in one record of the traverser from the value of what followed; returns the value of the decision."""
    drawn, probability, baseline = memo
    weighted = (value - baseline) / drawn
    for other in range(records.targets.shape[1]):
        if records.legal[record, other]:
            records.targets[record, other] = -probability * weighted
    records.targets[record, action] = (1.0 - probability) * weighted
    return baseline + probability * weighted
