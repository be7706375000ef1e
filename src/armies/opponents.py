"""Opponents that know the rules but learn nothing. Each turns the positions of all games into actions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from armies.engine import Games
from armies.kernels.observe import OWN, SHOWN
from armies.variants import BOMB, FLAG, KINDS, MARSHAL, MINER, SPY, action_cells

Opponent = Callable[[Games, np.random.Generator], NDArray[np.int32]]


def play_random(games: Games, generator: np.random.Generator) -> NDArray[np.int32]:
    """A uniformly random legal action of every game: int32 [count]."""
    return _draw(games.legal_mask().astype(np.float32), generator)


def play_heuristic(games: Games, generator: np.random.Generator) -> NDArray[np.int32]:
    """Captures when it knows it wins, else advances: int32 [count].

    In this order, at random among equals: take a revealed enemy that the piece beats; step forward onto a
    square without a revealed enemy; any move that does not attack a revealed enemy; any move.
    """
    source, target = action_cells(games.variant).T
    planes = games.observe()
    attacker = _kinds(planes[:, OWN : OWN + KINDS])[:, source]  # [count, actions]
    defender = _kinds(planes[:, SHOWN : SHOWN + KINDS])[:, target]
    forward = target // games.variant.size > source // games.variant.size
    legal = games.legal_mask().astype(bool)
    wins = (defender > 0) & BEATS[attacker, defender]
    quiet = defender == 0
    preference = np.select([legal & wins, legal & quiet & forward, legal & quiet, legal], [4, 3, 2, 1], 0)
    return _draw((preference == preference.max(1, keepdims=True)).astype(np.float32), generator)


OPPONENTS: dict[str, Opponent] = {"random": play_random, "heuristic": play_heuristic}


def _beats() -> NDArray[np.bool_]:
    """Who wins an attack for certain: bool [attacker, defender], kinds 0 … 12; equal ranks both fall."""
    beats = np.zeros((KINDS + 1, KINDS + 1), np.bool_)
    for attacker in range(SPY, MARSHAL + 1):
        beats[attacker, SPY:attacker] = True
        beats[attacker, FLAG] = True
    beats[SPY, MARSHAL] = True
    beats[MINER, BOMB] = True
    return beats


BEATS = _beats()


def _kinds(planes: NDArray[np.uint8]) -> NDArray[np.intp]:
    """One plane per kind [count, KINDS, cells] -> the kind on each cell, 0 for none: [count, cells]."""
    return np.where(planes.any(1), planes.argmax(1) + 1, 0)


def _draw(allowed: NDArray[np.float32], generator: np.random.Generator) -> NDArray[np.int32]:
    """One column per row, uniformly among those that are 1: int32 [count]."""
    keys = generator.random(allowed.shape, np.float32) + allowed  # allowed keys lie above all others
    return keys.argmax(1).astype(np.int32)
