"""The rules of a variant as numbers, and where each field of a game stands in its row of a state array.

A card is known by its *kind*: ``colour * (ranks + 1) + rank``. Rank 0 is a handshake (several alike cards),
rank r >= 1 is the number r + 1, once per colour. Alike cards have no identity of their own.

Actions, ``2 * hand + 1 + colours`` of them: play the card in hand slot s (``s``), discard it (``hand + s``), draw
from the deck (``2 * hand``), draw from the pile of a colour (``2 * hand + 1 + colour``). Hands are kept sorted by
kind; of two alike cards in a hand only the first slot is a legal action, because both lead to the same game.
"""

from __future__ import annotations

from typing import NamedTuple

from lost_cities.errors import LostCitiesError

RUNNING, DECK_EMPTY, ACTION_CAP = 0, 1, 2
PLAY_OR_DISCARD, DRAW = 0, 1
NOTHING = -1


class Rules(NamedTuple):
    """A variant and the layout of its state rows; integers only, so that compiled kernels take it as it is."""

    colours: int
    ranks: int
    handshakes: int
    hand: int
    cost: int
    bonus: int
    bonus_cards: int
    action_cap: int
    # derived
    kinds: int
    cards: int
    per_colour: int
    actions: int
    inputs: int
    # first position of each field in a state row (int16), in this order
    deck_at: int  # cards: kinds, the top of the deck is the last of the first deck_left
    hand_at: int  # 2 x hand: kinds, sorted, NOTHING behind the last
    expedition_at: int  # 2 x kinds: cards of that kind on the player's expeditions
    last_at: int  # 2 x colours: last number played, 0 for none
    sum_at: int  # 2 x colours: sum of the numbers played
    count_at: int  # 2 x colours: cards played, handshakes included
    pile_at: int  # colours x per_colour: kinds, the last of the first pile_size is on top
    pile_size_at: int  # colours
    known_at: int  # 2 x kinds: cards in the player's hand that the other saw being drawn from a pile
    hand_size_at: int  # 2
    mover_at: int  # player to act
    stage_at: int  # PLAY_OR_DISCARD or DRAW
    forbidden_at: int  # colour just discarded, from whose pile the mover may not draw, or NOTHING
    deck_left_at: int
    taken_at: int  # actions taken so far
    ended_at: int  # RUNNING, DECK_EMPTY or ACTION_CAP
    row: int  # length of a state row


def make_rules(
    colours: int = 5,
    ranks: int = 9,
    handshakes: int = 3,
    hand: int = 8,
    cost: int = 20,
    bonus: int = 20,
    bonus_cards: int = 8,
    action_cap: int = 1000,
) -> Rules:
    """The rules of a variant; the defaults are the standard game. :class:`LostCitiesError` if it cannot be played.

    ``cost`` is subtracted from the sum of a started expedition, ``bonus`` added to one of at least
    ``bonus_cards`` cards. A game ends with the last card of the deck, or after ``action_cap`` actions.
    """
    for name, value, least in (
        ("colours", colours, 1),
        ("ranks", ranks, 1),
        ("handshakes", handshakes, 0),
        ("hand", hand, 1),
        ("cost", cost, 0),
        ("bonus", bonus, 0),
        ("bonus_cards", bonus_cards, 1),
        ("action_cap", action_cap, 1),
    ):
        if not least <= value <= 30_000:
            raise LostCitiesError(f"game.{name}: found {value}, expected a number from {least} to 30000")
    kinds, per_colour = colours * (ranks + 1), ranks + handshakes
    cards = colours * per_colour
    if cards <= 2 * hand:
        raise LostCitiesError(
            f"game: found two hands of {hand} and {cards} cards in all, expected at least {2 * hand + 1} cards"
        )
    if cards > 120:
        raise LostCitiesError(f"game: found {cards} cards in all, expected at most 120")
    fields = [
        cards,
        2 * hand,
        2 * kinds,
        2 * colours,
        2 * colours,
        2 * colours,
        colours * per_colour,
        colours,
        2 * kinds,
        2,
    ]
    fields += [1] * 6
    starts = [sum(fields[:index]) for index in range(len(fields) + 1)]
    return Rules(
        colours,
        ranks,
        handshakes,
        hand,
        cost,
        bonus,
        bonus_cards,
        action_cap,
        kinds,
        cards,
        per_colour,
        2 * hand + 1 + colours,
        hand * (colours + 3) + 5 * kinds + 9 * colours + 6,
        *starts,
    )


STANDARD = make_rules()
