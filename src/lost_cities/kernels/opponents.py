"""Opponents by rule of thumb. They see what a player may see: their hand, the expeditions, the tops of the piles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from lost_cities.kernels.game import can_play, legal_actions, random_legal
from lost_cities.kernels.random import uniform
from lost_cities.rules import DRAW

RANDOM, PASSIVE_DISCARD, SAFE = range(3)


class Opponent(NamedTuple):
    """What kind of opponent, and the thresholds of the safe ones (points and cards of the standard game)."""

    kind: int
    open_cards: int = 0  # playable cards of a colour in hand, to start its expedition
    open_value: int = 0  # sum of their numbers, to start it
    shake_cards: int = 0  # playable cards, to play a handshake
    shake_value: int = 0  # sum of their numbers, to play a handshake
    late_deck: int = 0  # cards left in the deck, at which nothing new is started
    noise: float = 0.0  # share of uniformly random actions


OPPONENTS = {
    "random": Opponent(RANDOM),
    "passive_discard": Opponent(PASSIVE_DISCARD),
    "safe_heuristic": Opponent(SAFE, 3, 18, 4, 24, 14),
    "safe_heuristic_loose": Opponent(SAFE, 2, 13, 3, 20, 8),
    "safe_heuristic_strict": Opponent(SAFE, 4, 23, 5, 30, 20),
    "noisy_safe": Opponent(SAFE, 3, 18, 4, 24, 14, 0.15),
}


@njit(cache=True)
def choose(rules, row, opponent, legal, number, streams, index):
    """The opponent's action in ``row``, one of the ``number`` set in ``legal``."""
    if opponent.kind == RANDOM or (opponent.noise > 0.0 and uniform(streams, index) < opponent.noise):
        return random_legal(legal, number, streams, index)
    if row[rules.stage_at] == DRAW:
        return 2 * rules.hand if opponent.kind == PASSIVE_DISCARD else _safe_draw(rules, row)
    if opponent.kind == PASSIVE_DISCARD:
        return rules.hand
    play = _safe_play(rules, row, opponent)
    return play if play >= 0 else _safest_discard(rules, row, opponent, legal)


@njit(cache=True)
def _safe_play(rules, row, opponent):
    """The card to play, the one that skips the fewest numbers; -1 for none worth it."""
    mover = row[rules.mover_at]
    best, best_skipped = -1, 100
    for slot in range(row[rules.hand_size_at + mover]):
        kind = row[rules.hand_at + mover * rules.hand + slot]
        if not can_play(rules, row, mover, kind):
            continue
        colour, rank = kind // (rules.ranks + 1), kind % (rules.ranks + 1)
        cards, value = _prospect(rules, row, mover, colour)
        late = row[rules.deck_left_at] <= opponent.late_deck
        if rank == 0:
            if late or cards < opponent.shake_cards or value < opponent.shake_value:
                continue
            skipped = -1
        else:
            last = row[rules.last_at + mover * rules.colours + colour]
            started = row[rules.count_at + mover * rules.colours + colour] > 0
            if not started and (late or cards < opponent.open_cards or value < opponent.open_value):
                continue
            skipped = rank + 1 - last - 1 if last > 0 else rank - 1
            # a started expedition waits for lower numbers while there is time for them
            if skipped > 2 + cards and row[rules.deck_left_at] > 2 * rules.hand:
                continue
        if skipped < best_skipped:
            best, best_skipped = slot, skipped
    return best


@njit(cache=True)
def _prospect(rules, row, player, colour):
    """Cards of ``colour`` in hand that can be played, and the sum of their numbers and those already played."""
    cards, value = 0, row[rules.sum_at + player * rules.colours + colour]
    for slot in range(row[rules.hand_size_at + player]):
        kind = row[rules.hand_at + player * rules.hand + slot]
        rank = kind % (rules.ranks + 1)
        if kind // (rules.ranks + 1) == colour and rank > 0 and can_play(rules, row, player, kind):
            cards += 1
            value += rank + 1
    return cards, value


@njit(cache=True)
def _safest_discard(rules, row, opponent, legal):
    """The discard that costs the mover least and helps the other least."""
    mover = row[rules.mover_at]
    best, best_harm = -1, 1e9
    for slot in range(row[rules.hand_size_at + mover]):
        if not legal[rules.hand + slot]:
            continue
        kind = row[rules.hand_at + mover * rules.hand + slot]
        colour, rank = kind // (rules.ranks + 1), kind % (rules.ranks + 1)
        harm = 0.0
        if can_play(rules, row, mover, kind):
            started = row[rules.count_at + mover * rules.colours + colour] > 0
            cards, _ = _prospect(rules, row, mover, colour)
            harm += (2.0 if started else 0.5) * (rank + 1) + cards
        if can_play(rules, row, 1 - mover, kind):
            started = row[rules.count_at + (1 - mover) * rules.colours + colour] > 0
            harm += (1.5 if started else 0.3) * (rank + 1)
        if harm < best_harm:
            best, best_harm = slot, harm
    return rules.hand + best


@njit(cache=True)
def _safe_draw(rules, row):
    """The highest visible card that continues an own expedition, else the deck."""
    mover = row[rules.mover_at]
    best, best_rank = 2 * rules.hand, 0
    for colour in range(rules.colours):
        size = row[rules.pile_size_at + colour]
        if size == 0 or colour == row[rules.forbidden_at]:
            continue
        kind = row[rules.pile_at + colour * rules.per_colour + size - 1]
        started = row[rules.count_at + mover * rules.colours + colour] > 0
        if started and can_play(rules, row, mover, kind) and kind % (rules.ranks + 1) > best_rank:
            best, best_rank = 2 * rules.hand + 1 + colour, kind % (rules.ranks + 1)
    return best


@njit(cache=True)
def opponents_act(rules, rows, games, opponent, streams, actions):
    """Write the opponent's action in each of ``games`` (int64, rows of ``rows``) to ``actions`` (int64)."""
    legal = np.empty(rules.actions, np.uint8)
    for at in range(games.shape[0]):
        number = legal_actions(rules, rows[games[at]], legal)
        actions[at] = choose(rules, rows[games[at]], opponent, legal, number, streams, games[at])
