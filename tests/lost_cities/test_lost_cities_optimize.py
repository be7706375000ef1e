"""The timer of the batches, on a device that works behind."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tiny_lost_cities import TINY
from torch import nn

from lost_cities import optimize
from lost_cities.memory import Batch, Memory
from lost_cities.optimize import Fit, advantage_loss, fit


class QueueingDevice:
    """A clock, and a device that takes 50 s for what a forward pass queues in no time; waiting moves the clock."""

    def __init__(self) -> None:
        self.now = self.free_at = 0.0

    def queue(self) -> None:
        self.free_at = max(self.now, self.free_at) + 50.0

    def synchronize(self) -> None:
        self.now = max(self.now, self.free_at)


class QueueingNetwork(nn.Linear):
    def __init__(self, device: QueueingDevice) -> None:
        super().__init__(TINY.inputs, TINY.actions)
        self.behind = device

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        self.behind.queue()
        return super().forward(inputs.float())


class SlowMemory(Memory):
    """One second for every batch."""

    behind: QueueingDevice

    def batch(self, rows: torch.Tensor, device: torch.device) -> Batch:
        self.behind.now += 1.0
        return super().batch(rows, device)


def test_batches_are_not_charged_for_the_step_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """D18: four batches of 1 s between steps of 50 s that are only queued take 4 s, not 151."""
    device = QueueingDevice()
    monkeypatch.setattr(optimize.time, "perf_counter", lambda: device.now)
    memory = SlowMemory(TINY, 8)
    memory.behind = device
    legal = np.ones((8, TINY.actions), np.uint8)
    memory.add(np.ones((8, TINY.inputs), np.int8), legal.astype(np.float32), legal, 1.0, (1, 0, 0, 0))
    network = QueueingNetwork(device)
    optimizer = torch.optim.SGD(network.parameters(), lr=1e-3)
    settings = Fit(updates=4, batch_size=8, gradient_clip=1.0, use_amp=False)
    report = fit(network, optimizer, memory, advantage_loss, settings, (1,), torch.device("cpu"), device.synchronize)
    assert report.batch_tensor_seconds == 4.0
