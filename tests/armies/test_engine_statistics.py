"""Random play has the statistics that an independent program found.

They count the games that finish within a stretch of steps, finished games being followed by new ones, which
favours short games: classic games average 78 plies if 202 steps are played, 656 at 4,000 steps and about 740
when every game is waited for. The known figures were published without their stretch. All five of each
variant fit at 4,000 steps (classic) and 2,000 steps (barrage), so these are used here.
"""

from __future__ import annotations

import random
from collections import Counter

import numba
import numpy as np
import pytest
from compiled import long_play
from slow_twin import BOARDS, SlowGame

from armies.engine import BATTLELESS_LIMIT, FLAG_CAPTURED, NO_LEGAL_MOVES, Games
from armies.variants import VARIANTS

PLACES = 512  # games played side by side: the independent samples

# steps; then, as published: legal moves per position, plies per game, percentages of endings
KNOWN = {
    "classic": (4000, 23.9, 660, {FLAG_CAPTURED: 76, BATTLELESS_LIMIT: 11, NO_LEGAL_MOVES: 13}),
    "barrage": (2000, 15.9, 249, {FLAG_CAPTURED: 67, BATTLELESS_LIMIT: 21, NO_LEGAL_MOVES: 12}),
}


def play(name: str, steps: int, places: int = PLACES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random play: legal moves of all positions, plies of finished games, and finished games by ending.

    Sums per place: [places], [places] and [5, places].
    """
    numba.set_num_threads(1)  # results are the same, and a busy machine wakes threads slowly
    games = Games(VARIANTS[name], places, seed=11, battleless_limit=200, ply_cap=100_000)
    legal, plies = np.zeros(places), np.zeros(places)
    endings = np.zeros((5, places))
    for _ in range(steps):
        legal += games.state.legal_counts
        outcome = games.step(games.random_actions())
        plies += outcome.plies
        endings[outcome.ended, np.arange(places)] += 1
    endings[0] = 0  # steps that ended nothing
    return legal, plies, endings


def ratio(numerators: np.ndarray, denominators: np.ndarray) -> tuple[float, float]:
    """Ratio of two sums over places, and its standard error (places are independent)."""
    value = numerators.sum() / denominators.sum()
    residuals = numerators - value * denominators
    return value, float(residuals.std() / denominators.mean() / np.sqrt(PLACES))


@long_play
@pytest.mark.parametrize("name", KNOWN)
def test_random_play_has_the_known_statistics(name: str) -> None:
    """Each figure lies within four standard errors of the known one, taken to be from as large a sample."""
    steps, known_legal, known_plies, known_shares = KNOWN[name]
    legal, plies, endings = play(name, steps)
    games = endings.sum(0)
    figures = {
        "legal moves": (*ratio(legal, np.full(PLACES, steps)), known_legal, 0.05),
        "plies": (*ratio(plies, games), known_plies, 0.5),
    }
    for ending, percent in known_shares.items():
        figures[f"ending {ending}, %"] = (*ratio(100 * endings[ending], games), percent, 0.5)
    for what, (found, error, known, rounding) in figures.items():
        print(f"{name}: {what}: {found:.2f} ± {error:.2f}, known {known}")
        assert abs(found - known) < 4 * np.sqrt(2) * error + rounding, what


@pytest.mark.parametrize("name", KNOWN)
@long_play
def test_games_finished_early_are_short(name: str) -> None:
    """Games that finish within the first 202 steps average 72–83 plies, as is known."""
    _, plies, endings = play(name, 202, places=8192)
    assert 72 <= plies.sum() / endings.sum() <= 83


def play_twin(name: str, games: int, seed: int) -> tuple[list[int], Counter[str], list[int]]:
    """Random play of the slow twin, with set-ups and moves from Python's generator.

    Plies of every game, endings, and legal moves of every position.
    """
    board, generator = BOARDS[name], random.Random(seed)
    variant = VARIANTS[name]
    army = [kind for kind, number in board.army.items() for _ in range(number)]
    army += ["empty"] * (board.size * board.setup_rows - len(army))
    plies, endings, legal = [], Counter(), []
    while len(plies) < games:
        setups = [generator.sample(army, len(army)) for _ in range(2)]
        game = SlowGame(board, setups, variant.battleless_limit, variant.ply_cap)
        if not game.legal_moves():
            continue
        while game.ending is None:
            moves = sorted(game.legal_moves())
            legal.append(len(moves))
            game.play(*generator.choice(moves))
        plies.append(game.plies)
        endings[game.ending] += 1
    return plies, endings, legal


@long_play
def test_random_play_has_the_statistics_of_the_twin() -> None:
    """Length, endings and number of moves of whole games: the engine's are the twin's within 4 standard errors.

    Here every place's first game is waited for, so that neither side favours short games, and the twin
    shares no random generator with the engine.
    """
    plies, endings, legal = play_twin("quad", 2000, seed=5)
    places = 20_000
    games = Games(VARIANTS["quad"], places, seed=6)
    being_played = np.ones(places, bool)
    found_plies, found_legal = np.zeros(places), []
    found_endings = np.zeros(places, int)
    while being_played.any():
        found_legal.append(games.state.legal_counts[being_played])
        outcome = games.step(games.random_actions())
        over = being_played & (outcome.ended > 0)
        found_plies[over], found_endings[over] = outcome.plies[over], outcome.ended[over]
        being_played &= ~over

    def assert_equal(what: str, of_engine: np.ndarray, of_twin: np.ndarray) -> None:
        error = np.sqrt(of_engine.var() / of_engine.size + of_twin.var() / of_twin.size)
        assert abs(of_engine.mean() - of_twin.mean()) < 4 * error, what

    assert_equal("plies", found_plies, np.array(plies))
    for number, ending in ((FLAG_CAPTURED, "flag captured"), (NO_LEGAL_MOVES, "no legal moves")):
        share = np.zeros(len(plies))
        share[: endings[ending]] = 1
        assert endings[ending] > 100
        assert_equal(ending, found_endings == number, share)
    # Positions of one game hang together: their error is larger than that of as many independent ones.
    assert np.concatenate(found_legal).mean() == pytest.approx(np.mean(legal), rel=0.02)
