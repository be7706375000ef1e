"""Random play has the statistics that an independent program found.

Two-square rule on, battleless limit 200, random set-ups, whole games: legal moves per position, plies per
game, shares of endings by captured flag, battleless limit and no legal moves.
"""

from __future__ import annotations

import numba
import numpy as np
import pytest

from armies.engine import BATTLELESS_LIMIT, FLAG_CAPTURED, NO_LEGAL_MOVES, Games
from armies.variants import VARIANTS

COMPILED = not numba.config.DISABLE_JIT
GAMES = 1500
# legal moves, plies, shares; each was published rounded to the last digit shown
KNOWN = {
    "classic": (23.9, 660, (0.76, 0.11, 0.13)),
    "barrage": (15.9, 249, (0.67, 0.21, 0.12)),
}


def whole_games(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Plies, endings and summed numbers of legal moves of each batch place's first game.

    Taking all games that end within a number of steps would favour short ones.
    """
    games = Games(VARIANTS[name], GAMES, seed=11, battleless_limit=200, ply_cap=100_000)
    plies, endings, legal = (np.zeros(GAMES, np.int64) for _ in range(3))
    while not endings.all():
        going_on = endings == 0
        legal[going_on] += games.state.legal_counts[going_on]
        outcome = games.step(games.random_actions())
        first = going_on & (outcome.ended > 0)
        plies[first], endings[first] = outcome.plies[first], outcome.ended[first]
    return plies, endings, legal


@pytest.mark.skipif(not COMPILED, reason="a million plies need compiled kernels")
@pytest.mark.parametrize("name", KNOWN)
def test_random_play_has_the_known_statistics(name: str) -> None:
    """Means and shares lie within four standard errors of the difference of two such samples."""
    legal_moves, mean_plies, shares = KNOWN[name]
    plies, endings, legal = whole_games(name)
    spread = 4 * np.sqrt(2 / GAMES)
    assert abs(plies.mean() - mean_plies) < spread * plies.std() + 0.5
    per_position = legal.sum() / plies.sum()
    error_per_game = np.std(legal - per_position * plies) / plies.mean()  # of a ratio of means
    assert abs(per_position - legal_moves) < spread * error_per_game + 0.05
    for ending, share in zip((FLAG_CAPTURED, BATTLELESS_LIMIT, NO_LEGAL_MOVES), shares, strict=True):
        assert abs((endings == ending).mean() - share) < spread * np.sqrt(share * (1 - share)) + 0.005
    print(name, per_position, plies.mean(), [(endings == ending).mean() for ending in (1, 3, 2)])
