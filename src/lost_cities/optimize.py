"""Fitting the networks to their memories."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from lost_cities.errors import NonFiniteTrainingError
from lost_cities.memory import Memory

Loss = Callable[[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class Fit:
    """How one network is fitted: number and size of the batches, clip of the gradient's norm, autocast."""

    updates: int
    batch_size: int
    gradient_clip: float
    use_amp: bool


@dataclass(frozen=True)
class FitReport:
    """``loss`` is the mean over the updates, null before there is a record; seconds of preparing the batches."""

    loss: float | None
    batch_tensor_seconds: float


def advantage_loss(
    answers: torch.Tensor, targets: torch.Tensor, legal: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Weighted squared error over the legal actions; all (B, actions) but weights (B,). A scalar."""
    squared = ((answers - targets) ** 2 * legal).sum(1)
    return (weights * squared).sum() / weights.sum()


def strategy_loss(
    answers: torch.Tensor, targets: torch.Tensor, legal: torch.Tensor, weights: torch.Tensor
) -> torch.Tensor:
    """Weighted cross-entropy, in nats, of the soft-max over legal actions; its minimum is the weighted mean."""
    logs = torch.log_softmax(answers.masked_fill(legal == 0, -1e9), 1)
    return -(weights * (targets * logs).sum(1)).sum() / weights.sum()


def fit(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    memory: Memory,
    loss_of: Loss,
    settings: Fit,
    seed: tuple[int, ...],
    device: torch.device,
    synchronize: Callable[[], None],
) -> FitReport:
    """Run ``settings.updates`` updates on uniformly drawn batches; the draws depend on ``seed`` alone.

    ``synchronize`` blocks until ``device`` is idle: it stands at both ends of what is timed.
    """
    if len(memory) == 0:
        return FitReport(None, 0.0)
    rows = torch.from_numpy(
        np.random.default_rng(seed).integers(0, len(memory), (settings.updates, settings.batch_size))
    )
    total = torch.zeros((), device=device)
    seconds = 0.0
    network.train()
    for batch in rows:
        synchronize()  # or the step before, still queued on the device, would be charged to this batch
        start = time.perf_counter()
        inputs, targets, legal, weights = memory.batch(batch, device)
        synchronize()
        seconds += time.perf_counter() - start
        with torch.autocast(device.type, torch.bfloat16, enabled=settings.use_amp):
            answers = network(inputs)
        loss = loss_of(answers.float(), targets, legal, weights)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), settings.gradient_clip)
        optimizer.step()
        total += loss.detach()
    mean = float(total) / settings.updates
    if not np.isfinite(mean):
        raise NonFiniteTrainingError(f"the loss is {mean}")
    if not all(bool(torch.isfinite(weight).all()) for weight in network.parameters()):
        raise NonFiniteTrainingError("a weight is not finite after the last update")
    return FitReport(mean, seconds)
