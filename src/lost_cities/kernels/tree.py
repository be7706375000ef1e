"""The whole tree of a small game for one deal, and best responses on it.

An information set is named by a 64-bit hash of all that its player has seen, in order (perfect recall).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from lost_cities.kernels.encode import encode
from lost_cities.kernels.game import deal_order, legal_actions, score, step
from lost_cities.kernels.random import mix
from lost_cities.rules import NOTHING

TERMINAL = 2
UNKNOWN_CARD = 200


class Tree(NamedTuple):
    """Nodes in depth-first order: a parent stands before its children. N nodes of all deals."""

    player: NDArray[np.int8]  # (N,): 0, 1 or TERMINAL
    level: NDArray[np.int16]  # (N,): actions taken
    key: NDArray[np.uint64]  # (N,): information set of the mover
    child: NDArray[np.int32]  # (N, actions): node after the action, or NOTHING
    value: NDArray[np.float64]  # (N,): player 0's points minus player 1's at the end, 0 else
    chance: NDArray[np.float64]  # (N,): probability of the deal


def make_tree(actions: int, nodes: int) -> Tree:
    return Tree(
        np.empty(nodes, np.int8),
        np.empty(nodes, np.int16),
        np.empty(nodes, np.uint64),
        np.empty((nodes, actions), np.int32),
        np.empty(nodes, np.float64),
        np.empty(nodes, np.float64),
    )


@njit(cache=True)
def grow_tree(rules, order, probability, tree, inputs, filled):
    """Add the tree of the deal ``order`` to ``tree`` and the mover's view of each node to ``inputs`` (int8).

    Returns the number of nodes now filled, or -1 if the arrays are too short.
    """
    depth_most = rules.action_cap + 1
    rows = np.zeros((depth_most, rules.row), np.int16)
    keys = np.zeros((depth_most, 2), np.uint64)
    nodes = np.zeros(depth_most, np.int64)
    tried = np.zeros(depth_most, np.int64)
    legal = np.empty(rules.actions, np.uint8)
    deal_order(rules, rows[0], order)
    for player in range(2):
        keys[0, player] = np.uint64(player + 1)
        for slot in range(rules.hand):
            keys[0, player] = _absorb(keys[0, player], rows[0, rules.hand_at + player * rules.hand + slot])
    depth = 0
    fresh = True
    while depth >= 0:
        row = rows[depth]
        if fresh:
            if filled == tree.player.shape[0]:
                return -1
            node = filled
            filled += 1
            nodes[depth] = node
            tried[depth] = 0
            ended = row[rules.ended_at] != 0
            mover = row[rules.mover_at]
            tree.player[node] = TERMINAL if ended else mover
            tree.level[node] = row[rules.taken_at]
            tree.key[node] = keys[depth, mover]
            tree.child[node, :] = NOTHING
            tree.value[node] = score(rules, row, 0) - score(rules, row, 1) if ended else 0.0
            tree.chance[node] = probability
            encode(rules, row, inputs[node])
            if ended:
                depth -= 1
                fresh = False
                continue
        legal_actions(rules, row, legal)
        action = tried[depth]
        while action < rules.actions and not legal[action]:
            action += 1
        if action == rules.actions:
            depth -= 1
            fresh = False
            continue
        tried[depth] = action + 1
        rows[depth + 1] = row
        step(rules, rows[depth + 1], action)
        tree.child[nodes[depth], action] = filled
        _see(rules, row, action, keys[depth], keys[depth + 1])
        depth += 1
        fresh = True
    return filled


@njit(cache=True)
def _see(rules, row, action, before, after):
    """What both players see of ``action`` in ``row``: every card but one drawn from the deck by the other."""
    mover = row[rules.mover_at]
    if action < 2 * rules.hand:
        kind = row[rules.hand_at + mover * rules.hand + action % rules.hand]
        event = kind + (rules.kinds if action >= rules.hand else 0)
        after[0], after[1] = _absorb(before[0], event), _absorb(before[1], event)
    elif action == 2 * rules.hand:
        drawn = row[rules.deck_at + row[rules.deck_left_at] - 1]
        after[mover] = _absorb(before[mover], 2 * rules.kinds + drawn)
        after[1 - mover] = _absorb(before[1 - mover], 2 * rules.kinds + UNKNOWN_CARD)
    else:
        event = 4 * rules.kinds + UNKNOWN_CARD + action
        after[0], after[1] = _absorb(before[0], event), _absorb(before[1], event)


@njit(cache=True)
def _absorb(key, event):
    return mix(key * np.uint64(3) + np.uint64(event + 1))


@njit(cache=True)
def best_response_value(tree, infosets, order, policy, player):
    """Expected value for ``player`` of the best response to the other player's ``policy`` (infosets, actions).

    ``infosets``: int64 (N,), the row of ``policy`` of each node. ``order``: the nodes by falling level, so that
    those of one information set, all of one level, stand together with their level.
    """
    nodes, actions = tree.child.shape
    reach = tree.chance.copy()  # probability of chance and the other player to come here
    values = np.empty(nodes)
    for node in range(nodes):
        for action in range(actions):
            child = tree.child[node, action]
            if child >= 0:
                own = tree.player[node] == player
                reach[child] = reach[node] * (1.0 if own else policy[infosets[node], action])
    gain = np.zeros(policy.shape)
    best = np.zeros(policy.shape[0], np.int64)
    first = 0
    while first < nodes:
        last = first
        while last < nodes and tree.level[order[last]] == tree.level[order[first]]:
            node = order[last]
            if tree.player[node] == player:
                for action in range(actions):
                    child = tree.child[node, action]
                    if child >= 0:
                        gain[infosets[node], action] += reach[node] * values[child]
            last += 1
            if tree.player[node] == TERMINAL:
                values[node] = tree.value[node] if player == 0 else -tree.value[node]
        for at in range(first, last):
            node = order[at]
            if tree.player[node] == player:
                choice = -1
                for action in range(actions):
                    if tree.child[node, action] >= 0 and (
                        choice < 0 or gain[infosets[node], action] > gain[infosets[node], choice]
                    ):
                        choice = action
                best[infosets[node]] = choice
                values[node] = values[tree.child[node, choice]]
            elif tree.player[node] != TERMINAL:
                values[node] = 0.0
                for action in range(actions):
                    child = tree.child[node, action]
                    if child >= 0:
                        values[node] += policy[infosets[node], action] * values[child]
        first = last
    total = 0.0
    for node in range(nodes):
        if tree.level[node] == 0:
            total += tree.chance[node] * values[node]
    return total
