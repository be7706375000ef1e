"""Variants of the game: board, lakes, pieces and limits. A new variant is one more entry of ``VARIANTS``.

Cells are numbered row by row, ``cell = row * size + column``, in the view of a side: row 0 is its own back
row. The other side sees the same board turned by half a turn, ``cells - 1 - cell``.

An action is ``source * 2 * (size - 1) + k``: ``k`` counts the other cells of the source's row from left to
right, then those of its column from the back row forward. Both are in the view of the side to move.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EMPTY = 0
SPY, SCOUT, MINER, SERGEANT, LIEUTENANT, CAPTAIN, MAJOR, COLONEL, GENERAL, MARSHAL = range(1, 11)
BOMB, FLAG = 11, 12
KINDS = 12
KIND_NAMES = (
    "empty", "spy", "scout", "miner", "sergeant", "lieutenant", "captain",
    "major", "colonel", "general", "marshal", "bomb", "flag",
)  # fmt: skip


class VariantError(ValueError):
    """A variant that cannot be played; the message names variant, finding and rule."""


@dataclass(frozen=True)
class Variant:
    """What a game is played with; everything else follows from the rules.

    ``lakes`` are (row, column) pairs, equal under half a turn of the board. ``pieces`` maps a kind to its
    number per side. ``battleless_limit`` and ``ply_cap`` count plies (moves of either side).
    """

    name: str
    size: int
    lakes: tuple[tuple[int, int], ...]
    pieces: tuple[tuple[int, int], ...]
    setup_rows: int
    battleless_limit: int
    ply_cap: int

    def __post_init__(self) -> None:
        lakes = set(self.lakes)
        last = self.size - 1
        problem = None
        if not 2 <= self.size <= 11:  # a cell is one byte, and an action fits in 16 bits
            problem = f"the size is {self.size}; it must lie between 2 and 11"
        elif 2 * self.setup_rows > self.size:
            problem = f"two armies of {self.setup_rows} rows do not fit on {self.size} rows"
        elif any(not (self.setup_rows <= row <= last - self.setup_rows) for row, _ in lakes):
            problem = "a lake lies on the rows of a set-up"
        elif any((last - row, last - column) not in lakes for row, column in lakes):
            problem = "the lakes differ between the two sides' views"
        elif self.pieces_per_side > self.setup_cells:
            problem = f"{self.pieces_per_side} pieces do not fit on {self.setup_cells} squares"
        elif any(kind not in range(1, KINDS + 1) or count < 0 for kind, count in self.pieces):
            problem = "a piece has an unknown kind or a negative number"
        elif dict(self.pieces).get(FLAG) != 1:
            problem = "each side needs exactly one flag"
        elif self.battleless_limit < 1 or self.ply_cap < 1:
            problem = "the limits must be at least one ply"
        if problem:
            raise VariantError(f"variant {self.name}: {problem}")

    @property
    def cells(self) -> int:
        return self.size * self.size

    @property
    def playable(self) -> NDArray[np.int32]:
        """The cells that are not lakes, ascending (the same in both views): int32 [playable cells]."""
        lakes = {row * self.size + column for row, column in self.lakes}
        return np.array([cell for cell in range(self.cells) if cell not in lakes], dtype=np.int32)

    @property
    def setup_cells(self) -> int:
        """Number of cells of a set-up: the first ``setup_rows`` rows of its owner's view."""
        return self.setup_rows * self.size

    @property
    def actions_per_cell(self) -> int:
        return 2 * (self.size - 1)

    @property
    def actions(self) -> int:
        return self.cells * self.actions_per_cell

    @property
    def pieces_per_side(self) -> int:
        return sum(count for _, count in self.pieces)

    @property
    def most_legal_moves(self) -> int:
        """An upper bound on the number of legal moves of a position."""
        return sum(
            count * (self.actions_per_cell if kind == SCOUT else 4)
            for kind, count in self.pieces
            if kind not in (BOMB, FLAG)
        )

    @property
    def army(self) -> NDArray[np.uint8]:
        """Kinds of one side in ascending order, uint8 [setup_cells]; 0 where no piece stands."""
        kinds = [kind for kind, count in self.pieces for _ in range(count)]
        return np.array(sorted([EMPTY] * (self.setup_cells - len(kinds)) + kinds), dtype=np.uint8)


def action_cells(variant: Variant) -> NDArray[np.int32]:
    """Source and target cell of every action, in the view of the side to move: int32 [actions, 2]."""
    size = variant.size
    pairs = []
    for row in range(size):
        for column in range(size):
            source = row * size + column
            pairs += [(source, row * size + other) for other in range(size) if other != column]
            pairs += [(source, other * size + column) for other in range(size) if other != row]
    return np.array(pairs, dtype=np.int32)


_LAKES_10 = tuple((row, column) for row in (4, 5) for column in (2, 3, 6, 7))
_SMALL_ARMY = ((MARSHAL, 1), (GENERAL, 1), (MINER, 1), (SCOUT, 2), (SPY, 1), (BOMB, 1), (FLAG, 1))
_CLASSIC_ARMY = (
    (MARSHAL, 1), (GENERAL, 1), (COLONEL, 2), (MAJOR, 3), (CAPTAIN, 4), (LIEUTENANT, 4),
    (SERGEANT, 4), (MINER, 5), (SCOUT, 8), (SPY, 1), (BOMB, 6), (FLAG, 1),
)  # fmt: skip

CLASSIC = Variant("classic", 10, _LAKES_10, _CLASSIC_ARMY, 4, battleless_limit=200, ply_cap=4000)
BARRAGE = Variant("barrage", 10, _LAKES_10, _SMALL_ARMY, 4, battleless_limit=200, ply_cap=2000)
OCTA = Variant(
    "octa", 8, ((3, 2), (4, 2), (3, 5), (4, 5)), _SMALL_ARMY, 3, battleless_limit=200, ply_cap=2000
)
# Two small boards of our own, for tests: games of tens of plies.
HEXA = Variant(
    "hexa",
    6,
    ((2, 1), (3, 4)),
    ((MARSHAL, 1), (GENERAL, 1), (MINER, 1), (SCOUT, 2), (SPY, 1), (BOMB, 1), (FLAG, 1)),
    2,
    battleless_limit=60,
    ply_cap=400,
)
QUAD = Variant(
    "quad", 4, (), ((MARSHAL, 1), (SCOUT, 1), (SPY, 1), (FLAG, 1)), 1, battleless_limit=30, ply_cap=100
)

VARIANTS = {variant.name: variant for variant in (CLASSIC, BARRAGE, OCTA, HEXA, QUAD)}
