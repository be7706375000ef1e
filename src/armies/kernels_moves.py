"""Legal moves of one position, the two-square rule included. Rules: docs of ``armies.engine``."""

from __future__ import annotations

from numba import njit

from armies import kernel_cache  # noqa: F401  (before any kernel)
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


@njit(cache=True, nogil=True, fastmath=False)
def reach(board, start, step, limit, side):  # type: ignore[no-untyped-def]
    """How far a piece of ``side`` gets from ``start`` by steps of ``step`` cells, at most ``limit``.

    It passes empty squares; a square with an enemy is the last, a lake or an own piece is out of reach.
    """
    distance = 0
    while distance < limit:
        code = int(board[start + step * (distance + 1)])
        if code == EMPTY:
            distance += 1
            continue
        if code != LAKE and (code >> SIDE_SHIFT) & 1 != side:
            distance += 1
        break
    return distance


@njit(cache=True, nogil=True, fastmath=False)
def write_legal_moves(rules, board, chain, side, legal):  # type: ignore[no-untyped-def]
    """Write the legal actions of ``side`` to ``legal`` in ascending order and return their number.

    ``board`` uint8 [cells] in the view of side 0, ``chain`` int16 [CHAIN_FIELDS] of ``side``.
    """
    size = rules.size
    span = 2 * (size - 1)
    first, sign = (0, 1) if side == 0 else (size * size - 1, -1)  # from a view's cell to the board's
    bound_cell = int(chain[CHAIN_CELL]) if chain[THREE_LOW] < chain[THREE_HIGH] else NO_CELL
    count = 0
    for row in range(size):
        for column in range(size):
            source = row * size + column
            cell = first + sign * source
            code = int(board[cell])
            kind = code & KIND_BITS
            if kind == EMPTY or kind >= BOMB or (code >> SIDE_SHIFT) & 1 != side:
                continue
            far = size if kind == SCOUT else 1
            left = reach(board, cell, -sign, min(far, column), side)
            right = reach(board, cell, sign, min(far, size - 1 - column), side)
            back = reach(board, cell, -sign * size, min(far, row), side)
            ahead = reach(board, cell, sign * size, min(far, size - 1 - row), side)
            if source == bound_cell:
                if chain[CHAIN_AXIS] == ALONG_ROW:
                    left, right = stop_at_worn_border(chain, column, left, right)
                else:
                    back, ahead = stop_at_worn_border(chain, row, back, ahead)
            # Ascending: k of a target below the source's own coordinate is the coordinate, above it one less.
            action = source * span
            for k in range(column - left, column + right):
                legal[count] = action + k
                count += 1
            action += size - 1
            for k in range(row - back, row + ahead):
                legal[count] = action + k
                count += 1
    return count


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
    """Note a leg from ``source`` to ``target`` (the side's own view) in the side's two-square chain."""
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
    """Reset a side's two-square chain: its piece fell, or a game begins."""
    chain[:] = 0
    chain[CHAIN_CELL] = NO_CELL
