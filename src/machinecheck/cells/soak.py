"""Soak: many training steps on a fixed batch, with what the sensors say over time."""

from __future__ import annotations

import math
import time
from typing import Any

import torch

from machinecheck import metrics
from machinecheck import network as nets
from machinecheck.cells.board_network import autocast
from machinecheck.devices import fetch, open_device
from machinecheck.errors import MachineCheckError
from machinecheck.faults import Planter, planted
from machinecheck.precision import precision, prepare
from machinecheck.telemetry import Sampler

SERIES = ("load_average", "clock_mhz", "cpu_clock_mhz", "power_watts", "package_power_watts", "temperature_celsius",
          "cpu_temperature_celsius", "foreign_processors")  # fmt: skip


def training(
    *, steps: int = 200, channels: int = 128, batch: int = 1024, dtype: str = "fp32", rate: float = 1e-3,
    device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """``steps`` Adam steps of the board network on one batch: losses, seconds at which steps ended, sensors."""
    if steps < 2:
        raise MachineCheckError(f"steps: found {steps}, expected at least 2")
    if rate <= 0:
        raise MachineCheckError(f"rate: found {rate:g}, expected more than 0")
    where = open_device(device)
    prepare(precision(dtype))
    planter = Planter(planted())
    model = nets.build(channels, seed).to(where.torch_device)
    boards, moves, outcomes = (tensor.to(where.torch_device) for tensor in nets.batch(batch, seed))
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    losses: list[torch.Tensor] = []
    times: list[float] = []
    with Sampler(where.torch_device) as sampler:
        for _ in range(steps):
            optimiser.zero_grad(set_to_none=True)
            with autocast(where, dtype):
                error = nets.loss(model(boards), moves, outcomes)
            error.backward()
            optimiser.step()
            losses.append(planter.output(error.detach().view(1)))
            where.synchronize()
            times.append(time.monotonic())
    values = (fetch(loss).item() for loss in losses)
    return {
        "losses": [value if math.isfinite(value) else None for value in values],
        "nonfinite_parameters": sum(metrics.nonfinite(fetch(parameter)) for parameter in model.parameters()),
        "step_ends": [end - times[0] for end in times],
        "series": {name: found for name in SERIES if (found := sampler.series(name))},
    }
