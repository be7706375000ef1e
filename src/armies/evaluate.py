"""Strength: games of a trained network against an opponent, each played to its end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from armies.checkpoint import damage_named, read_checkpoint
from armies.engine import Games
from armies.fused import FusedNetwork
from armies.kernels.random_setups import random_setups
from armies.network import MoveNetwork
from armies.opponents import OPPONENTS
from armies.paths import path_named
from armies.policy import log_probabilities, sample
from armies.presets import Preset, preset_from_dict
from armies.rollout import pad_moves
from armies.setup_network import SetupNetwork

PATH = path_named("fused")  # the quickest on a CPU; every path computes the same function
Z95 = 1.959964  # normal quantile of a two-sided 95 % interval
Moves = Callable[[Games], NDArray[np.int32]]  # an action for every game


@dataclass(frozen=True)
class Player:
    """What plays: both networks of one moment of a training, on the CPU."""

    preset: Preset
    network: FusedNetwork
    setup_network: SetupNetwork

    @torch.no_grad()
    def actions(self, games: Games, rows: NDArray[np.intp], generator: torch.Generator) -> NDArray[np.int32]:
        """Actions drawn from the policy for the games ``rows`` (K of them): int32 [K]."""
        observation = (torch.from_numpy(games.tokens()[rows]), torch.from_numpy(games.summary()[rows]))
        legal = torch.from_numpy(pad_moves(*games.legal_list())[rows])
        logits, _ = self.network(*observation, legal)
        choices = sample(log_probabilities(logits, legal), PATH, generator)
        return legal.gather(1, choices[:, None])[:, 0].numpy().astype(np.int32)

    def setups(self, count: int, generator: torch.Generator) -> NDArray[np.uint8]:
        """Set-ups of the set-up network: uint8 [count, setup_cells]."""
        return self.setup_network.write(count, generator)[0].numpy()


def new_player(preset: Preset, seed: int) -> Player:
    """The player that a training with ``seed`` starts from."""
    torch.manual_seed(seed)  # in the order of make_trainer
    network = MoveNetwork(preset.network, preset.board)
    return Player(preset, FusedNetwork(network), SetupNetwork(preset.setup_width, preset.board))


def load_player(checkpoint: Path) -> Player:
    """The player saved in ``checkpoint``."""
    content = read_checkpoint(checkpoint)
    with damage_named(checkpoint):
        preset = preset_from_dict(content["preset"])
        network = MoveNetwork(preset.network, preset.board)
        network.load_state_dict(content["network"])
        setup_network = SetupNetwork(preset.setup_width, preset.board)
        setup_network.load_state_dict(content["setup_network"])
    return Player(preset, FusedNetwork(network), setup_network)


@dataclass(frozen=True)
class Score:
    """Results of games from one player's side."""

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def rate(self) -> float:
        """Wins and half of the draws, as a share of the games."""
        return (self.wins + self.draws / 2) / self.games

    def interval(self) -> tuple[float, float]:
        """95 % interval of :attr:`rate`, by Wilson's formula.

        The formula is for wins and losses only; with draws the variance is smaller and the interval too wide.
        """
        n, p = self.games, self.rate
        centre = (p + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
        half = Z95 / (1 + Z95**2 / n) * math.sqrt(p * (1 - p) / n + Z95**2 / (4 * n**2))
        return max(0.0, centre - half), min(1.0, centre + half)


def against_opponent(player: Player, opponent: str, count: int, seed: int) -> Score:
    """Play ``count`` games against an opponent of :data:`armies.opponents.OPPONENTS`.

    The player moves first in every other game. Its set-ups are its network's, the opponent's are random.
    """
    generator = np.random.default_rng(seed)
    play_opponent = OPPONENTS[opponent]
    return _play(player, count, seed, lambda games: play_opponent(games, generator))


def setups_against_random(player: Player, count: int, seed: int) -> Score:
    """The player against itself: one side has set-ups of its network, the other random ones.

    A mover that learns to attack the set-ups that its network writes lowers this rate, though they are no worse:
    to compare set-ups of two moments, give both to one mover.
    """
    return _play(player, count, seed, None)


def _play(player: Player, count: int, seed: int, opponent: Moves | None) -> Score:
    """Play every game once, to its end: a game that ends early makes no room for another short one.

    Without an ``opponent`` the player moves for both sides.
    """
    preset, variant = player.preset, player.preset.board
    generator = torch.Generator().manual_seed(seed)
    ours = np.arange(count) % 2  # the side that the player has
    setups = random_setups(variant, 2 * count, np.random.default_rng([seed, 1])).reshape(count, 2, -1)
    setups[np.arange(count), ours] = player.setups(count, generator)
    games = Games(variant, count, seed, preset.battleless_limit, preset.ply_cap)
    games.set_next_setups(setups)
    games.reset()

    result = np.zeros(count)
    being_played = np.ones(count, np.bool_)
    while being_played.any():
        mover = games.acting.copy()
        actions = games.random_actions() if opponent is None else opponent(games)
        rows = np.flatnonzero(being_played & ((mover == ours) | (opponent is None)))
        if len(rows):
            actions[rows] = player.actions(games, rows, generator)
        outcome = games.step(actions)
        over = being_played & (outcome.ended > 0)
        result[over] = np.where(mover == ours, outcome.reward, -outcome.reward)[over]
        being_played &= ~over
    return Score(int((result > 0).sum()), int((result == 0).sum()), int((result < 0).sum()))
