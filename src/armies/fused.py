"""The move network with all of its forward pass in compiled kernels, for collecting on a CPU."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor, nn

from armies.kernels.network import Floats, Weights, evaluate_games
from armies.network import Block, MoveNetwork


class FusedNetwork:
    """A copy of a network's weights, laid out for :mod:`armies.kernels.network`. It does not learn."""

    def __init__(self, network: MoveNetwork) -> None:
        self.weights = _weights(network)

    def __call__(self, codes: Tensor, summary: Tensor, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Codes uint8 [B, cells, 2], summaries uint8 [B, SUMMARY], legal actions int64 [B, L] padded with -1.

        Returns policy logits [B, L], -inf on padding, and value logits [B, 3], float32.
        """
        logits = torch.empty(actions.shape)
        values = torch.empty(len(actions), 3)
        evaluate_games(
            self.weights,
            *(tensor.numpy() for tensor in (codes, summary, actions, logits, values)),
        )
        return logits, values


@torch.no_grad()
def _weights(network: MoveNetwork) -> Weights:
    blocks = [block for block in network.blocks if isinstance(block, Block)]
    for_pieces, for_history = network.embed.weight.split(
        [network.piece_planes.shape[1], network.history_planes.shape[1]], dim=1
    )
    token_of_cell = torch.zeros(int(network.playable.max()) + 1, dtype=torch.int64)
    token_of_cell[network.playable] = torch.arange(1, len(network.playable) + 1)
    fixed = torch.cat([network.value_token[None], network.positions, network.registers]).T

    def stack(name: str) -> Floats:
        return _array(torch.stack([block.get_parameter(name) for block in blocks]))

    C, heads = fixed.shape[0], blocks[0].heads
    query, key, value = torch.stack([block.query_key_value.weight for block in blocks]).split(C, dim=1)
    per_head = value.unflatten(1, (heads, -1))  # [L, heads, D, C]

    return Weights(
        heads=heads,
        token_of_cell=token_of_cell.numpy(),
        sources=network.source_token.numpy(),
        targets=network.target_token.numpy(),
        pieces=_array(network.piece_planes @ for_pieces.T),
        history=_array(network.history_planes @ for_history.T),
        fixed=_array(fixed),
        summarise=_array(network.summarise.weight),
        attention_gain=stack("attention_norm.weight"),
        attention_shift=stack("attention_norm.bias"),
        query_weights=_array(query * (math.log2(math.e) / math.sqrt(C // heads))),
        key_weights=_array(key),
        value_weights=_array(nn.functional.pad(per_head, (0, 0, 0, 1)).flatten(1, 2)),
        output=stack("output.weight"),
        feed_gain=stack("feed_norm.weight"),
        feed_shift=stack("feed_norm.bias"),
        expand=stack("expand.weight"),
        contract=stack("contract.weight"),
        final_gain=_array(network.final_norm.weight),
        final_shift=_array(network.final_norm.bias),
        query_key=_array(network.query.weight.T @ network.key.weight / math.sqrt(C)),
        value=_array(network.value.weight),
        value_shift=_array(network.value.bias),
    )


def _array(tensor: Tensor) -> Floats:
    return np.ascontiguousarray(tensor.detach().float().numpy())
