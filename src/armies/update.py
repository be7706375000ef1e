"""Learning: PPO on the transitions that the advantage filter keeps, in float32.

Schulman et al., "Proximal Policy Optimization Algorithms" (arXiv 1707.06347), with a categorical value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from armies.advantage import advantages_and_targets, keep
from armies.attention import forced_attention
from armies.finite import require_finite, require_finite_parameters
from armies.network import MoveNetwork
from armies.paths import CollectPath
from armies.policy import forward, is_legal, log_probabilities
from armies.presets import LearningConfig
from armies.rollout import MoveLists, Rollout

CHUNK = 512  # transitions per forward pass without gradients


@dataclass(frozen=True)
class Losses:
    """Means over a minibatch, in nats but for the policy loss; scalars."""

    policy: Tensor
    value: Tensor
    entropy: Tensor
    kl: Tensor

    def total(self, config: LearningConfig) -> Tensor:
        return (
            self.policy
            + config.value_weight * self.value
            - config.entropy_weight * self.entropy
            + config.kl_weight * self.kl
        )


@dataclass(frozen=True)
class UpdateReport:
    """What an update did; losses are means over its minibatches, None when no transition was kept."""

    kept: int
    threshold: float
    policy_loss: float | None
    value_loss: float | None
    entropy: float | None


def ppo_losses(
    log_probs: Tensor,
    value_logits: Tensor,
    old_log_probs: Tensor,
    legal: Tensor,
    choices: Tensor,
    advantages: Tensor,
    targets: Tensor,
    clip: float,
) -> Losses:
    """Losses of K transitions with policy rows of M columns (all actions, or a padded list of legal moves).

    ``log_probs`` and ``old_log_probs`` [K, M], -inf where not ``legal`` (bool [K, M]); ``value_logits`` and
    ``targets`` [K, 3]; ``choices`` int64 [K]; ``advantages`` [K].

    policy = -E[min(r A, clip(r, 1 - c, 1 + c) A)] with r = π(a) / π_old(a); value = cross-entropy to the
    targets; kl = KL(π_old ‖ π).
    """
    chosen = choices[:, None]
    ratio = (log_probs.gather(1, chosen) - old_log_probs.gather(1, chosen)).exp().squeeze(1)
    gain = torch.minimum(ratio * advantages, ratio.clamp(1 - clip, 1 + clip) * advantages)
    new, old = log_probs.masked_fill(~legal, 0.0), old_log_probs.masked_fill(~legal, 0.0)
    return Losses(
        policy=-gain.mean(),
        value=-(targets * value_logits.log_softmax(-1)).sum(-1).mean(),
        entropy=-(log_probs.exp() * new).sum(-1).mean(),
        kl=(old_log_probs.exp() * (old - new)).sum(-1).mean(),
    )


def update_moves(
    network: MoveNetwork,
    optimizer: torch.optim.Optimizer,
    rollout: Rollout,
    config: LearningConfig,
    path: CollectPath,
    shuffle: torch.Generator,
) -> UpdateReport:
    """Filter the rollout's transitions and train ``network`` (float32) on those kept.

    The old policy is computed again in float32, so that the ratio is 1 before the first step whatever the
    number format of the collection was. A plain implementation does that for every transition before it
    filters. A lean path filters first, and takes the old policy as it was collected if that was in float32.
    """
    device = rollout.choices.device
    advantages, targets = advantages_and_targets(
        rollout.values.cpu().numpy(),
        rollout.acting,
        rollout.ended > 0,
        rollout.reward,
        config.gae_lambda,
        config.td_lambda,
    )
    kept, threshold = keep(advantages, config.keep_quantile, config.keep_floor)
    index = torch.from_numpy(kept).to(device)
    kept_advantages = torch.from_numpy(advantages.ravel()[kept]).to(device)
    kept_advantages /= kept_advantages.square().mean().sqrt().clamp(min=config.keep_floor)
    kept_targets = torch.from_numpy(targets.reshape(-1, 3)[kept]).to(device)
    totals = np.zeros(3)
    steps = 0
    with forced_attention(path.update_attention(device.type)):
        if path.keeps_policy(device.type):
            old_log_probs = collected_policy(rollout, index)
        elif path.lean:
            old_log_probs = recompute_policy(network, rollout, path, index)
        else:
            every = torch.arange(advantages.size, device=device)
            old_log_probs = recompute_policy(network, rollout, path, every)[index]
        for rows in minibatches(len(kept), config, shuffle, device):
            losses = _losses(
                network, rollout, path, config, index[rows], old_log_probs[rows],
                kept_advantages[rows], kept_targets[rows],
            )  # fmt: skip
            _gradient_step(network, optimizer, losses.total(config), config.max_gradient_norm)
            totals += [loss.item() for loss in (losses.policy, losses.value, losses.entropy)]
            steps += 1
    require_finite_parameters("move network", network)
    means = [None] * 3 if steps == 0 else [float(total) / steps for total in totals]
    return UpdateReport(len(kept), threshold, *means)


def collected_policy(rollout: Rollout, index: Tensor) -> Tensor:
    """Log-probabilities of the transitions ``index`` (int64 [K]) as the collection computed them: [K, L]."""
    assert isinstance(rollout.legal, MoveLists)
    return rollout.legal.select_policy(index)


@torch.no_grad()
def recompute_policy(network: MoveNetwork, rollout: Rollout, path: CollectPath, index: Tensor) -> Tensor:
    """Log-probabilities of the transitions ``index`` (int64 [K]) in the format of ``network``: [K, M].

    Lists of legal moves are padded with -inf to the longest one of all K.
    """
    rows = []
    for chunk in index.split(CHUNK):
        observation, legal, _ = rollout.select(chunk)
        logits, _ = forward(network, path, observation, legal)
        rows.append(log_probabilities(logits, legal))
    columns = max((row.shape[1] for row in rows), default=0)
    padded = [nn.functional.pad(row, (0, columns - row.shape[1]), value=-torch.inf) for row in rows]
    return torch.cat(padded) if padded else torch.empty(0, 0, device=index.device)


def minibatches(
    kept: int, config: LearningConfig, shuffle: torch.Generator, device: torch.device
) -> Iterator[Tensor]:
    """Rows of the kept transitions, ``config.minibatch`` at a time, newly shuffled in each epoch."""
    for _ in range(config.epochs):
        order = torch.randperm(kept, generator=shuffle).to(device)
        if kept:
            yield from order.split(config.minibatch)


def _losses(
    network: MoveNetwork,
    rollout: Rollout,
    path: CollectPath,
    config: LearningConfig,
    index: Tensor,
    old_log_probs: Tensor,
    advantages: Tensor,
    targets: Tensor,
) -> Losses:
    """The losses of the transitions ``index``; the other tensors hold their rows."""
    observation, legal, choices = rollout.select(index)
    logits, value_logits = forward(network, path, observation, legal)
    log_probs = log_probabilities(logits, legal)
    columns = log_probs.shape[1]
    return ppo_losses(
        log_probs, value_logits, old_log_probs[:, :columns], is_legal(legal), choices, advantages, targets,
        config.clip,
    )  # fmt: skip


def _gradient_step(
    network: nn.Module, optimizer: torch.optim.Optimizer, loss: Tensor, max_norm: float
) -> None:
    require_finite("move loss", loss.detach())
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    require_finite("norm of the move gradients", nn.utils.clip_grad_norm_(network.parameters(), max_norm))
    optimizer.step()
