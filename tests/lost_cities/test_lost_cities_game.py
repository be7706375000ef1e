"""The compiled rules against the slow twin, and against numbers of the rule book."""

from __future__ import annotations

import numpy as np
import pytest
from games_of_lost_cities import SMALL, assert_same, pair_of_games

from lost_cities.errors import LostCitiesError
from lost_cities.kernels.game import legal_actions, play_random_games, score, step
from lost_cities.kernels.random import derive
from lost_cities.rules import ACTION_CAP, DECK_EMPTY, STANDARD, make_rules

SHORT = make_rules(action_cap=57)


@pytest.mark.parametrize(("rules", "seeds"), [(STANDARD, range(12)), (SHORT, range(20, 24)), (SMALL, range(30, 80))])
def test_random_games_equal_the_slow_twin(rules, seeds):
    """After every action of random games the whole state, legal actions and scores equal the slow twin's."""
    for seed in seeds:
        row, plain = pair_of_games(rules, seed)
        choice = np.random.default_rng(seed + 1000)
        assert_same(rules, row, plain)
        while plain.ending is None:
            action = int(choice.choice(plain.legal()))
            step(rules, row, action)
            plain.take(action)
            assert_same(rules, row, plain)


def test_standard_game_has_the_documented_sizes():
    """The standard game has 60 cards, 22 actions (2 x 8 slots, deck, 5 piles) and 365 inputs."""
    assert (STANDARD.cards, STANDARD.actions, STANDARD.inputs) == (60, 22, 365)


@pytest.mark.parametrize(
    ("numbers", "handshakes", "points"),
    [
        ([], 0, 0),
        ([], 2, -60),
        ([10], 0, -10),
        ([2, 3, 4, 5, 6], 0, 0),
        ([4, 6, 7, 8, 10], 1, 30),
        ([2, 3, 4, 5, 6, 7, 8, 9], 0, 44),
        ([2, 3, 4, 5, 6, 7, 8, 9, 10], 3, 156),
    ],
)
def test_points_of_an_expedition(numbers, handshakes, points):
    """(sum - 20) x (handshakes + 1), 20 more from eight cards, 0 when not started; 156 is the known maximum."""
    row, _ = pair_of_games(STANDARD, 0)
    row[STANDARD.sum_at + 2] = sum(numbers)
    row[STANDARD.count_at + 2] = len(numbers) + handshakes
    row[STANDARD.expedition_at + 2 * 10] = handshakes
    assert score(STANDARD, row, 0) == points


def test_no_pile_just_discarded_to():
    """After a discard the pile of that colour cannot be drawn from; the other player may draw from it later."""
    row, plain = pair_of_games(STANDARD, 3)
    colour = plain.sorted_hand(0)[0][0]
    step(STANDARD, row, STANDARD.hand)
    legal = np.empty(STANDARD.actions, np.uint8)
    assert legal_actions(STANDARD, row, legal) == 1
    assert legal[16] == 1
    step(STANDARD, row, 16)
    other = next(slot for slot, card in enumerate(plain.sorted_hand(1)) if card[0] != colour)
    step(STANDARD, row, STANDARD.hand + other)
    legal_actions(STANDARD, row, legal)
    assert legal[17 + colour] == 1


def test_endings_of_random_games_are_counted():
    """A game ends with the deck or at the cap, and a low cap ends all games exactly there."""
    for rules, ending in ((STANDARD, DECK_EMPTY), (SHORT, ACTION_CAP)):
        streams = np.array([derive(5, 0, 0, game) for game in range(50)], np.uint64)
        scores, endings = np.zeros((50, 2), np.int64), np.zeros(50, np.int64)
        actions = play_random_games(rules, streams, scores, endings)
        assert set(endings.tolist()) == {ending}
        if ending == ACTION_CAP:
            assert actions == 50 * rules.action_cap


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hand": 30}, "two hands of 30 and 60 cards in all, expected at least 61"),
        ({"colours": 0}, "game.colours: found 0"),
        ({"action_cap": 0}, "game.action_cap: found 0"),
        ({"colours": 20}, "240 cards in all, expected at most 120"),
    ],
)
def test_a_game_that_cannot_be_played_is_refused(settings, words):
    """More cards in hands than in the deck, no colours, no actions: one sentence says what was found."""
    with pytest.raises(LostCitiesError, match=words):
        make_rules(**settings)
