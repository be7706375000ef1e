"""Correctness of the board network: logits, value, every gradient, and a few optimiser steps."""

from __future__ import annotations

import copy
import math
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import nn

from machinecheck import devices, metrics
from machinecheck import network as nets
from machinecheck.devices import Device, fetch, open_device
from machinecheck.errors import MachineCheckError
from machinecheck.faults import Planter, planted
from machinecheck.metrics import Array
from machinecheck.precision import precision, prepare
from machinecheck.reference import prove, scaled_bounds

AGREEMENT = 1e-10  # of two float64 routes through some thirty layers, relative to each tensor's largest number
PERTURBED = 4  # float64 networks with roundings of a coarser format put in, as further baselines
MODES = ("train", "eval")


def autocast(device: Device, dtype: str) -> AbstractContextManager[Any]:
    """Mixed precision for fp16 and bf16, as training uses it; nothing for the others."""
    if dtype in ("fp16", "bf16"):
        return torch.autocast(device.torch_device.type, dtype=precision(dtype).dtype)
    return nullcontext()


def outputs_and_gradients(
    network: nn.Module,
    batch: tuple[torch.Tensor, ...],
    device: Device,
    dtype: str,
    planter: Planter | None = None,
) -> dict[str, Array]:
    """Policy logits, value, and (in training mode) the gradient of the loss by every parameter."""
    boards, moves, outcomes = batch
    network.zero_grad(set_to_none=True)
    with autocast(device, dtype):
        policy, value = network(boards)
        if planter is not None:
            policy = policy + (planter.output(policy) - policy).detach()
        error = nets.loss((policy, value), moves, outcomes)
    found = {"policy logits": fetch(policy), "value": fetch(value)}
    if network.training:
        error.backward()
        found |= {f"gradient {name}": fetch(gradient) for name, gradient in nets.gradients(network)}
    return found


def _placed(batch: tuple[torch.Tensor, ...], device: Device, dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    boards, moves, outcomes = batch
    return (
        boards.to(device.torch_device, dtype),
        moves.to(device.torch_device),
        outcomes.to(device.torch_device, dtype),
    )


def network(
    *,
    channels: int = 64,
    batch: int = 32,
    mode: str = "train",
    dtype: str = "fp32",
    device: str = "cpu",
    onednn: bool = True,
    repeats: int = 2,
    seed: int = 0,
) -> dict[str, Any]:
    """Logits, value and all gradients against a proven float64 network, beside baselines of the same precision.

    fp16 and bf16 mean mixed precision (autocast with fp32 weights). The baseline is the same precision on the
    processor by patches times weights; for fp16 and bf16 also float64 with roundings put in at random (tolerances
    from an ensemble, as probtest makes them).
    """
    if dtype == "tf32":
        raise MachineCheckError("dtype: found 'tf32', expected fp64, fp32, fp16 or bf16 for a network")
    if mode not in MODES:
        raise MachineCheckError(f"mode: found {mode!r}, expected one of {', '.join(MODES)}")
    where, host = open_device(device), open_device("cpu")
    prepare(precision(dtype))
    original = nets.build(channels, seed)
    data = nets.steady_batch(original, batch, seed)
    original.train(mode == "train")
    exact, exact_batch = copy.deepcopy(original).double(), _placed(data, host, torch.float64)
    exact_twin = nets.unfolded(exact)
    reference = prove(
        {
            "torch float64": lambda: outputs_and_gradients(exact, exact_batch, host, "fp64"),
            "unfold float64": lambda: outputs_and_gradients(exact_twin, exact_batch, host, "fp64"),
        },
        scaled_bounds(AGREEMENT),
        repeats,
    )
    if not reference.usable:
        return reference.unusable()
    single = torch.float64 if dtype == "fp64" else torch.float32
    twin = nets.unfolded(original).to(single)
    baselines = [outputs_and_gradients(twin, _placed(data, host, single), host, dtype)]
    if dtype in ("fp16", "bf16"):
        # rounding this coarse carries rectifiers over zero, now here, now there: one baseline's error is luck
        unit = precision(dtype).output
        noisy = (nets.perturbed(exact, unit, seed + index) for index in range(PERTURBED))
        baselines += [outputs_and_gradients(twin, exact_batch, host, "fp64") for twin in noisy]
    tested = copy.deepcopy(original).to(where.torch_device, single)
    with devices.onednn(onednn):
        placed = _placed(data, where, single)
        results = outputs_and_gradients(tested, placed, where, dtype, Planter(planted()))
    logits = {name: results[name] - reference.tensors[name] for name in ("policy logits", "value")}
    gradients = [name for name in results if name.startswith("gradient ")]
    return {
        "reference": reference.numbers(),
        "comparisons": metrics.all_beside(results, baselines, reference.tensors),
        "max_logit_error": _largest(logits.values()),
        "max_gradient_error": _largest(results[name] - reference.tensors[name] for name in gradients),
    }


def _largest(differences: Any) -> float | None:
    """Largest magnitude; ``None`` if there is nothing or if any of it is not finite."""
    arrays = list(differences)
    if not arrays or any(metrics.nonfinite(array) for array in arrays):
        return None
    return max(float(abs(array).max()) for array in arrays)


def steps(
    *,
    channels: int = 64,
    batch: int = 32,
    steps: int = 5,
    dtype: str = "fp32",
    device: str = "cpu",
    seed: int = 0,
) -> dict[str, Any]:
    """A few Adam steps on a fixed batch: the losses, and which parameters are not finite or did not change."""
    if steps < 2:
        raise MachineCheckError(f"steps: found {steps}, expected at least 2")
    where = open_device(device)
    prepare(precision(dtype))
    model = nets.build(channels, seed).to(where.torch_device)
    before = {name: fetch(parameter) for name, parameter in model.named_parameters()}
    boards, moves, outcomes = _placed(nets.batch(batch, seed), where, torch.float32)
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    planter, losses = Planter(planted()), []
    for _ in range(steps):
        optimiser.zero_grad(set_to_none=True)
        with autocast(where, dtype):
            error = nets.loss(model(boards), moves, outcomes)
        error.backward()
        optimiser.step()
        losses.append(fetch(planter.output(error)).item())
    after = {name: fetch(parameter) for name, parameter in model.named_parameters()}
    return {
        "losses": [loss if math.isfinite(loss) else None for loss in losses],
        "nonfinite_parameters": sum(metrics.nonfinite(values) for values in after.values()),
        "unchanged_parameters": [name for name, values in after.items() if not (values != before[name]).any()],
    }
