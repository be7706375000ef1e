"""Layers and optimisers written out as their formulas: a second route to what torch's kernels compute."""

from __future__ import annotations

import math

import torch


def batch_norm_train(
    board: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, epsilon: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """(B, C, H, W) normalised by its own moments; also mean (C,) and unbiased variance (C,).

    Ioffe & Szegedy (2015), algorithm 1; torch keeps the unbiased variance for later.
    """
    mean = board.mean((0, 2, 3))
    centred = board - mean[:, None, None]
    variance = (centred * centred).mean((0, 2, 3))
    output = centred / torch.sqrt(variance + epsilon)[:, None, None]
    count = board.numel() // board.shape[1]
    return output * weight[:, None, None] + bias[:, None, None], mean, variance * count / (count - 1)


def batch_norm_eval(
    board: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor,
    mean: torch.Tensor,
    variance: torch.Tensor,
    epsilon: float,
) -> torch.Tensor:
    """(B, C, H, W) normalised by kept moments (C,)."""
    scale = weight / torch.sqrt(variance + epsilon)
    return (board - mean[:, None, None]) * scale[:, None, None] + bias[:, None, None]


def group_norm(
    board: torch.Tensor, groups: int, weight: torch.Tensor, bias: torch.Tensor, epsilon: float
) -> torch.Tensor:
    """(B, C, H, W) normalised within groups of channels of one sample. Wu & He (2018), equation 7."""
    grouped = board.reshape(board.shape[0], groups, -1)
    centred = grouped - grouped.mean(2, keepdim=True)
    variance = (centred * centred).mean(2, keepdim=True)
    output = (centred / torch.sqrt(variance + epsilon)).reshape(board.shape)
    return output * weight[:, None, None] + bias[:, None, None]


def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """softmax(Q Kᵀ / √d) V over (B, heads, T, d). Vaswani et al. (2017), equation 1."""
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    weights = torch.exp(scores - scores.amax(-1, keepdim=True))
    return (weights / weights.sum(-1, keepdim=True)) @ value


def sgd(parameter: torch.Tensor, gradients: list[torch.Tensor], rate: float, momentum: float) -> torch.Tensor:
    """Steps of gradient descent with momentum, as torch defines it (the first velocity is the gradient)."""
    velocity = torch.zeros_like(parameter)
    for gradient in gradients:
        velocity = momentum * velocity + gradient
        parameter = parameter - rate * velocity
    return parameter


def adam(parameter: torch.Tensor, gradients: list[torch.Tensor], rate: float, decay: float = 0.0) -> torch.Tensor:
    """Steps of Adam (Kingma & Ba, algorithm 1); with ``decay`` of AdamW (Loshchilov & Hutter, alg. 2)."""
    beta1, beta2, epsilon = 0.9, 0.999, 1e-8
    first, second = torch.zeros_like(parameter), torch.zeros_like(parameter)
    for step, gradient in enumerate(gradients, 1):
        parameter = parameter * (1 - rate * decay)
        first = beta1 * first + (1 - beta1) * gradient
        second = beta2 * second + (1 - beta2) * gradient * gradient
        first_unbiased, second_unbiased = first / (1 - beta1**step), second / (1 - beta2**step)
        parameter = parameter - rate * first_unbiased / (torch.sqrt(second_unbiased) + epsilon)
    return parameter
