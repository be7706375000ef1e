"""The move network: a transformer over the playable cells and one value token.

B games, T tokens (the value token, then the N playable cells in the order of the mover's view, then
registers), C channels, A actions, L legal moves (padded), R rows (padded). Registers are tokens without a
meaning of their own (Darcet et al., arXiv 2309.16588); they fill T up to whole vectors: on a CPU 61 tokens
cost more than 64.

The same function can be computed in more than one way; ``paths`` says which way belongs to which path:

* input from planes (a product with the embedding matrix) or from codes (a look-up in a table made of it);
* policy over all A actions, or over L legal moves only;
* all rows of the last block, or only those that the two heads read;
* attention by torch, or by :mod:`armies.product_attention`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 (its usual name)

from armies.engine import HISTORY_PLANES, PIECE_PLANES, PLANES, SUMMARY
from armies.presets import NetworkConfig
from armies.product_attention import ProductAttention
from armies.variants import Variant, action_cells

LANES = 16  # numbers in a vector; T is a multiple of it


@dataclass(frozen=True)
class LegalMoves:
    """Legal moves of B games, as token numbers, padded to L."""

    sources: Tensor  # int64 [B, L]
    targets: Tensor  # int64 [B, L]
    valid: Tensor  # bool [B, L]: not padding


class Block(nn.Module):
    """A pre-norm transformer block: attention, then feed-forward, each added to its input."""

    def __init__(self, config: NetworkConfig) -> None:
        super().__init__()
        C = config.width
        self.heads = config.heads
        self.attention_norm = nn.LayerNorm(C)
        self.query_key_value = nn.Linear(C, 3 * C, bias=False)
        self.output = nn.Linear(C, C, bias=False)
        self.feed_norm = nn.LayerNorm(C)
        self.expand = nn.Linear(C, config.feed_forward * C, bias=False)
        self.contract = nn.Linear(config.feed_forward * C, C, bias=False)

    def forward(self, x: Tensor, rows: Tensor | None = None, products: bool = False) -> Tensor:
        """[B, T, C] -> [B, T, C]; with ``rows`` (int64 [B, R]) only those rows of the result: [B, R, C].

        With ``products`` attention is computed by :class:`ProductAttention`, else by torch.
        """
        normed = self.attention_norm(x)
        queried = normed
        if rows is not None:
            x, queried = take_rows(x, rows), take_rows(normed, rows)
        x = x + (self._by_products(queried, normed) if products else self._by_torch(queried, normed))
        return x + self.contract(F.relu(self.expand(self.feed_norm(x)), inplace=True))

    def _by_torch(self, queried: Tensor, normed: Tensor) -> Tensor:
        """Rows that ask [B, R, C] (``normed`` itself if all do) and all rows [B, T, C] -> attention [B, R, C]."""
        B, _, C = normed.shape
        if queried is normed:
            query, key, value = self.query_key_value(normed).chunk(3, dim=-1)
        else:
            for_query, for_key_value = self.query_key_value.weight.split([C, 2 * C])
            query = F.linear(queried, for_query)
            key, value = F.linear(normed, for_key_value).chunk(2, dim=-1)
        heads = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in (query, key, value))
        attended = F.scaled_dot_product_attention(*heads)  # [B, heads, R, C / heads]
        return self.output(attended.transpose(1, 2).reshape(B, -1, C))

    def _by_products(self, queried: Tensor, normed: Tensor) -> Tensor:
        """The same function. Channels come before rows, so that heads are split and joined without a copy.

        The products themselves are of float32 at least: in fewer bits the largest of a row would lose its neighbours.
        """
        B, R, C = queried.shape
        query, key, value = (
            torch.bmm(weight.expand(B, C, C), rows.transpose(1, 2)).view(B * self.heads, C // self.heads, -1)
            for weight, rows in zip(self.query_key_value.weight.split(C), (queried, normed, normed), strict=True)
        )
        format = torch.promote_types(query.dtype, torch.float32)
        attended = ProductAttention.apply(query.to(format), key.to(format), value.to(format))
        attended = attended.to(query.dtype).view(B, C, R)
        return torch.bmm(attended.transpose(1, 2), self.output.weight.T.expand(B, C, C))


class MoveNetwork(nn.Module):
    """Policy and value of the side to move.

    Policy logits are query·key / √C between a move's source and target cell. The value is a categorical
    distribution over (loss, tie, win) of the mover.
    """

    def __init__(self, config: NetworkConfig, variant: Variant) -> None:
        super().__init__()
        C = config.width
        playable = torch.as_tensor(variant.playable, dtype=torch.int64)
        token_of_cell = torch.zeros(variant.cells, dtype=torch.int64)  # lakes: 0, never read by a legal move
        T = 1 + len(playable)
        T += -T % LANES
        token_of_cell[playable] = torch.arange(1, len(playable) + 1)
        source, target = token_of_cell[torch.as_tensor(action_cells(variant), dtype=torch.int64)].unbind(1)
        self.playable: Tensor  # int64 [N], cells
        self.source_token: Tensor  # int64 [A]
        self.target_token: Tensor  # int64 [A]
        self.pair: Tensor  # int64 [A], source * T + target
        self.piece_planes: Tensor  # of every piece code, [codes, planes]
        self.history_planes: Tensor  # of every history code, [codes, planes]
        self.register_buffer("playable", playable, persistent=False)
        self.register_buffer("source_token", source, persistent=False)
        self.register_buffer("target_token", target, persistent=False)
        self.register_buffer("pair", source * T + target, persistent=False)

        self.register_buffer("piece_planes", torch.from_numpy(PIECE_PLANES).float(), persistent=False)
        self.register_buffer("history_planes", torch.from_numpy(HISTORY_PLANES).float(), persistent=False)

        self.embed = nn.Linear(PLANES, C, bias=False)
        self.positions = nn.Parameter(0.1 * torch.randn(len(playable), C))
        self.value_token = nn.Parameter(0.1 * torch.randn(C))
        self.registers = nn.Parameter(0.1 * torch.randn(T - 1 - len(playable), C))
        self.summarise = nn.Linear(SUMMARY, C, bias=False)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.final_norm = nn.LayerNorm(C)
        self.query = nn.Linear(C, C, bias=False)
        self.key = nn.Linear(C, C, bias=False)
        self.value = nn.Linear(C, 3)

    @property
    def dtype(self) -> torch.dtype:
        return self.positions.dtype

    def embed_planes(self, planes: Tensor, summary: Tensor) -> Tensor:
        """Planes [B, PLANES, cells] and numbers of the game [B, SUMMARY], any format -> tokens [B, T, C]."""
        cells = planes.index_select(2, self.playable).transpose(1, 2)  # [B, N, PLANES]
        return self._tokens(self.embed(cells.to(self.dtype)), summary)

    def embed_codes(self, codes: Tensor, summary: Tensor) -> Tensor:
        """Codes uint8 [B, cells, 2] and numbers of the game [B, SUMMARY] -> tokens [B, T, C].

        A cell's planes are one row of each code table, so the embedding matrix can be applied to the tables
        instead of to every cell: the same function as :meth:`embed_planes`.
        """
        for_pieces, for_history = self.embed.weight.split(
            [self.piece_planes.shape[1], self.history_planes.shape[1]], dim=1
        )
        piece, history = codes.index_select(1, self.playable).int().unbind(2)  # [B, N] each
        cells = F.embedding(piece, self.piece_planes @ for_pieces.T)
        cells = cells + F.embedding(history, self.history_planes @ for_history.T)
        return self._tokens(cells, summary)

    def _tokens(self, cells: Tensor, summary: Tensor) -> Tensor:
        """Cells [B, N, C] get their positions; the value token, which knows the summary, stands in front."""
        value = self.value_token + self.summarise(summary.to(self.dtype))
        registers = self.registers.expand(len(cells), -1, -1)
        return torch.cat([value[:, None], cells + self.positions, registers], dim=1)

    def all_actions(self, tokens: Tensor, products: bool = False) -> tuple[Tensor, Tensor]:
        """Tokens [B, T, C] -> policy logits [B, A], illegal actions included, and value logits [B, 3].

        ``products``: see :meth:`Block.forward`.
        """
        for block in self.blocks:
            tokens = block(tokens, products=products)
        tokens = self.final_norm(tokens)
        scores = self.query(tokens) @ self.key(tokens).transpose(1, 2)  # [B, T, T]
        logits = scores.flatten(1).index_select(1, self.pair) / math.sqrt(tokens.shape[-1])
        return logits, self.value(tokens[:, 0])

    def legal_moves(self, actions: Tensor) -> LegalMoves:
        """Actions int64 [B, L], padded with -1 -> their cells as tokens."""
        index = actions.clamp(min=0)
        return LegalMoves(self.source_token[index], self.target_token[index], actions >= 0)

    def legal_actions(
        self, tokens: Tensor, moves: LegalMoves, only_rows: bool, products: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Tokens [B, T, C] -> policy logits [B, L], -inf on padding, and value logits [B, 3].

        With ``only_rows`` the last block computes only the rows that are read afterwards. ``products``: see
        :meth:`Block.forward`.
        """
        *first, last = self.blocks
        for block in first:
            tokens = block(tokens, products=products)
        sources, targets = moves.sources, moves.targets
        rows = None
        if only_rows:
            rows, position = needed_rows(moves, tokens.shape[1])
            sources, targets = position.gather(1, sources), position.gather(1, targets)
        tokens = self.final_norm(last(tokens, rows, products))
        R = tokens.shape[1]
        scores = self.query(tokens) @ self.key(tokens).transpose(1, 2)  # [B, R, R]
        logits = scores.flatten(1).gather(1, sources * R + targets) / math.sqrt(tokens.shape[-1])
        return logits.masked_fill(~moves.valid, -math.inf), self.value(tokens[:, 0])


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """x [B, T, C], rows int64 [B, R] -> [B, R, C]"""
    B, T, C = x.shape
    flat = rows + T * torch.arange(B, device=rows.device)[:, None]
    return x.flatten(0, 1).index_select(0, flat.flatten()).view(B, -1, C)


def needed_rows(moves: LegalMoves, T: int) -> tuple[Tensor, Tensor]:
    """The value token and every token that a legal move starts from or ends on.

    Returns ``rows`` int64 [B, R] (ascending, padded with 0) and ``position`` int64 [B, T]: where in ``rows``
    a needed token stands.
    """
    B = moves.valid.shape[0]
    device = moves.valid.device
    needed = torch.zeros(B, T, dtype=torch.bool, device=device)
    needed[:, 0] = True
    zero = torch.zeros((), dtype=torch.int64, device=device)  # padding marks the value token again
    for cells in (moves.sources, moves.targets):
        needed.scatter_(1, torch.where(moves.valid, cells, zero), True)
    position = needed.cumsum(1) - 1
    R = int(position[:, -1].max()) + 1
    rows = torch.zeros(B, R + 1, dtype=torch.int64, device=device)  # column R takes what is not needed
    tokens = torch.arange(T, device=device).expand(B, T)
    rows.scatter_(1, torch.where(needed, position, R), tokens)
    return rows[:, :R], position.clamp(max=R - 1)
