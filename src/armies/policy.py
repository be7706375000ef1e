"""The move network as a path computes it: observations and legal moves in, policy and value out."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from armies.fused import FusedNetwork
from armies.network import MoveNetwork
from armies.paths import CollectPath


def forward(
    network: MoveNetwork | FusedNetwork,
    path: CollectPath,
    observation: tuple[Tensor, Tensor],
    legal: Tensor,
    products: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Policy logits and value logits [B, 3], in the number format of ``network``.

    ``observation``: planes [B, PLANES, cells] (codes [B, cells, 2] with a table path) and a summary.
    ``legal``: bool mask [B, A], policy logits [B, A] with illegal actions not masked yet; with a
    path that has ``legal`` it is a list of actions int64 [B, L] padded with -1, and the logits are [B, L],
    -inf on padding. ``products``: whether attention is computed by products; None is as the path has it.
    """
    if isinstance(network, FusedNetwork):
        return network(*observation, legal)
    tokens = network.embed_codes(*observation) if path.table else network.embed_planes(*observation)
    if products is None:
        products = path.product_attention(tokens.device.type, str(tokens.dtype).removeprefix("torch."))
    if path.legal:
        return network.legal_actions(tokens, network.legal_moves(legal), path.rows, products)
    return network.all_actions(tokens, products)


def is_legal(legal: Tensor) -> Tensor:
    """Which columns of a policy row are legal moves, bool: the mask itself, or where a list is not padded."""
    return legal if legal.dtype == torch.bool else legal >= 0


def log_probabilities(logits: Tensor, legal: Tensor) -> Tensor:
    """log softmax over the legal columns in float32, -inf elsewhere; shapes as in :func:`forward`."""
    logits = logits.float()
    if legal.dtype == torch.bool:  # logits on lists are -inf on padding already
        logits = logits.masked_fill(~legal, -math.inf)
    return logits.log_softmax(-1)


def sample(log_probs: Tensor, path: CollectPath, generator: torch.Generator) -> Tensor:
    """One column per row, drawn from the policy: int64 [B].

    Over all actions by ``multinomial``. On lists by the Gumbel argmax: with exponential E,
    argmax(log p - log E) is a draw from p. E is minus the logarithm of a uniform number, kept away from 0:
    torch's ``exponential_`` takes five times as long on a CPU.
    """
    if path.legal:
        uniform = torch.empty_like(log_probs).uniform_(generator=generator)
        exponential = uniform.clamp_(min=2**-25).log_().neg_()
        return (log_probs - exponential.log_()).argmax(-1)
    return torch.multinomial(log_probs.exp(), 1, generator=generator).squeeze(1)
