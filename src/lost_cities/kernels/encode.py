"""What a player knows, as whole numbers (int8) that a network multiplies by the scales of :mod:`lost_cities.encoding`.

Only the mover's own hand, both players' expeditions, the discard piles and the public course of the game are read:
never the deck's cards, nor cards of the other hand that were not drawn in the open.
"""

from __future__ import annotations

from numba import njit

from lost_cities.kernels.game import can_play, score


@njit(cache=True)
def encode(rules, row, out):
    """Write the mover's view of ``row`` to ``out`` (int8, ``rules.inputs``); :func:`input_names` names each number."""
    out[:] = 0
    colours, ranks, kinds = rules.colours, rules.ranks, rules.kinds
    mover = row[rules.mover_at]
    other = 1 - mover
    at = 0
    hand_block = rules.hand * (colours + 3)
    playable_block = hand_block + 5 * kinds + 8 * colours
    for slot in range(row[rules.hand_size_at + mover]):
        kind = row[rules.hand_at + mover * rules.hand + slot]
        colour, rank = kind // (ranks + 1), kind % (ranks + 1)
        out[at + colour] = 1
        out[at + colours] = rank == 0
        out[at + colours + 1] = rank + 1 if rank > 0 else 0
        playable = can_play(rules, row, mover, kind)
        out[at + colours + 2] = playable
        if playable and rank > 0:
            out[playable_block + colour] = _limit(out[playable_block + colour] + rank + 1)
        out[hand_block + kind] += 1
        at += colours + 3
    at = hand_block + kinds
    for kind in range(kinds):
        out[at + kind] = row[rules.expedition_at + mover * kinds + kind]
        out[at + kinds + kind] = row[rules.expedition_at + other * kinds + kind]
        out[at + 3 * kinds + kind] = row[rules.known_at + other * kinds + kind]
    for colour in range(colours):
        for card in range(row[rules.pile_size_at + colour]):
            out[at + 2 * kinds + row[rules.pile_at + colour * rules.per_colour + card]] += 1
    at += 4 * kinds
    for colour in range(colours):
        size = row[rules.pile_size_at + colour]
        if size > 0:
            rank = row[rules.pile_at + colour * rules.per_colour + size - 1] % (ranks + 1)
            out[at + colour] = rank + 1 if rank > 0 else 0
            out[at + colours + colour] = rank == 0
        out[at + 2 * colours + colour] = size
        own, their = mover * colours + colour, other * colours + colour
        out[at + 3 * colours + colour] = row[rules.last_at + own]
        out[at + 4 * colours + colour] = row[rules.last_at + their]
        if row[rules.count_at + own] > 0:
            out[at + 5 * colours + colour] = _limit(row[rules.sum_at + own] - rules.cost)
        if row[rules.count_at + their] > 0:
            out[at + 6 * colours + colour] = _limit(row[rules.sum_at + their] - rules.cost)
        out[at + 7 * colours + colour] = colour == row[rules.forbidden_at]
    at += 9 * colours
    out[at] = row[rules.stage_at]
    out[at + 1] = mover
    out[at + 2] = row[rules.deck_left_at]
    out[at + 3] = (rules.action_cap - row[rules.taken_at]) * 100 // rules.action_cap
    out[at + 4] = _limit(score(rules, row, mover) // 8)
    out[at + 5] = _limit(score(rules, row, other) // 8)


@njit(cache=True)
def _limit(value):
    return max(-127, min(127, value))
