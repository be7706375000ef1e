"""Soak: many training steps on a fixed batch. Everything stays finite, the loss falls, clocks over time."""

from __future__ import annotations

import time
from statistics import median
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
from machinecheck.verdict import Result, Verdict

SERIES = ("load_average", "clock_mhz", "cpu_clock_mhz", "power_watts", "temperature_celsius",
          "cpu_temperature_celsius", "foreign_processors")  # fmt: skip


def judge(losses: list[float | None], bad_parameters: int) -> tuple[Verdict, list[str]]:
    """FAIL unless losses (``None``: one that is not finite) and parameters are finite and the loss falls.

    It falls if the median of the last tenth is below the first loss.
    """
    reasons = []
    bad_losses = losses.count(None)
    if bad_losses:
        first = losses.index(None) + 1
        rate = bad_losses / len(losses)
        reasons.append(f"{bad_losses}/{len(losses)} ({rate:.2%}) losses not finite, first at step {first}")
    if bad_parameters:
        reasons.append(f"{bad_parameters} parameters are not finite")
    known = [loss for loss in losses if loss is not None]
    if not reasons:
        last = median(known[-max(1, len(known) // 10) :])
        if not last < known[0]:
            reasons.append(f"the loss did not fall: {known[0]:.4g} at first, {last:.4g} at last")
    return (Verdict.FAIL if reasons else Verdict.PASS), reasons


def training(
    *, steps: int = 200, channels: int = 128, batch: int = 1024, dtype: str = "fp32", rate: float = 1e-3,
    device: str = "cpu", seed: int = 0,
) -> Result:  # fmt: skip
    """``steps`` Adam steps of the board network on one batch, with clock, temperature and power over time."""
    if steps < 2:
        raise MachineCheckError(f"steps: found {steps}, expected at least 2")
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
    values = [value if abs(value) < float("inf") else None for value in (fetch(x).item() for x in losses)]
    bad = sum(metrics.nonfinite(fetch(parameter)) for parameter in model.parameters())
    verdict, reasons = judge(values, bad)
    quarter = max(1, steps // 4)
    measured: dict[str, Any] = {
        "steps": steps,
        "losses": values,
        "first_loss": values[0],
        "last_loss": values[-1],
        "nonfinite_parameters": bad,
        "samples_per_second_first_quarter": _rate(times[: quarter + 1], batch),
        "samples_per_second_last_quarter": _rate(times[-quarter - 1 :], batch),
        "series": {name: found for name in SERIES if (found := sampler.series(name))},
    }
    return Result(verdict, reasons, measured)


def _rate(times: list[float], batch: int) -> float | None:
    """Samples per second between the first and the last of some step ends."""
    return None if len(times) < 2 else (len(times) - 1) * batch / (times[-1] - times[0])
