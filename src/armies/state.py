"""The state of a batch of games as plain arrays, and the bits of a board's bytes.

A board is one byte per cell in the view of side 0: the low four bits are the kind, then one bit each for
the side, for "revealed" (the other side knows the kind) and for "has moved". A lake is a bit of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from armies.variants import Variant

KIND_BITS = 0x0F
SIDE_SHIFT = 4
REVEALED = 0x20
MOVED = 0x40
LAKE = 0x80

HISTORY_PLIES = 4  # the last plies that an observation shows

# Fields of ``State.chains``, the two-square rule's memory of a side, all in that side's own view. A leg from
# coordinate p to q of its row or column crosses the borders [min(p, q), max(p, q)); border i lies between the
# coordinates i and i + 1. THREE_* is what the last three legs have in common: it may not be crossed again.
CHAIN_CELL, CHAIN_AXIS, ONE_LOW, ONE_HIGH, TWO_LOW, TWO_HIGH, THREE_LOW, THREE_HIGH = range(8)
CHAIN_FIELDS = 8
NO_CELL = -1
ALONG_ROW, ALONG_COLUMN = 0, 1


class Rules(NamedTuple):
    """What kernels need to know of a variant."""

    size: int
    battleless_limit: int
    ply_cap: int
    empty_board: NDArray[np.uint8]  # [cells]: lakes alone
    army: NDArray[np.uint8]  # [setup_cells]: kinds of one side, 0 for an empty cell


class State(NamedTuple):
    """Everything that a batch of ``n`` games consists of."""

    boards: NDArray[np.uint8]  # [n, cells], in the view of side 0
    acting: NDArray[np.int8]  # [n], the side to move
    plies: NDArray[np.int32]  # [n], moves made by both sides
    quiet_plies: NDArray[np.int32]  # [n], plies since the last battle
    chains: NDArray[np.int16]  # [n, 2, CHAIN_FIELDS]
    history: NDArray[np.int16]  # [n, 2 * HISTORY_PLIES]: source, target, newest first; NO_CELL; view of side 0
    grids: NDArray[np.uint8]  # [n, (size + 2) * (size + 1) + 1]: workspace of ``kernels.moves``
    legal: NDArray[np.int16]  # [n, most legal moves + 1]: legal actions of the side to move, ascending
    legal_counts: NDArray[np.int32]  # [n]
    setups: NDArray[np.uint8]  # [n, 2, setup_cells]: what each game started from, in the owners' views
    next_setups: NDArray[np.uint8]  # [n, 2, setup_cells]: for every restart, where has_next is 1
    has_next: NDArray[np.uint8]  # [n]
    generators: NDArray[np.uint64]  # [n, 2]: xorshift states, for set-ups and for random play


SETUP_STREAM, PLAY_STREAM = 0, 1


def make_rules(variant: Variant, battleless_limit: int | None, ply_cap: int | None) -> Rules:
    """The variant as kernels want it; a limit that is None is the variant's own (unit: plies)."""
    board = np.zeros(variant.cells, dtype=np.uint8)
    for row, column in variant.lakes:
        board[row * variant.size + column] = LAKE
    return Rules(
        variant.size,
        variant.battleless_limit if battleless_limit is None else battleless_limit,
        variant.ply_cap if ply_cap is None else ply_cap,
        board,
        variant.army,
    )


def make_state(variant: Variant, count: int, seed: int) -> State:
    """Arrays for ``count`` games that have not started yet; a game's generators depend on seed and index."""
    words = np.random.SeedSequence(seed).generate_state(2 * count, np.uint64)
    generators = words.astype(np.uint64).reshape(count, 2)
    generators[generators == 0] = 1  # xorshift never leaves zero
    setup_shape = (count, 2, variant.setup_cells)
    return State(
        boards=np.zeros((count, variant.cells), np.uint8),
        acting=np.zeros(count, np.int8),
        plies=np.zeros(count, np.int32),
        quiet_plies=np.zeros(count, np.int32),
        chains=np.zeros((count, 2, CHAIN_FIELDS), np.int16),
        history=np.full((count, 2 * HISTORY_PLIES), NO_CELL, np.int16),
        grids=np.zeros((count, (variant.size + 2) * (variant.size + 1) + 1), np.uint8),
        legal=np.zeros((count, variant.most_legal_moves + 1), np.int16),
        legal_counts=np.zeros(count, np.int32),
        setups=np.zeros(setup_shape, np.uint8),
        next_setups=np.zeros(setup_shape, np.uint8),
        has_next=np.zeros(count, np.uint8),
        generators=generators,
    )
