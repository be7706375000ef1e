"""Attention in float32 on a CPU, as products of matrices with an exponential between them.

Flash attention is made for heads of 64 channels and thousands of tokens. With heads of 4 or 8 channels and 64
to 96 tokens most of its time goes elsewhere. Here a piece of as many heads as fit in a core's cache is computed
at a time: scores, ``exp2`` (torch computes it faster than ``exp``), sums and products with the values.

H heads (those of all games), D channels of a head, T tokens, R queries. Channels first: [H, D, T].
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

PIECE = 2**19  # scores computed at a time: 2 MiB in float32
BOUND = 64.0  # of scores in base 2: sums of 2^±64 are exact to float32's precision


class ProductAttention(torch.autograd.Function):
    """softmax(keyᵀ query / √D) over the T tokens, times the values.

    ``query`` [H, D, R], ``key`` and ``value`` [H, D, T] -> [H, D, R]. The backward pass computes the scores
    again instead of keeping them, as Dao et al. do (arXiv 2205.14135).
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        total = query.new_empty(query.shape[0], 1, query.shape[2])
        out = torch.empty_like(query)
        bounded = scores_are_bounded(query, key)
        for piece, buffer in pieces(query, key.shape[2]):
            weights = unscaled_weights(query[piece], key[piece], bounded, buffer)
            torch.sum(weights, 1, keepdim=True, out=total[piece])
            torch.bmm(value[piece], weights, out=out[piece])
        out /= total
        ctx.save_for_backward(query, key, value, total, out)
        ctx.bounded = bounded
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        query, key, value, total, out = ctx.saved_tensors
        gradient = gradients[0] / total
        # d scores = weights / total * (valueᵀ d out - sum of out * d out)
        shift = (gradient * out).sum(1, keepdim=True)
        d_query, d_key, d_value = (torch.empty_like(tensor) for tensor in (query, key, value))
        for (piece, buffer), (_, other) in zip(*(pieces(query, key.shape[2]) for _ in range(2)), strict=True):
            weights = unscaled_weights(query[piece], key[piece], ctx.bounded, buffer)
            torch.bmm(gradient[piece], weights.transpose(1, 2), out=d_value[piece])
            d_scores = torch.bmm(value[piece].transpose(1, 2), gradient[piece], out=other)
            d_scores -= shift[piece]
            d_scores *= weights
            torch.bmm(key[piece], d_scores, out=d_query[piece])
            torch.bmm(query[piece], d_scores.transpose(1, 2), out=d_key[piece])
        scale = 1 / math.sqrt(query.shape[1])
        return d_query * scale, d_key * scale, d_value


def pieces(query: Tensor, T: int) -> Iterator[tuple[slice, Tensor]]:
    """Slices of the H heads, and for each a buffer [.., T, R]: always the same memory, it stays in the cache."""
    H, _, R = query.shape
    step = min(H, max(1, PIECE // (T * R)))
    memory = query.new_empty(step, T, R)
    for first in range(0, H, step):
        yield slice(first, first + step), memory[: H - first]


def score_scale(query: Tensor) -> float:
    """What query·key is multiplied by: 1 / √D, and log2 e, as the exponential is one of base 2."""
    return math.log2(math.e) / math.sqrt(query.shape[1])


def scores_are_bounded(query: Tensor, key: Tensor) -> bool:
    """Whether no score can lie beyond ±BOUND: then the weights need no search for the largest score."""
    extremes = (tensor.aminmax() for tensor in (query, key))
    largest_query, largest_key = (torch.maximum(-lowest, highest) for lowest, highest in extremes)
    bound = score_scale(query) * query.shape[1] * largest_query * largest_key
    return bool(bound < BOUND)  # false for NaN too


def unscaled_weights(query: Tensor, key: Tensor, bounded: bool, out: Tensor) -> Tensor:
    """2^scores [H, T, R], divided by the largest of each query unless ``bounded``; written to ``out``."""
    scores = torch.baddbmm(out, key.transpose(1, 2), query, beta=0, alpha=score_scale(query), out=out)
    if not bounded:
        scores -= scores.amax(1, keepdim=True)
    return scores.exp2_()
