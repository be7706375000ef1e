"""The set-up network: writes a set-up cell by cell, and learns from the games that its set-ups began.

It is autoregressive: the kind on a cell depends on all kinds before it. A gated recurrent unit carries what
was placed so far; kinds of which no piece is left are masked, so every set-up it writes has the right pieces.

N set-ups, S cells of a set-up (row by row from the back row), K = 13 kinds, 0 being an empty cell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from armies.finite import require_finite, require_finite_parameters
from armies.presets import LearningConfig
from armies.variants import KINDS, Variant

K = KINDS + 1


class SetupNetwork(nn.Module):
    def __init__(self, width: int, variant: Variant) -> None:
        super().__init__()
        self.cells = variant.setup_cells
        army = torch.from_numpy(np.bincount(variant.army, minlength=K))
        self.army: Tensor  # int64 [K]: how many of each kind, empty cells too
        self.register_buffer("army", army, persistent=False)
        self.embed = nn.Embedding(K + 1, width)  # the last row stands before the first cell
        self.positions = nn.Parameter(0.1 * torch.randn(self.cells, width))
        self.memory = nn.GRU(width, width, batch_first=True)
        self.logits = nn.Linear(width, K)
        nn.init.zeros_(self.logits.weight)  # at first every order of the pieces is about equally likely:
        nn.init.zeros_(self.logits.bias)  # see _log_probs

    def _log_probs(self, memory: Tensor, left: Tensor) -> Tensor:
        """Memory [.., width] and pieces left [.., K] -> log-probabilities [.., K].

        The logits are added to the logarithm of the number of pieces left, so that zero logits draw uniformly
        from all set-ups.
        """
        return (self.logits(memory) + left.float().log()).log_softmax(-1)

    @torch.no_grad()
    def write(self, count: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Draw ``count`` set-ups: kinds uint8 [count, S] and the log-probability of each, float32 [count]."""
        device = self.army.device
        kind = torch.full((count,), K, device=device)
        left = self.army.repeat(count, 1)
        setups = torch.empty(count, self.cells, dtype=torch.uint8, device=device)
        total = torch.zeros(count, device=device)
        state = None
        for cell in range(self.cells):
            memory, state = self.memory((self.embed(kind) + self.positions[cell])[:, None], state)
            log_probs = self._log_probs(memory[:, 0], left)
            require_finite("set-up log-probabilities", log_probs.amax(1))
            kind = torch.multinomial(log_probs.exp(), 1, generator=generator).squeeze(1)
            total += log_probs.gather(1, kind[:, None]).squeeze(1)
            left.scatter_add_(1, kind[:, None], -torch.ones_like(kind)[:, None])
            setups[:, cell] = kind
        return setups, total

    def evaluate(self, setups: Tensor) -> tuple[Tensor, Tensor]:
        """Set-ups uint8 [N, S] -> log-probability of each and entropy along each (nats), both [N]."""
        kinds = setups.long()
        before = torch.cat([torch.full_like(kinds[:, :1], K), kinds[:, :-1]], dim=1)
        memory, _ = self.memory(self.embed(before) + self.positions)
        placed = nn.functional.one_hot(kinds, K)
        left = self.army - (placed.cumsum(1) - placed)  # [N, S, K], before each cell
        log_probs = self._log_probs(memory, left)
        chosen = log_probs.gather(2, kinds[:, :, None]).squeeze(2).sum(1)
        entropy = -(log_probs.exp() * log_probs.masked_fill(left == 0, 0.0)).sum((1, 2))
        return chosen, entropy


@dataclass(frozen=True)
class PlayedSetups:
    """Set-ups of the network whose games ended in an iteration, N of them."""

    setups: Tensor  # uint8 [N, S]
    log_probs: Tensor  # float32 [N], when they were written
    outcomes: Tensor  # float32 [N], of their owners: 1 win, 0 tie, -1 loss
    sides: Tensor  # int64 [N]: 0 moved first


def setup_loss(
    log_probs: Tensor, entropy: Tensor, played: PlayedSetups, clip: float, entropy_weight: float
) -> Tensor:
    """PPO's clipped loss on whole set-ups, scalar.

    The advantage is the outcome less the mean outcome of its side: in self-play both sides' set-ups come from
    one policy, so no other baseline is needed.
    """
    one_side = torch.nn.functional.one_hot(played.sides, 2).float()
    mean = (one_side.T @ played.outcomes) / one_side.sum(0).clamp(min=1)
    advantage = played.outcomes - mean[played.sides]
    ratio = (log_probs - played.log_probs).exp()
    clipped = ratio.clamp(1 - clip, 1 + clip)
    gain = torch.minimum(ratio * advantage, clipped * advantage)
    return -gain.mean() - entropy_weight * entropy.mean()


def update_setups(
    network: SetupNetwork, optimizer: torch.optim.Optimizer, played: PlayedSetups, config: LearningConfig
) -> float | None:
    """One gradient step on the set-ups whose games ended; the loss, or None if there were none."""
    if not len(played.setups):
        return None
    log_probs, entropy = network.evaluate(played.setups)
    loss = setup_loss(log_probs, entropy, played, config.clip, config.setup_entropy_weight)
    require_finite("set-up loss", loss)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(network.parameters(), config.max_gradient_norm)
    optimizer.step()
    require_finite_parameters("set-up network", network)
    return loss.item()
