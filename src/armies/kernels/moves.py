"""Legal moves of one position, the two-square rule included. The rules are told in ``armies.engine``.

Moves are found on a grid: the board in the mover's view with a wall around it, each square reduced to what it
means for a move. Most pieces have no move at all in most positions, so what counts is to pass over them fast
and without branches that depend on the neighbours.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from armies.state import (
    ALONG_COLUMN,
    ALONG_ROW,
    CHAIN_AXIS,
    CHAIN_CELL,
    KIND_BITS,
    LAKE,
    NO_CELL,
    ONE_HIGH,
    ONE_LOW,
    SIDE_SHIFT,
    THREE_HIGH,
    THREE_LOW,
    TWO_HIGH,
    TWO_LOW,
)
from armies.variants import BOMB, EMPTY, SCOUT

MOVER, FAR_MOVER, ENTERABLE, PASSABLE = 1, 2, 4, 8  # bits of a grid's square; a wall has none
ENTERABLE_SHIFT = 2


def _meanings() -> NDArray[np.uint8]:
    """What a board's byte means for a move of side 0 and of side 1: grid bits, uint8 [2, 256]."""
    meanings = np.zeros((2, 256), np.uint8)
    for side in range(2):
        for code in range(LAKE):
            kind = code & KIND_BITS
            if code == EMPTY:
                meanings[side, code] = ENTERABLE | PASSABLE
            elif kind != EMPTY and (code >> SIDE_SHIFT) & 1 != side:
                meanings[side, code] = ENTERABLE
            elif kind != EMPTY and kind < BOMB:
                meanings[side, code] = MOVER | FAR_MOVER if kind == SCOUT else MOVER
    return meanings


MEANINGS = _meanings()


@njit(cache=True, nogil=True, fastmath=False)
def write_legal_moves(size, board, chain, side, grid, legal):  # type: ignore[no-untyped-def]
    """Write the legal actions of ``side`` to ``legal`` in ascending order and return their number.

    ``board`` uint8 [cells] in the view of side 0, ``chain`` int16 [CHAIN_FIELDS] of ``side``; ``grid`` uint8
    [(size + 2) * (size + 1) + 1] is overwritten but for its wall, which must be 0; ``legal`` is one entry
    longer than the most legal moves.
    """
    stride = size + 1  # a wall at the end of each row serves both its neighbours
    cell, step = (0, 1) if side == 0 else (size * size - 1, -1)
    for row in range(size):
        square = (row + 1) * stride + 1
        for column in range(size):
            grid[square + column] = MEANINGS[side, board[cell]]
            cell += step

    bound_cell = int(chain[CHAIN_CELL]) if chain[THREE_LOW] < chain[THREE_HIGH] else NO_CELL
    count = 0
    for row in range(size):
        for column in range(size):
            square = (row + 1) * stride + 1 + column
            piece = grid[square]
            if not piece & MOVER:
                continue
            source = row * size + column
            along_row = source * 2 * (size - 1)  # the actions to the row's columns, then to the column's rows
            along_column = along_row + size - 1
            if not piece & FAR_MOVER and source != bound_cell:
                # One step each way: written in any case, kept if the square can be entered.
                legal[count] = along_row + column - 1
                count += enterable(grid, square - 1)
                legal[count] = along_row + column
                count += enterable(grid, square + 1)
                legal[count] = along_column + row - 1
                count += enterable(grid, square - stride)
                legal[count] = along_column + row
                count += enterable(grid, square + stride)
                continue
            far = piece & FAR_MOVER
            left, right = reach(grid, square, -1, far), reach(grid, square, 1, far)
            back, ahead = reach(grid, square, -stride, far), reach(grid, square, stride, far)
            if source == bound_cell:
                if chain[CHAIN_AXIS] == ALONG_ROW:
                    left, right = stop_at_worn_border(chain, column, left, right)
                else:
                    back, ahead = stop_at_worn_border(chain, row, back, ahead)
            for k in range(column - left, column + right):  # a target beyond the source counts one less
                legal[count] = along_row + k
                count += 1
            for k in range(row - back, row + ahead):
                legal[count] = along_column + k
                count += 1
    return count


@njit(cache=True, nogil=True, fastmath=False)
def enterable(grid, square):  # type: ignore[no-untyped-def]
    """1 if a move may end on the square, else 0."""
    return int(grid[square]) >> ENTERABLE_SHIFT & 1


@njit(cache=True, nogil=True, fastmath=False)
def reach(grid, square, step, far):  # type: ignore[no-untyped-def]
    """How many squares a piece gets from ``square`` by steps of ``step``; more than one if ``far``.

    It passes empty squares; a square with an enemy is the last one, own pieces, lakes and walls stop it.
    """
    distance = 0
    while grid[square + step * (distance + 1)] & PASSABLE:
        distance += 1
        if not far:
            return distance
    return distance + enterable(grid, square + step * (distance + 1))


@njit(cache=True, nogil=True, fastmath=False)
def stop_at_worn_border(chain, position, down, up):  # type: ignore[no-untyped-def]
    """Cut the reach from ``position`` along the chain's axis before a border crossed three times in a row."""
    low, high = int(chain[THREE_LOW]), int(chain[THREE_HIGH])
    worn_above = max(position, low)  # first worn border on the way up, if below ``high``
    if worn_above < high:
        up = min(up, worn_above - position)
    worn_below = min(position, high) - 1  # first worn border on the way down, if not below ``low``
    if worn_below >= low:
        down = min(down, position - 1 - worn_below)
    return down, up


@njit(cache=True, nogil=True, fastmath=False)
def extend_chain(chain, size, source, target):  # type: ignore[no-untyped-def]
    """Note a leg from ``source`` to ``target`` (the side's own view) in the side's two-square chain.

    A chain whose piece falls needs no reset: the side's next move is another piece's.
    """
    if source // size == target // size:
        axis, start, end = ALONG_ROW, source % size, target % size
    else:
        axis, start, end = ALONG_COLUMN, source // size, target // size
    low, high = min(start, end), max(start, end)
    if chain[CHAIN_CELL] == source and chain[CHAIN_AXIS] == axis:
        chain[THREE_LOW], chain[THREE_HIGH] = max(low, int(chain[TWO_LOW])), min(high, int(chain[TWO_HIGH]))
        chain[TWO_LOW], chain[TWO_HIGH] = max(low, int(chain[ONE_LOW])), min(high, int(chain[ONE_HIGH]))
    else:
        chain[TWO_LOW] = chain[TWO_HIGH] = 0
        chain[THREE_LOW] = chain[THREE_HIGH] = 0
    chain[CHAIN_CELL], chain[CHAIN_AXIS] = target, axis
    chain[ONE_LOW], chain[ONE_HIGH] = low, high


@njit(cache=True, nogil=True, fastmath=False)
def forget_chain(chain):  # type: ignore[no-untyped-def]
    """Empty a side's two-square chain: a game begins."""
    chain[:] = 0
    chain[CHAIN_CELL] = NO_CELL
