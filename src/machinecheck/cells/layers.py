"""Correctness of normalisation layers, attention and optimisers against their formulas in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from machinecheck import attention as sdpa
from machinecheck import formulas
from machinecheck.devices import Device, fetch, open_device
from machinecheck.errors import MachineCheckError
from machinecheck.faults import Planter, planted
from machinecheck.metrics import Array, all_beside
from machinecheck.precision import Precision, precision, prepare
from machinecheck.products import rounded
from machinecheck.reference import Reference, prove, scaled_bounds

AGREEMENT = 1e-11  # of two float64 routes, relative to each tensor's largest number
EPSILON = 1e-5
MODES = ("train", "eval")
Forward = Callable[..., dict[str, torch.Tensor]]


def _normals(shapes: list[tuple[int, ...]], kind: Precision, seed: int) -> list[Array]:
    generator = np.random.default_rng(seed)
    return [rounded(generator.standard_normal(shape), kind.dtype) for shape in shapes]


def _run(
    forward: Forward,
    values: list[Array],
    upstream: Array,
    device: Device,
    dtype: torch.dtype,
    planter: Planter,
) -> dict[str, Array]:
    """Outputs of ``forward`` and the gradient by each input for an upstream gradient of "output"."""
    inputs = [device.put(value, dtype).requires_grad_() for value in values]
    outputs = forward(*inputs)
    gradients = torch.autograd.grad(outputs["output"], inputs, device.put(upstream, dtype))
    found = {"output": fetch(planter.output(outputs["output"]))}
    found |= {name: fetch(tensor) for name, tensor in outputs.items() if name != "output"}
    return found | {f"gradient {index}": fetch(gradient) for index, gradient in enumerate(gradients)}


def _compared(reference: Reference, results: dict[str, Array], baseline: dict[str, Array]) -> dict[str, Any]:
    comparisons = all_beside(results, [baseline], reference.tensors)
    return {"reference": reference.numbers(), "comparisons": comparisons}


def _against_formula(
    tested: Forward, formula: Forward, values: list[Array], upstream: Array, kind: Precision, device: Device
) -> dict[str, Any]:
    """``tested`` against the float64 of both; the formula in the tested precision sets the allowance."""
    host, clean = open_device("cpu"), Planter(None)
    reference = prove(
        {
            "torch float64": lambda: _run(tested, values, upstream, host, torch.float64, clean),
            "formula float64": lambda: _run(formula, values, upstream, host, torch.float64, clean),
        },
        scaled_bounds(AGREEMENT),
    )
    if not reference.usable:
        return reference.unusable()
    baseline = _run(formula, values, upstream, host, kind.dtype, clean)
    results = _run(tested, values, upstream, device, kind.dtype, Planter(planted()))
    return _compared(reference, results, baseline)


def batch_norm(
    *, batch: int = 64, channels: int = 64, board: int = 7, mode: str = "train", dtype: str = "fp32",
    device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Batch normalisation: output, gradients and, in training mode, the running moments."""
    if mode not in MODES:
        raise MachineCheckError(f"mode: found {mode!r}, expected one of {', '.join(MODES)}")
    if mode == "train" and batch * board * board < 2:
        raise MachineCheckError("batch and board: found one value per channel, expected two or more to have a variance")
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    shape = (batch, channels, board, board)
    values = _normals([shape, (channels,), (channels,)], kind, seed)
    upstream = _normals([shape], kind, seed + 1)[0]
    kept_mean, kept_deviation = _normals([(channels,), (channels,)], kind, seed + 2)
    kept_variance = rounded(kept_deviation**2 + 0.5, kind.dtype)
    training = mode == "train"

    def kept(like: torch.Tensor) -> list[torch.Tensor]:
        return [torch.tensor(value).to(like) for value in (kept_mean, kept_variance)]

    def tested(data: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> dict[str, torch.Tensor]:
        mean, variance = kept(data)
        output = functional.batch_norm(data, mean, variance, weight, bias, training, 0.1, EPSILON)
        return {"output": output, "running mean": mean, "running variance": variance}

    def formula(data: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> dict[str, torch.Tensor]:
        mean, variance = kept(data)
        if not training:
            output = formulas.batch_norm_eval(data, weight, bias, mean, variance, EPSILON)
            return {"output": output, "running mean": mean, "running variance": variance}
        output, new_mean, new_variance = formulas.batch_norm_train(data, weight, bias, EPSILON)
        return {
            "output": output,
            "running mean": 0.9 * mean + 0.1 * new_mean.detach(),
            "running variance": 0.9 * variance + 0.1 * new_variance.detach(),
        }

    return _against_formula(tested, formula, values, upstream, kind, where)


def group_norm(
    *, batch: int = 64, channels: int = 64, board: int = 7, groups: int = 8, dtype: str = "fp32",
    device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Group normalisation: output and gradients."""
    if channels % groups:
        raise MachineCheckError(f"channels: found {channels}, expected a multiple of the {groups} groups")
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    shape = (batch, channels, board, board)
    values = _normals([shape, (channels,), (channels,)], kind, seed)
    upstream = _normals([shape], kind, seed + 1)[0]

    def tested(data: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"output": functional.group_norm(data, groups, weight, bias, EPSILON)}

    def formula(data: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"output": formulas.group_norm(data, groups, weight, bias, EPSILON)}

    return _against_formula(tested, formula, values, upstream, kind, where)


def parse_heads(text: str) -> tuple[int, int, int, int]:
    """``2,2,49,32``: batch, heads, tokens, numbers per head."""
    parts = text.split(",")
    if len(parts) != 4 or not all(part.strip().isdigit() and int(part) > 0 for part in parts):
        raise MachineCheckError(f"shape: found {text!r}, expected four numbers, batch,heads,tokens,head_dim")
    batch, heads, tokens, width = (int(part) for part in parts)
    return batch, heads, tokens, width


def attention(
    *,
    backend: str = "math",
    shape: str = "2,2,49,32",
    dtype: str = "fp32",
    device: str = "cpu",
    seed: int = 0,
) -> dict[str, Any]:
    """One attention backend: taken or refused, which kernel ran, output and gradients beside math's.

    The baseline is torch's math backend on the same device, and of math itself, which beside itself would always
    pass, the formula on the processor; float64 is math and the formula on the processor.
    """
    if backend not in sdpa.BACKENDS:
        raise MachineCheckError(f"backend: found {backend!r}, expected one of {', '.join(sdpa.BACKENDS)}")
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    size = parse_heads(shape)
    values = _normals([size] * 3, kind, seed)
    upstream = _normals([size], kind, seed + 1)[0]
    query = where.put(values[0], kind.dtype)
    refused = sdpa.refusal(backend, query)
    if refused is not None:
        return {"refused": f"{backend}: {refused}"}

    def through(name: str) -> Forward:
        return lambda *tensors: {"output": sdpa.attend(name, *tensors)}

    def formula(*tensors: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"output": formulas.attention(*tensors)}

    host, clean = open_device("cpu"), Planter(None)
    reference = prove(
        {
            "math float64": lambda: _run(through("math"), values, upstream, host, torch.float64, clean),
            "formula float64": lambda: _run(formula, values, upstream, host, torch.float64, clean),
        },
        scaled_bounds(AGREEMENT),
    )
    if not reference.usable:
        return reference.unusable()
    known, there = (formula, host) if backend == "math" else (through("math"), where)
    baseline = _run(known, values, upstream, there, kind.dtype, clean)
    results = _run(through(backend), values, upstream, where, kind.dtype, Planter(planted()))
    return _compared(reference, results, baseline) | {"kernel": sdpa.kernel_name(backend, query)}


def optimiser(
    *, name: str = "adam", implementation: str = "foreach", numbers: int = 100_000, steps: int = 5,
    dtype: str = "fp32", device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Steps of torch's optimiser with given gradients, against the optimiser's formula in float64.

    ``implementation`` is ``single``, ``foreach`` or ``fused``: three different kernels.
    """
    kinds = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    if name not in kinds or implementation not in ("single", "foreach", "fused"):
        expected = f"one of {', '.join(kinds)} as single, foreach or fused"
        raise MachineCheckError(f"name, implementation: found {name!r}, {implementation!r}, expected {expected}")
    if dtype not in ("fp64", "fp32", "bf16"):
        # Adam's ε of 1e-8 is zero in fp16, and a zero gradient then gives 0/0
        raise MachineCheckError(f"dtype: found {dtype!r}, expected fp64, fp32 or bf16 for an optimiser")
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    start, *gradients = _normals([(numbers,)] * (steps + 1), kind, seed)
    chosen = {"foreach": implementation == "foreach", "fused": implementation == "fused"}
    extra = {"sgd": {"momentum": 0.9}, "adam": {}, "adamw": {"weight_decay": 0.01}}[name]

    def tested(on: Device, form: torch.dtype, planter: Planter) -> dict[str, Array]:
        parameter = nn.Parameter(on.put(start, form))
        optimizer = kinds[name]([parameter], lr=1e-3, **extra, **chosen)
        for gradient in gradients:
            parameter.grad = on.put(gradient, form)
            optimizer.step()
        return {"parameter": fetch(planter.output(parameter))}

    def formula(form: torch.dtype) -> dict[str, Array]:
        given = [torch.tensor(gradient).to(form) for gradient in gradients]
        begin = torch.tensor(start).to(form)
        if name == "sgd":
            return {"parameter": fetch(formulas.sgd(begin, given, 1e-3, 0.9))}
        return {"parameter": fetch(formulas.adam(begin, given, 1e-3, 0.01 if name == "adamw" else 0.0))}

    host, clean = open_device("cpu"), Planter(None)
    reference = prove(
        {
            "torch float64": lambda: tested(host, torch.float64, clean),
            "formula float64": lambda: formula(torch.float64),
        },
        scaled_bounds(AGREEMENT),
    )
    if not reference.usable:
        return reference.unusable()
    results = tested(where, kind.dtype, Planter(planted()))
    return _compared(reference, results, formula(kind.dtype))
