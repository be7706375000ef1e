"""Which set-ups of the set-up network are in play, and what became of them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from armies.engine import Games, Outcome
from armies.setup_network import PlayedSetups, SetupNetwork


class SetupRecord:
    """Follows set-ups from the network through the engine to the outcome of their games.

    The engine starts every game from the next set-ups until new ones are written. Set-ups that leave no legal
    first move are replaced by random ones there, and not followed here.
    """

    def __init__(self, games: Games) -> None:
        B, S = games.count, games.variant.setup_cells
        self.next_setups = np.zeros((B, 2, S), np.uint8)
        self.next_log_probs = np.zeros((B, 2), np.float32)
        self.log_probs = np.zeros((B, 2), np.float32)  # of the set-ups in play …
        self.followed = np.zeros(B, np.bool_)  # … where they are the network's
        self.in_play = games.setups.copy()
        self._ended: list[tuple[NDArray[np.uint8], NDArray[np.float32], NDArray[np.float32]]] = []

    def write_next(self, games: Games, network: SetupNetwork, generator: torch.Generator) -> None:
        """Have the network write both sides' set-ups for every game from its next restart on."""
        B, _, S = self.next_setups.shape
        setups, log_probs = network.write(2 * B, generator)
        self.next_setups = setups.cpu().numpy().reshape(B, 2, S)
        self.next_log_probs = log_probs.cpu().numpy().reshape(B, 2)
        games.set_next_setups(self.next_setups)

    def games_ended(self, games: Games, outcome: Outcome, mover: NDArray[np.uint8]) -> None:
        """Note the outcomes of the games that a ply ended, and what they restarted from."""
        ended = np.flatnonzero(outcome.ended)
        if not len(ended):
            return
        of_mover = outcome.reward[ended].astype(np.float32)
        outcomes = np.where(mover[ended, None] == np.arange(2), of_mover[:, None], -of_mover[:, None])
        known = self.followed[ended]
        self._ended.append(
            (self.in_play[ended[known]], self.log_probs[ended[known]], outcomes[known].astype(np.float32))
        )
        self.in_play[ended] = games.setups[ended]
        self.followed[ended] = (self.in_play[ended] == self.next_setups[ended]).all(axis=(1, 2))
        self.log_probs[ended] = self.next_log_probs[ended]

    def take_played(self, device: torch.device) -> PlayedSetups:
        """The followed set-ups whose games ended since the last call."""
        nothing = (self.in_play[:0], self.log_probs[:0], self.log_probs[:0])
        setups, log_probs, outcomes = (
            torch.from_numpy(np.concatenate(parts)).flatten(0, 1).to(device)
            for parts in zip(nothing, *self._ended, strict=True)
        )
        self._ended = []
        return PlayedSetups(setups, log_probs, outcomes, torch.arange(len(setups), device=device) % 2)

    ARRAYS = ("next_setups", "next_log_probs", "log_probs", "followed", "in_play")

    def state_dict(self) -> dict[str, NDArray[np.generic]]:
        """What resuming between two iterations needs."""
        return {name: getattr(self, name).copy() for name in self.ARRAYS}

    def load_state_dict(self, state: dict[str, NDArray[np.generic]]) -> None:
        for name in self.ARRAYS:
            setattr(self, name, state[name].copy())
