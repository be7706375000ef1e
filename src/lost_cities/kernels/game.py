"""The rules: deal, legal actions, one action, scores. Kernels over one row of a state array (int16).

See :mod:`lost_cities.rules` for cards, actions and the layout of a row. Callers pass legal actions only.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from lost_cities.kernels.random import below
from lost_cities.rules import ACTION_CAP, DECK_EMPTY, DRAW, NOTHING, PLAY_OR_DISCARD, RUNNING


@njit(cache=True)
def deal(rules, row, streams, index):
    """Set ``row`` to the start of a game, shuffled with stream ``index`` of ``streams``."""
    order = np.empty(rules.cards, np.int16)
    filled = 0
    for colour in range(rules.colours):
        for copy in range(rules.per_colour):
            rank = max(0, copy - rules.handshakes + 1)
            order[filled] = colour * (rules.ranks + 1) + rank
            filled += 1
    for at in range(rules.cards - 1, 0, -1):
        other = below(streams, index, at + 1)
        order[at], order[other] = order[other], order[at]
    deal_order(rules, row, order)


@njit(cache=True)
def deal_order(rules, row, order):
    """Start a game from a shuffled deck: the first ``hand`` kinds go to player 0, the next to player 1.

    The remaining cards are drawn from the end of ``order`` (int16, all cards).
    """
    row[:] = 0
    for player in range(2):
        for slot in range(rules.hand):
            row[rules.hand_at + player * rules.hand + slot] = NOTHING
            _take(rules, row, player, order[player * rules.hand + slot])
    left = rules.cards - 2 * rules.hand
    row[rules.deck_at : rules.deck_at + left] = order[2 * rules.hand :]
    row[rules.deck_left_at] = left
    row[rules.forbidden_at] = NOTHING
    row[rules.stage_at] = PLAY_OR_DISCARD
    row[rules.ended_at] = RUNNING


@njit(cache=True)
def can_play(rules, row, player, kind):
    """Whether ``player`` may put a card of ``kind`` on the expedition of its colour now."""
    colour, rank = kind // (rules.ranks + 1), kind % (rules.ranks + 1)
    last = row[rules.last_at + player * rules.colours + colour]
    return last == 0 if rank == 0 else rank + 1 > last


@njit(cache=True)
def legal_actions(rules, row, legal):
    """Write the legal actions of the mover to ``legal`` (uint8, one per action); returns how many there are."""
    legal[:] = 0
    if row[rules.ended_at] != RUNNING:
        return 0
    if row[rules.stage_at] == DRAW:
        legal[2 * rules.hand] = 1
        number = 1
        for colour in range(rules.colours):
            if row[rules.pile_size_at + colour] > 0 and colour != row[rules.forbidden_at]:
                legal[2 * rules.hand + 1 + colour] = 1
                number += 1
        return number
    number = 0
    mover = row[rules.mover_at]
    first = rules.hand_at + mover * rules.hand
    previous = NOTHING
    for slot in range(row[rules.hand_size_at + mover]):
        kind = row[first + slot]
        if kind != previous:
            legal[rules.hand + slot] = 1
            number += 1
            if can_play(rules, row, mover, kind):
                legal[slot] = 1
                number += 1
        previous = kind
    return number


@njit(cache=True)
def step(rules, row, action):
    """Take a legal ``action`` in ``row``."""
    mover = row[rules.mover_at]
    if action < 2 * rules.hand:
        discard = action >= rules.hand
        kind = _give(rules, row, mover, action - rules.hand if discard else action)
        colour, rank = kind // (rules.ranks + 1), kind % (rules.ranks + 1)
        if discard:
            size = row[rules.pile_size_at + colour]
            row[rules.pile_at + colour * rules.per_colour + size] = kind
            row[rules.pile_size_at + colour] = size + 1
            row[rules.forbidden_at] = colour
        else:
            own = mover * rules.colours + colour
            row[rules.expedition_at + mover * rules.kinds + kind] += 1
            row[rules.count_at + own] += 1
            if rank > 0:
                row[rules.last_at + own] = rank + 1
                row[rules.sum_at + own] += rank + 1
        row[rules.stage_at] = DRAW
    else:
        if action == 2 * rules.hand:
            left = row[rules.deck_left_at] - 1
            row[rules.deck_left_at] = left
            kind = row[rules.deck_at + left]
            if left == 0:
                row[rules.ended_at] = DECK_EMPTY
        else:
            colour = action - 2 * rules.hand - 1
            size = row[rules.pile_size_at + colour] - 1
            row[rules.pile_size_at + colour] = size
            kind = row[rules.pile_at + colour * rules.per_colour + size]
            row[rules.known_at + mover * rules.kinds + kind] += 1
        _take(rules, row, mover, kind)
        row[rules.stage_at] = PLAY_OR_DISCARD
        row[rules.forbidden_at] = NOTHING
        row[rules.mover_at] = 1 - mover
    row[rules.taken_at] += 1
    if row[rules.taken_at] >= rules.action_cap and row[rules.ended_at] == RUNNING:
        row[rules.ended_at] = ACTION_CAP


@njit(cache=True)
def expedition_score(rules, row, player, colour):
    """Points of one expedition: (sum - cost) x (handshakes + 1), plus the bonus of a long one; 0 if not started."""
    own = player * rules.colours + colour
    count = row[rules.count_at + own]
    if count == 0:
        return 0
    shakes = row[rules.expedition_at + player * rules.kinds + colour * (rules.ranks + 1)]
    points = (row[rules.sum_at + own] - rules.cost) * (shakes + 1)
    return points + rules.bonus if count >= rules.bonus_cards else points


@njit(cache=True)
def score(rules, row, player):
    """Points of all expeditions of ``player`` as they stand."""
    total = 0
    for colour in range(rules.colours):
        total += expedition_score(rules, row, player, colour)
    return total


@njit(cache=True)
def random_legal(legal, number, streams, index):
    """A uniformly drawn action out of the ``number`` set in ``legal``."""
    skip = below(streams, index, number)
    for action in range(legal.shape[0]):
        if legal[action]:
            if skip == 0:
                return action
            skip -= 1
    return -1


@njit(cache=True)
def play_random_games(rules, streams, scores, endings):
    """Play one game of uniformly random actions per stream; returns the number of actions taken.

    ``streams``: uint64 (games,), advanced. ``scores``: int64 (games, 2) and ``endings``: int64 (games,), written.
    """
    row = np.empty(rules.row, np.int16)
    legal = np.empty(rules.actions, np.uint8)
    actions = 0
    for game in range(streams.shape[0]):
        deal(rules, row, streams, game)
        while row[rules.ended_at] == RUNNING:
            number = legal_actions(rules, row, legal)
            step(rules, row, random_legal(legal, number, streams, game))
        actions += row[rules.taken_at]
        scores[game, 0] = score(rules, row, 0)
        scores[game, 1] = score(rules, row, 1)
        endings[game] = row[rules.ended_at]
    return actions


@njit(cache=True)
def _take(rules, row, player, kind):
    """Put a card into a hand, which stays sorted."""
    first = rules.hand_at + player * rules.hand
    slot = row[rules.hand_size_at + player]
    row[rules.hand_size_at + player] = slot + 1
    while slot > 0 and row[first + slot - 1] > kind:
        row[first + slot] = row[first + slot - 1]
        slot -= 1
    row[first + slot] = kind


@njit(cache=True)
def _give(rules, row, player, slot):
    """Take the card in ``slot`` out of a hand and return its kind; a card the other knew of stops being known."""
    first = rules.hand_at + player * rules.hand
    kind = row[first + slot]
    size = row[rules.hand_size_at + player] - 1
    for at in range(slot, size):
        row[first + at] = row[first + at + 1]
    row[first + size] = NOTHING
    row[rules.hand_size_at + player] = size
    if row[rules.known_at + player * rules.kinds + kind] > 0:
        row[rules.known_at + player * rules.kinds + kind] -= 1
    return kind
