"""Which set-ups of the set-up network are in play, and what became of them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from armies.engine import Games, Outcome
from armies.setup_network import PlayedSetups, SetupNetwork

# Set-ups whose games ended: kinds [N, S], log-probabilities [N], outcomes [N], sides [N]
Ended = tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32], NDArray[np.int64]]


class SetupRecord:
    """Follows set-ups from the network through the engine to the outcome of their games.

    The engine starts every game from the next set-ups until new ones are written. Some sides get uniformly
    random ones, so that the players do not forget what to do about set-ups that the network no longer writes;
    these are not followed. Nor are those that the engine replaces because they leave no legal first move.
    """

    def __init__(self, games: Games, random_share: float) -> None:
        """``random_share``: probability that a side of a game gets a random set-up."""
        B, S = games.count, games.variant.setup_cells
        self.random_share = random_share
        self.next_setups = np.zeros((B, 2, S), np.uint8)
        self.next_log_probs = np.zeros((B, 2), np.float32)
        self.next_followed = np.zeros((B, 2), np.bool_)
        self.log_probs = np.zeros((B, 2), np.float32)  # of the set-ups in play …
        self.followed = np.zeros((B, 2), np.bool_)  # … where they are the network's
        self.in_play = games.setups.copy()
        self._ended: list[Ended] = []

    def write_next(self, games: Games, network: SetupNetwork, generator: torch.Generator) -> None:
        """Have the network write both sides' set-ups for every game from its next restart on."""
        B, _, S = self.next_setups.shape
        setups, log_probs = network.write(2 * B, generator)
        device = setups.device
        random_ones = network.army_order[torch.rand(2 * B, S, generator=generator, device=device).argsort(1)]
        by_chance = torch.rand(2 * B, generator=generator, device=device) < self.random_share
        setups = torch.where(by_chance[:, None], random_ones, setups)
        self.next_followed = ~by_chance.cpu().numpy().reshape(B, 2)
        self.next_setups = setups.cpu().numpy().reshape(B, 2, S)
        self.next_log_probs = log_probs.cpu().numpy().reshape(B, 2)
        games.set_next_setups(self.next_setups)

    def games_ended(self, games: Games, outcome: Outcome, mover: NDArray[np.uint8]) -> None:
        """Note the outcomes of the games that a ply ended, and what they restarted from."""
        ended = np.flatnonzero(outcome.ended)
        if not len(ended):
            return
        of_mover = outcome.reward[ended].astype(np.float32)
        is_mover = mover[ended, None] == np.arange(2)
        outcomes = np.where(is_mover, of_mover[:, None], -of_mover[:, None])  # [ended, 2]
        game, side = np.nonzero(self.followed[ended])
        of = ended[game]
        self._ended.append((self.in_play[of, side], self.log_probs[of, side], outcomes[game, side], side))
        self.in_play[ended] = games.setups[ended]
        as_written = (self.in_play[ended] == self.next_setups[ended]).all(axis=(1, 2))
        self.followed[ended] = self.next_followed[ended] & as_written[:, None]
        self.log_probs[ended] = self.next_log_probs[ended]

    def take_played(self, device: torch.device) -> PlayedSetups:
        """The followed set-ups whose games ended since the last call."""
        nothing = (self.in_play[:0, 0], self.log_probs[:0, 0], self.log_probs[:0, 0], np.zeros(0, np.int64))
        parts = [np.concatenate(part) for part in zip(nothing, *self._ended, strict=True)]
        self._ended = []
        setups, log_probs, outcomes, sides = (torch.from_numpy(part).to(device) for part in parts)
        return PlayedSetups(setups, log_probs, outcomes, sides)

    ARRAYS = ("next_setups", "next_log_probs", "next_followed", "log_probs", "followed", "in_play")

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """What resuming between two iterations needs."""
        return {name: getattr(self, name).copy() for name in self.ARRAYS}

    def load_state_dict(self, state: dict[str, NDArray[np.generic]]) -> None:
        for name in self.ARRAYS:
            setattr(self, name, state[name].copy())
