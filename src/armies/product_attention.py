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

PIECE = 2**18  # scores computed at a time: 1 MiB in float32
BOUND = 64.0  # of scores in base 2: sums of 2^±64 are exact to float32's precision


class ProductAttention(torch.autograd.Function):
    """softmax(keyᵀ query / √D) over the T tokens, times the values.

    ``query`` [H, D, R], ``key`` and ``value`` [H, D, T] -> [H, D, R]. The backward pass computes the scores
    again instead of keeping them, as Dao et al. do (arXiv 2205.14135).
    """

    @staticmethod
    def forward(ctx: Any, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        query = query * (math.log2(math.e) / math.sqrt(query.shape[1]))
        total = query.new_empty(query.shape[0], 1, query.shape[2])
        out = torch.empty_like(query)
        bounded = scores_are_bounded(query, key)
        for piece in pieces(key.shape[2], query):
            weights = unscaled_weights(query[piece], key[piece], bounded)
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
        # d weights = weights / total * (valueᵀ d out - sum of out * d out)
        shift = (gradient * out).sum(1, keepdim=True)
        d_query, d_key, d_value = (torch.empty_like(tensor) for tensor in (query, key, value))
        for piece in pieces(key.shape[2], query):
            weights = unscaled_weights(query[piece], key[piece], ctx.bounded)
            torch.bmm(gradient[piece], weights.transpose(1, 2), out=d_value[piece])
            d_scores = torch.baddbmm(shift[piece], value[piece].transpose(1, 2), gradient[piece], beta=-1)
            d_scores *= weights
            torch.bmm(key[piece], d_scores, out=d_query[piece])
            torch.bmm(query[piece], d_scores.transpose(1, 2), out=d_key[piece])
        # The saved query is scaled by log2 e / √D; the derivative of 2^s brings ln 2.
        return d_query / math.sqrt(query.shape[1]), d_key * math.log(2), d_value


def pieces(T: int, query: Tensor) -> Iterator[slice]:
    """Slices of the H heads."""
    H, _, R = query.shape
    step = max(1, PIECE // (T * R))
    return (slice(first, first + step) for first in range(0, H, step))


def scores_are_bounded(query: Tensor, key: Tensor) -> bool:
    """Whether no score can lie beyond ±BOUND: then the weights need no search for the largest score."""
    bound = query.shape[1] * query.abs().amax() * key.abs().amax()
    return bool(bound < BOUND)  # false for NaN too


def unscaled_weights(query: Tensor, key: Tensor, bounded: bool) -> Tensor:
    """2^scores [H, T, R], divided by the largest of each query unless ``bounded``."""
    scores = torch.bmm(key.transpose(1, 2), query)
    if not bounded:
        scores -= scores.amax(1, keepdim=True)
    return scores.exp2_()
