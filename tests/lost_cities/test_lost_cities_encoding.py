"""The network's inputs against the slow twin, and what they must not hold."""

from __future__ import annotations

import numpy as np
import pytest
from games_of_lost_cities import SMALL, kind_of, pair_of_games
from plain_lost_cities import PlainGame

from lost_cities.encoding import input_names, input_scales
from lost_cities.kernels.encode import encode
from lost_cities.kernels.game import step
from lost_cities.rules import STANDARD, Rules, make_rules

LARGE = make_rules(colours=2, ranks=55, handshakes=1, hand=9, cost=20, action_cap=300)  # sums beyond an int8


def expected_inputs(rules: Rules, game: PlainGame) -> dict[str, int]:
    """Every input by its name, computed from the slow twin."""
    me, other = game.mover, 1 - game.mover
    values: dict[str, int] = {}
    hand = game.sorted_hand(me)
    for slot, (colour, number) in enumerate(hand):
        values[f"slot {slot}: colour {colour}"] = 1
        values[f"slot {slot}: handshake"] = int(number == 0)
        values[f"slot {slot}: number"] = number
        values[f"slot {slot}: playable now"] = int(game.playable((colour, number)))
    piles = [card for pile in game.piles for card in pile]
    mine, theirs = ([card for cards in game.expeditions[p] for card in cards] for p in (me, other))
    for block, cards in (
        ("own hand", hand),
        ("own expedition", mine),
        ("other's expedition", theirs),
        ("pile", piles),
        ("known in other's hand", game.seen_drawn[other]),
    ):
        for colour, number in cards:
            name = f"{block}: colour {colour} " + (f"number {number}" if number else "handshakes")
            values[name] = values.get(name, 0) + 1
    for c in range(rules.colours):
        if game.piles[c]:
            values[f"top of pile: number: colour {c}"] = game.piles[c][-1][1]
            values[f"top of pile: handshake: colour {c}"] = int(game.piles[c][-1][1] == 0)
        values[f"size of pile: colour {c}"] = len(game.piles[c])
        for who, player in (("own", me), ("other's", other)):
            numbers = [number for _, number in game.expeditions[player][c]]
            values[f"{who} last number: colour {c}"] = max(numbers, default=0)
            if numbers:
                values[f"{who} sum above the cost: colour {c}"] = sum(numbers) - rules.cost
        values[f"just discarded: colour {c}"] = int(c == game.discarded)
        good = sum(number for colour, number in hand if colour == c and game.playable((colour, number)))
        values[f"sum of own playable numbers in hand: colour {c}"] = good
    values["draw stage"] = int(game.drawing)
    values["seat of the mover"] = me
    values["cards left in the deck"] = len(game.deck)
    values["hundredths of the action cap left"] = int(100 * (rules.action_cap - game.taken) / rules.action_cap)
    values["own score in steps of 8, rounded down"] = int(np.floor(game.score(me) / 8))
    values["other's score in steps of 8, rounded down"] = int(np.floor(game.score(other) / 8))
    return {name: max(-127, min(127, value)) for name, value in values.items()}


@pytest.mark.parametrize(("rules", "seeds"), [(STANDARD, range(4)), (SMALL, range(20)), (LARGE, range(3))])
def test_inputs_have_the_documented_meaning(rules, seeds):
    """Each input of each state of random games is the number that its name says, computed from the slow twin."""
    names = input_names(rules)
    assert len(set(names)) == len(names) == rules.inputs == len(input_scales(rules))
    out = np.empty(rules.inputs, np.int8)
    for seed in seeds:
        row, plain = pair_of_games(rules, seed)
        choice = np.random.default_rng(seed)
        while plain.ending is None:
            encode(rules, row, out)
            expected = expected_inputs(rules, plain)
            assert set(expected) <= set(names)
            found = dict(zip(names, out.tolist(), strict=True))
            assert {name: expected.get(name, 0) for name in names} == found
            action = int(choice.choice(plain.legal()))
            step(rules, row, action)
            plain.take(action)


@pytest.mark.parametrize("rules", [STANDARD, SMALL])
def test_hidden_cards_do_not_change_the_inputs(rules):
    """Exchanging the deck's cards and the unknown cards of the other hand changes no input in any state."""
    before, after = np.empty(rules.inputs, np.int8), np.empty(rules.inputs, np.int8)
    changed = 0
    for seed in range(6):
        row, plain = pair_of_games(rules, seed)
        choice = np.random.default_rng(seed)
        while plain.ending is None:
            other = 1 - plain.mover
            hidden = list(plain.hands[other])
            for card in plain.seen_drawn[other]:
                hidden.remove(card)
            pool = hidden + plain.deck
            pool = [pool[at] for at in choice.permutation(len(pool))]
            hand = plain.seen_drawn[other] + pool[: len(hidden)]
            variant = row.copy()
            kinds = sorted(kind_of(rules, card) for card in hand)
            start = rules.hand_at + other * rules.hand
            variant[start : start + len(kinds)] = kinds
            deck = [kind_of(rules, card) for card in pool[len(hidden) :]]
            variant[rules.deck_at : rules.deck_at + len(deck)] = deck
            encode(rules, row, before)
            encode(rules, variant, after)
            assert before.tolist() == after.tolist()
            changed += not np.array_equal(row, variant)
            action = int(choice.choice(plain.legal()))
            step(rules, row, action)
            plain.take(action)
    assert changed > 20
