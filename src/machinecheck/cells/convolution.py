"""Correctness of a convolution, forward and both gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from machinecheck import devices, metrics
from machinecheck.devices import fetch, open_device
from machinecheck.faults import Planter, planted
from machinecheck.network import unfolded_convolution
from machinecheck.precision import precision, prepare
from machinecheck.products import rounded
from machinecheck.reference import Reference, Tensors, prove

KERNEL = 3
Convolve = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def through_torch(board: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """3×3, padding 1, by torch's own convolution."""
    return functional.conv2d(board, weight, padding=KERNEL // 2)


def through_unfold(board: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The same sums as patches times weights."""
    return unfolded_convolution(board, weight, KERNEL // 2)


def forward_backward(
    convolve: Convolve, board: torch.Tensor, weight: torch.Tensor, upstream: torch.Tensor
) -> dict[str, torch.Tensor]:
    """Output, gradient of the input and gradient of the weights for a given upstream gradient."""
    board, weight = board.detach().requires_grad_(), weight.detach().requires_grad_()
    output = convolve(board, weight)
    board_gradient, weight_gradient = torch.autograd.grad(output, (board, weight), upstream)
    return {"output": output, "input gradient": board_gradient, "weight gradient": weight_gradient}


def inputs(batch: int, channels: int, board: int, dtype: torch.dtype, seed: int) -> list[metrics.Array]:
    """Board (B, C, H, H), weight (C, C, 3, 3) and upstream gradient (B, C, H, H), rounded to ``dtype``."""
    generator = np.random.default_rng(seed)
    shape = (batch, channels, board, board)
    scale = 1 / np.sqrt(channels * KERNEL * KERNEL)
    values = (
        generator.standard_normal(shape),
        generator.standard_normal((channels, channels, KERNEL, KERNEL)) * scale,
        generator.standard_normal(shape),
    )
    return [rounded(value, dtype) for value in values]


def _exact(convolve: Convolve, values: list[metrics.Array]) -> Tensors:
    tensors = [torch.from_numpy(value) for value in values]
    return {name: fetch(tensor) for name, tensor in forward_backward(convolve, *tensors).items()}


def proven(values: list[metrics.Array], magnitudes: Tensors, terms: dict[str, int], repeats: int) -> Reference:
    """Float64 by torch's convolution and by patches times weights."""
    return prove(
        {
            "torch float64": lambda: _exact(through_torch, values),
            "unfold float64": lambda: _exact(through_unfold, values),
        },
        lambda _: {name: metrics.reference_bound(magnitudes[name], terms[name]) for name in magnitudes},
        repeats,
    )


def forward(values: list[metrics.Array]) -> metrics.Array:
    """The float64 output alone, by patches times weights."""
    with torch.no_grad():
        return fetch(through_unfold(*(torch.from_numpy(value) for value in values)))


def proven_forward(values: list[metrics.Array], magnitude: metrics.Array, terms: int, repeats: int) -> Reference:
    """As :func:`proven`, for the output alone."""

    def by_torch() -> Tensors:
        with torch.no_grad():
            return {"output": fetch(through_torch(*(torch.from_numpy(value) for value in values)))}

    return prove(
        {"torch float64": by_torch, "unfold float64": lambda: {"output": forward(values)}},
        lambda _: {"output": metrics.reference_bound(magnitude, terms)},
        repeats,
    )


def convolution(
    *,
    batch: int = 32,
    channels: int = 64,
    board: int = 7,
    dtype: str = "fp32",
    onednn: bool = True,
    device: str = "cpu",
    repeats: int = 3,
    seed: int = 0,
) -> dict[str, Any]:
    """3×3 convolution and its gradients against a proven float64 convolution, element by element."""
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    values = inputs(batch, channels, board, kind.dtype, seed)
    terms = {
        "output": channels * KERNEL * KERNEL,
        "input gradient": channels * KERNEL * KERNEL,
        "weight gradient": batch * board * board,
    }
    # the sums of |products|, which scale the bounds, are convolutions of absolute values
    magnitudes = _exact(through_unfold, [np.abs(value) for value in values])
    reference = proven(values, magnitudes, terms, repeats)
    if not reference.usable:
        return reference.unusable()
    planter = Planter(planted())
    with devices.onednn(onednn):
        tensors = [where.put(value, kind.dtype) for value in values]
        results = forward_backward(through_torch, *tensors)
    half = kind.name in ("fp16", "bf16")
    comparisons = {}
    for name, tensor in results.items():
        expected = reference.tensors[name]
        scale, count = magnitudes[name], terms[name]
        bound = metrics.convolution_bound(expected, scale, count, kind)
        loose = metrics.convolution_bound(expected, scale, count, kind.with_half_sums()) if half else None
        comparisons[name] = metrics.compare(fetch(planter.output(tensor)), expected, bound, loose)
    return {"reference": reference.numbers(), "comparisons": comparisons}
