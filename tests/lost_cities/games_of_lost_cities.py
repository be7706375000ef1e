"""The same shuffled game for the kernels and for the slow twin, and the comparison of their whole states."""

from __future__ import annotations

import numpy as np
from plain_lost_cities import PlainGame

from lost_cities.kernels.game import deal_order, legal_actions, score
from lost_cities.rules import ACTION_CAP, DECK_EMPTY, DRAW, NOTHING, RUNNING, Rules, make_rules

SMALL = make_rules(colours=2, ranks=3, handshakes=1, hand=2, cost=4, bonus=3, bonus_cards=3, action_cap=30)


def pair_of_games(rules: Rules, seed: int) -> tuple[np.ndarray, PlainGame]:
    colours, numbers = range(rules.colours), [0] * rules.handshakes + list(range(2, rules.ranks + 2))
    deck = [(colour, number) for colour in colours for number in numbers]
    order = [deck[at] for at in np.random.default_rng(seed).permutation(len(deck))]
    row = np.zeros(rules.row, np.int16)
    deal_order(rules, row, np.array([kind_of(rules, card) for card in order], np.int16))
    hand = rules.hand
    plain = PlainGame(
        colours=rules.colours,
        hand_size=hand,
        ranks=rules.ranks,
        cost=rules.cost,
        bonus=rules.bonus,
        bonus_cards=rules.bonus_cards,
        action_cap=rules.action_cap,
        deck=order[2 * hand :],
        hands=[order[:hand], order[hand : 2 * hand]],
    )
    return row, plain


def kind_of(rules: Rules, card: tuple[int, int]) -> int:
    colour, number = card
    return colour * (rules.ranks + 1) + (number - 1 if number else 0)


def assert_same(rules: Rules, row: np.ndarray, plain: PlainGame) -> None:
    """Every field of the row is what the twin holds, and so are the legal actions and the scores."""

    def field(at: int, length: int) -> list[int]:
        return row[at : at + length].tolist()

    kinds, colours = rules.kinds, rules.colours
    assert field(rules.deck_at, len(plain.deck)) == [kind_of(rules, card) for card in plain.deck]
    assert row[rules.deck_left_at] == len(plain.deck)
    for player in range(2):
        hand = [kind_of(rules, card) for card in plain.sorted_hand(player)]
        padded = hand + [NOTHING] * (rules.hand - len(hand))
        assert field(rules.hand_at + player * rules.hand, rules.hand) == padded
        assert row[rules.hand_size_at + player] == len(hand)
        played = [card for cards in plain.expeditions[player] for card in cards]
        assert field(rules.expedition_at + player * kinds, kinds) == counts(rules, played)
        assert field(rules.known_at + player * kinds, kinds) == counts(rules, plain.seen_drawn[player])
        for colour in range(colours):
            cards, own = plain.expeditions[player][colour], player * colours + colour
            assert row[rules.last_at + own] == max([number for _, number in cards], default=0)
            assert row[rules.sum_at + own] == sum(number for _, number in cards)
            assert row[rules.count_at + own] == len(cards)
        assert score(rules, row, player) == plain.score(player)
    for colour, pile in enumerate(plain.piles):
        at = rules.pile_at + colour * rules.per_colour
        assert field(at, len(pile)) == [kind_of(rules, card) for card in pile]
        assert row[rules.pile_size_at + colour] == len(pile)
    assert row[rules.mover_at] == plain.mover
    assert (row[rules.stage_at] == DRAW) == plain.drawing
    assert row[rules.forbidden_at] == (NOTHING if plain.discarded is None else plain.discarded)
    assert row[rules.taken_at] == plain.taken
    assert row[rules.ended_at] == {None: RUNNING, "deck": DECK_EMPTY, "cap": ACTION_CAP}[plain.ending]
    legal = np.empty(rules.actions, np.uint8)
    assert legal_actions(rules, row, legal) == len(plain.legal())
    assert np.flatnonzero(legal).tolist() == plain.legal()


def counts(rules: Rules, cards: list[tuple[int, int]]) -> list[int]:
    return np.bincount([kind_of(rules, card) for card in cards], minlength=rules.kinds).tolist()
