"""Steps of many evaluation games at once; game g is row g of every array."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from lost_cities.kernels.encode import encode
from lost_cities.kernels.game import deal, expedition_score, legal_actions, score, step
from lost_cities.kernels.random import derive
from lost_cities.kernels.regret import all_finite, sample
from lost_cities.rules import RUNNING

# positions in the diagnostics of a game
PLAYS, DISCARDS, DECK_DRAWS, PILE_DRAWS, DIAGNOSTICS = range(5)


@njit(cache=True)
def deal_games(rules, rows, streams, seed, iteration, opponent):
    """Start all games; their random streams follow from the three numbers and the number of the game."""
    for game in range(rows.shape[0]):
        streams[game] = derive(seed, iteration, opponent, game)
        deal(rules, rows[game], streams, game)


@njit(cache=True)
def to_move(rules, rows):
    """Numbers of the running games in which the policy, and of those in which the opponent is to move.

    The policy sits on seat ``game % 2``: in every second game it moves first.
    """
    policy, opponent = np.empty(rows.shape[0], np.int64), np.empty(rows.shape[0], np.int64)
    policies = opponents = 0
    for game in range(rows.shape[0]):
        if rows[game, rules.ended_at] == RUNNING:
            if rows[game, rules.mover_at] == game % 2:
                policy[policies] = game
                policies += 1
            else:
                opponent[opponents] = game
                opponents += 1
    return policy[:policies], opponent[:opponents]


@njit(cache=True)
def encode_games(rules, rows, games, inputs):
    for at in range(games.shape[0]):
        encode(rules, rows[games[at]], inputs[at])


@njit(cache=True)
def legal_in_games(rules, rows, games, legal):
    for at in range(games.shape[0]):
        legal_actions(rules, rows[games[at]], legal[at])


@njit(cache=True)
def draw_actions(answers, legal, games, streams, actions):
    """Draw one action per game from the soft-max of ``answers`` (float32, n x actions) over the legal ones.

    Returns whether all answers for legal actions are finite.
    """
    policy, finite = np.empty(answers.shape[1]), True
    for at in range(games.shape[0]):
        finite &= soft_max(answers[at], legal[at], policy)
        actions[at] = sample(policy, streams, games[at])
    return finite


@njit(cache=True)
def soft_max(answers, legal, policy):
    """Write the soft-max of ``answers`` over legal actions to ``policy`` (float64); returns whether they are finite.

    If not, the policy is uniform.
    """
    if not all_finite(answers, legal, policy):
        return False
    highest = -np.inf
    for action in range(policy.shape[0]):
        if legal[action]:
            highest = max(highest, answers[action])
    total = 0.0
    for action in range(policy.shape[0]):
        policy[action] = math.exp(answers[action] - highest) if legal[action] else 0.0
        total += policy[action]
    for action in range(policy.shape[0]):
        policy[action] /= total
    return True


@njit(cache=True)
def step_games(rules, rows, games, actions):
    for at in range(games.shape[0]):
        step(rules, rows[games[at]], actions[at])


@njit(cache=True)
def count_actions(rules, games, actions, diagnostics):
    """Add the policy's ``actions`` to ``diagnostics`` (int64, games x DIAGNOSTICS)."""
    for at in range(games.shape[0]):
        action = actions[at]
        if action < rules.hand:
            diagnostics[games[at], PLAYS] += 1
        elif action < 2 * rules.hand:
            diagnostics[games[at], DISCARDS] += 1
        elif action == 2 * rules.hand:
            diagnostics[games[at], DECK_DRAWS] += 1
        else:
            diagnostics[games[at], PILE_DRAWS] += 1


@njit(cache=True)
def score_games(rules, rows, points):
    """Write the policy's and the opponent's points to ``points`` (int64, games x 2)."""
    for game in range(rows.shape[0]):
        seat = game % 2
        points[game, 0] = score(rules, rows[game], seat)
        points[game, 1] = score(rules, rows[game], 1 - seat)


@njit(cache=True)
def count_expeditions(rules, rows, expeditions):
    """Write how many expeditions the policy started and how many of them gained points (int64, games x 2)."""
    for game in range(rows.shape[0]):
        seat = game % 2
        expeditions[game, :] = 0
        for colour in range(rules.colours):
            if rows[game, rules.count_at + seat * rules.colours + colour] > 0:
                expeditions[game, 0] += 1
                expeditions[game, 1] += expedition_score(rules, rows[game], seat, colour) > 0
