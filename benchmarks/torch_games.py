"""A peer for ``benchmarks/engine.py``: the game of armies vectorised over games in plain torch, on a CPU.

The same rules, the two-square rule included, written as a torch user would: boards as tensors, loops over
distances and directions only. ``benchmarks/engine.py`` checks it against the engine before it times it.
"""

from __future__ import annotations

import numpy as np
import torch

from armies.variants import BOMB, FLAG, MARSHAL, MINER, SCOUT, SPY, Variant, action_cells

KIND, ENEMY, LAKE = 15, 16, 128


class TorchGames:
    """``count`` games; boards uint8 [count, cells] always in the view of the side to move."""

    def __init__(self, variant: Variant, setups: torch.Tensor) -> None:
        """``setups`` uint8 [count, 2, setup_cells], as the engine's."""
        self.variant = variant
        count, cells = setups.shape[0], variant.cells
        pairs = torch.from_numpy(action_cells(variant)).long()
        self.source, self.target = pairs[:, 0], pairs[:, 1]
        rows, columns = pairs // variant.size, pairs % variant.size
        self.in_row = rows[:, 0] == rows[:, 1]
        line = torch.where(self.in_row[:, None], columns, rows)
        self.low, self.high = line.min(1).values, line.max(1).values
        self.rays = self._rays(pairs)
        self.empty_board = torch.zeros(cells, dtype=torch.uint8)
        for row, column in variant.lakes:
            self.empty_board[row * variant.size + column] = LAKE
        self.boards = torch.zeros(count, cells, dtype=torch.uint8)
        self.plies, self.quiet = (torch.zeros(count, dtype=torch.int32) for _ in range(2))
        # Two-square chains of the side to move [0] and of the other [1]: cell, in a row, three intervals.
        self.chains = torch.zeros(2, count, 8, dtype=torch.long)
        self.start(torch.ones(count, dtype=torch.bool), setups)

    def _rays(self, pairs: torch.Tensor) -> list[list[torch.Tensor]]:
        """Per direction and distance: the actions of that leg, int64."""
        step, size = pairs[:, 1] - pairs[:, 0], self.variant.size
        rays = []
        for unit in (-1, 1, -size, size):
            in_line = self.in_row == (abs(unit) == 1)
            rays.append([(in_line & (step == unit * d)).nonzero()[:, 0] for d in range(1, size)])
        return rays

    def start(self, games: torch.Tensor, setups: torch.Tensor) -> None:
        """Start the games where the mask is true; side 0 is to move."""
        chosen, cells = setups[games], self.variant.cells
        boards = self.empty_board.repeat(len(chosen), 1)
        boards[:, : self.variant.setup_cells] = chosen[:, 0]
        enemy = chosen[:, 1].flip(1)
        boards[:, cells - self.variant.setup_cells :] = torch.where(enemy > 0, enemy | ENEMY, enemy)
        self.boards[games] = boards
        self.plies[games] = self.quiet[games] = 0
        self.chains[:, games] = 0
        self.chains[:, games, 0] = -1
        if games.all():
            self.mask = self.legal_mask()
        else:
            self.mask[games] = self.legal_mask(games)

    def legal_mask(self, games: torch.Tensor | None = None) -> torch.Tensor:
        """Legal actions of the side to move: bool [games, actions]."""
        boards = self.boards if games is None else self.boards[games]
        chains = self.chains[0] if games is None else self.chains[0, games]
        kind, empty = boards & KIND, boards == 0
        enemy = (kind > 0) & (boards & ENEMY > 0)
        movable = (kind > 0) & (kind < BOMB) & ~enemy
        scout = movable & (kind == SCOUT)
        mask = torch.zeros(len(boards), self.variant.actions, dtype=torch.bool)
        for ray in self.rays:
            clear = movable
            for actions in ray:
                source, target = self.source[actions], self.target[actions]
                mask[:, actions] = clear[:, source] & (empty | enemy)[:, target]
                passed = torch.zeros_like(clear)
                passed[:, source] = clear[:, source] & scout[:, source] & empty[:, target]
                clear = passed
        bound = (chains[:, 6] < chains[:, 7]).nonzero()[:, 0]
        chain = chains[bound].T[:, :, None]
        overlaps = torch.maximum(chain[6], self.low) < torch.minimum(chain[7], self.high)
        mask[bound] &= ~(overlaps & (chain[0] == self.source) & (chain[1] == self.in_row))
        return mask

    def step(self, actions: torch.Tensor, setups: torch.Tensor | None = None) -> torch.Tensor:
        """Play int64 [count] actions; returns how games ended (as the engine's codes), int64 [count].

        Finished games restart from ``setups``, or from random ones.
        """
        if not self.mask.gather(1, actions[:, None]).all():
            raise ValueError("an action is illegal")
        everyone = torch.arange(len(actions))
        source, target = self.source[actions], self.target[actions]
        piece, other = self.boards[everyone, source] & KIND, self.boards[everyone, target] & KIND
        flag = other == FLAG
        wins = (piece > other) | flag | ((piece == SPY) & (other == MARSHAL))
        wins = torch.where(other == BOMB, piece == MINER, wins)
        one_square = torch.where(self.in_row[actions], 1, self.variant.size)
        shown = (other > 0) | ((target - source).abs() > one_square)
        mover = (self.boards[everyone, source] | 64) | (shown.to(torch.uint8) * 32)
        stays = torch.where(wins, mover, self.boards[everyone, target] | 32)
        stays = torch.where((piece == other) & (other > 0), 0, stays)
        self.boards[everyone, source] = 0
        self.boards[everyone, target] = torch.where(other > 0, stays, mover)
        self._extend_chains(actions, source, target)
        self.plies += 1
        self.quiet = torch.where(other > 0, 0, self.quiet + 1)
        self.boards = self.boards.flip(1)
        self.boards = torch.where(self.boards & KIND > 0, self.boards ^ ENEMY, self.boards)
        self.chains = self.chains.flip(0)
        self.mask = self.legal_mask()
        ended = torch.zeros(len(actions), dtype=torch.long)
        ended[self.plies >= self.variant.ply_cap] = 4
        ended[self.quiet >= self.variant.battleless_limit] = 3
        ended[~self.mask.any(1)] = 2
        ended[flag] = 1
        finished = ended > 0
        if finished.any():
            self.start(finished, self._random_setups() if setups is None else setups)
        return ended

    def _random_setups(self) -> torch.Tensor:
        """Random set-ups for all games: uint8 [count, 2, setup_cells]."""
        army = torch.from_numpy(np.asarray(self.variant.army))
        order = torch.rand(len(self.boards), 2, self.variant.setup_cells).argsort(-1)
        return army[order]

    def _extend_chains(self, actions: torch.Tensor, source: torch.Tensor, target: torch.Tensor) -> None:
        """Note the leg in the chains of the side that moved."""
        old = self.chains[0]
        low, high, in_row = self.low[actions], self.high[actions], self.in_row[actions].long()
        same = (old[:, 0] == source) & (old[:, 1] == in_row)
        two = torch.maximum(low, old[:, 2]), torch.minimum(high, old[:, 3])
        three = torch.maximum(low, old[:, 4]), torch.minimum(high, old[:, 5])
        fresh = torch.stack([target, in_row, low, high], 1)
        kept = torch.where(same[:, None], torch.stack([*two, *three], 1), 0)
        self.chains[0] = torch.cat([fresh, kept], 1)
