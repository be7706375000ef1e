"""What one iteration of play recorded. T plies of B games; a transition's flat number is t * B + b."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass
class Masks:
    """Legal moves as a mask over all actions: bool [T, B, A]."""

    mask: Tensor

    def select(self, index: Tensor) -> Tensor:
        """Masks of the transitions ``index`` (int64 [K]): bool [K, A]."""
        return self.mask.flatten(0, 1)[index]


@dataclass
class MoveLists:
    """Legal moves as lists of actions, one list per transition, ragged; perhaps with the policy on them."""

    counts: list[NDArray[np.int64]] = field(default_factory=list)  # per ply [B]
    actions: list[NDArray[np.int32]] = field(default_factory=list)  # per ply [sum of counts]
    log_probs: list[NDArray[np.float32]] = field(default_factory=list)  # per ply [sum of counts], or none

    def append(self, offsets: NDArray[np.int32], actions: NDArray[np.int32]) -> None:
        """Add a ply: lists as :meth:`armies.engine.Games.legal_list` returns them; ``actions`` is kept, not copied."""
        self.counts.append(np.diff(offsets).astype(np.int64))
        self.actions.append(actions)

    def select(self, index: Tensor) -> Tensor:
        """Lists of the transitions ``index`` (int64 [K]), padded with -1 to the longest: int64 [K, L]."""
        actions = np.concatenate(self.actions).astype(np.int64)
        return torch.from_numpy(self._padded(actions, index, -1)).to(index.device)

    def select_policy(self, index: Tensor) -> Tensor:
        """Log-probabilities of those lists as they were collected, padded with -inf: float32 [K, L]."""
        padded = self._padded(np.concatenate(self.log_probs), index, -np.inf)
        return torch.from_numpy(padded).to(index.device)

    def _padded(self, flat: NDArray[Any], index: Tensor, padding: float) -> NDArray[Any]:
        counts = np.concatenate(self.counts)
        starts = np.cumsum(counts) - counts
        wanted = index.cpu().numpy()
        place = np.arange(counts[wanted].max(initial=0))
        inside = place < counts[wanted, None]
        chosen = flat[np.where(inside, starts[wanted, None] + place, 0)]
        return np.where(inside, chosen, flat.dtype.type(padding))


def pad_moves(offsets: NDArray[np.int32], actions: NDArray[np.int32]) -> NDArray[np.int64]:
    """Ragged lists (offsets [B + 1], actions [total]) -> int64 [B, L], padded with -1."""
    counts = np.diff(offsets)
    inside = np.arange(counts.max()) < counts[:, None]
    padded = np.full(inside.shape, -1, np.int64)
    padded[inside] = actions
    return padded


@dataclass
class Rollout:
    """The transitions of an iteration. Tensors lie on the device, arrays on the host."""

    observations: tuple[Tensor, Tensor]  # planes [T, B, PLANES, cells] or codes [T, B, cells, 2]; summaries
    legal: Masks | MoveLists
    choices: Tensor  # int64 [T, B]: column of the policy row that was played
    log_probs: Tensor  # float32 [T, B]: its log-probability when it was played
    values: Tensor  # float32 [T + 1, B, 3]: probabilities of (loss, tie, win) for the mover
    acting: NDArray[np.uint8]  # [T + 1, B]
    ended: NDArray[np.uint8]  # [T, B]: how the ply ended its game (0: it did not)
    reward: NDArray[np.float32]  # [T, B], of the mover
    plies: NDArray[np.int32]  # [T, B]: length of the game that ended

    def select(self, index: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor, Tensor]:
        """Observations, legal moves and choices of the transitions ``index`` (int64 [K])."""
        cells, summary = (store.flatten(0, 1)[index] for store in self.observations)
        return (cells, summary), self.legal.select(index), self.choices.flatten()[index]
