"""What the side to move knows of its game, in its own view: planes, or codes, and a summary.

Planes (uint8 [n, PLANES, cells], 0 or 1; ``PLANE_NAMES`` names them):

=========  ======================================================================================
plane      meaning
=========  ======================================================================================
0–11       own piece of kind 1–12 (``variants.KIND_NAMES``)
12–23      enemy piece of kind 1–12, revealed
24         enemy piece, hidden
25         own piece, revealed to the enemy
26, 27     own piece, enemy piece that has moved
28–35      the last four plies, newest (the enemy's) first: source, target; source, target; …
=========  ======================================================================================

Codes (uint8 [n, cells, 2]) say the same in two bytes per cell. The second byte has bit ``i`` set where plane
``28 + i`` is; the first is a piece code:

=========  ======================================================================================
code       meaning
=========  ======================================================================================
0, 1       empty, lake
2, 3       hidden enemy piece that has not moved, that has moved
4–27       revealed enemy piece: ``4 + 2 * (kind - 1) + moved``
28–75      own piece: ``28 + 4 * (kind - 1) + 2 * revealed + moved``
=========  ======================================================================================

At every cell, planes 0–27 are ``PIECE_PLANES[codes[..., 0]]`` and planes 28–35 are
``HISTORY_PLANES[codes[..., 1]]``.

The summary (uint8 [n, SUMMARY]) is what belongs to no cell:

=========  ======================================================================================
entry      meaning
=========  ======================================================================================
0–11       number of the enemy's hidden pieces of kind 1–12
12         plies without a battle, in eighths of the limit (0–7)
=========  ======================================================================================
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from armies.state import HISTORY_PLIES, KIND_BITS, LAKE, MOVED, NO_CELL, REVEALED, SIDE_SHIFT
from armies.variants import EMPTY, KIND_NAMES, KINDS

OWN, SHOWN, HIDDEN, OWN_REVEALED, OWN_MOVED, ENEMY_MOVED = 0, 12, 24, 25, 26, 27
HISTORY = 28
PLANES = HISTORY + 2 * HISTORY_PLIES
PLANE_NAMES = (
    *(f"own {name}" for name in KIND_NAMES[1:]),
    *(f"enemy {name}" for name in KIND_NAMES[1:]),
    "enemy hidden",
    "own revealed",
    "own moved",
    "enemy moved",
    *(f"{end} {ago} plies ago" for ago in range(1, HISTORY_PLIES + 1) for end in ("source", "target")),
)
SUMMARY = KINDS + 1
QUIET_STEPS = 8  # the battleless clock counts eighths of the limit

EMPTY_CODE, LAKE_CODE, HIDDEN_CODE, SHOWN_CODE, OWN_CODE = 0, 1, 2, 4, 28
PIECE_CODES = OWN_CODE + 4 * KINDS


def _piece_planes() -> NDArray[np.uint8]:
    """Planes 0–27 of every piece code: uint8 [PIECE_CODES, 28]."""
    planes = np.zeros((PIECE_CODES, HISTORY), np.uint8)
    for moved in range(2):
        planes[HIDDEN_CODE + moved, HIDDEN] = 1
        planes[HIDDEN_CODE + moved, ENEMY_MOVED] = moved
        for kind in range(KINDS):
            planes[SHOWN_CODE + 2 * kind + moved, SHOWN + kind] = 1
            planes[SHOWN_CODE + 2 * kind + moved, ENEMY_MOVED] = moved
            for revealed in range(2):
                code = OWN_CODE + 4 * kind + 2 * revealed + moved
                planes[code, OWN + kind] = 1
                planes[code, OWN_REVEALED] = revealed
                planes[code, OWN_MOVED] = moved
    return planes


PIECE_PLANES = _piece_planes()
HISTORY_PLANES = ((np.arange(256)[:, None] >> np.arange(2 * HISTORY_PLIES)) & 1).astype(np.uint8)


@njit(cache=True, nogil=True, fastmath=False)
def write_summary(rules, state, game, summary):  # type: ignore[no-untyped-def]
    """Write the summary of one game to ``summary`` (uint8 [SUMMARY])."""
    enemy = 1 - int(state.acting[game])
    board = state.boards[game]
    summary[:] = 0
    for cell in range(board.size):
        code = int(board[cell])
        kind = code & KIND_BITS
        if kind != EMPTY and (code >> SIDE_SHIFT) & 1 == enemy and not code & REVEALED:
            summary[kind - 1] += 1
    summary[KINDS] = QUIET_STEPS * int(state.quiet_plies[game]) // rules.battleless_limit


@njit(cache=True, nogil=True, parallel=True, fastmath=False)
def write_summaries(rules, state, summaries):  # type: ignore[no-untyped-def]
    """Write every game's summary to ``summaries`` (uint8 [n, SUMMARY])."""
    for game in prange(summaries.shape[0]):
        write_summary(rules, state, game, summaries[game])


@njit(cache=True, nogil=True, parallel=True, fastmath=False)
def write_planes(state, planes):  # type: ignore[no-untyped-def]
    """Write every game's observation to ``planes`` (uint8 [n, PLANES, cells])."""
    for game in prange(planes.shape[0]):
        out = planes[game]
        out[:] = 0
        side = int(state.acting[game])
        board = state.boards[game]
        cells = board.size
        for cell in range(cells):
            code = int(board[cell])
            kind = code & KIND_BITS
            if kind == EMPTY:
                continue
            view = cell if side == 0 else cells - 1 - cell
            moved = 1 if code & MOVED else 0
            if (code >> SIDE_SHIFT) & 1 == side:
                out[OWN + kind - 1, view] = 1
                out[OWN_REVEALED, view] = 1 if code & REVEALED else 0
                out[OWN_MOVED, view] = moved
            else:
                out[ENEMY_MOVED, view] = moved
                if code & REVEALED:
                    out[SHOWN + kind - 1, view] = 1
                else:
                    out[HIDDEN, view] = 1
        for i in range(2 * HISTORY_PLIES):
            cell = int(state.history[game, i])
            if cell != NO_CELL:
                out[HISTORY + i, cell if side == 0 else cells - 1 - cell] = 1


@njit(cache=True, nogil=True, fastmath=False)
def piece_code(code, side):  # type: ignore[no-untyped-def]
    """The piece code of a board byte, as ``side`` sees it."""
    kind = code & KIND_BITS
    if kind == EMPTY:
        return LAKE_CODE if code == LAKE else EMPTY_CODE
    moved = 1 if code & MOVED else 0
    revealed = 1 if code & REVEALED else 0
    if (code >> SIDE_SHIFT) & 1 == side:
        return OWN_CODE + 4 * (kind - 1) + 2 * revealed + moved
    return SHOWN_CODE + 2 * (kind - 1) + moved if revealed else HIDDEN_CODE + moved


@njit(cache=True, nogil=True, parallel=True, fastmath=False)
def write_codes(state, codes):  # type: ignore[no-untyped-def]
    """Write every game's cell codes to ``codes`` (uint8 [n, cells, 2])."""
    for game in prange(codes.shape[0]):
        side = int(state.acting[game])
        board = state.boards[game]
        cells = board.size
        for cell in range(cells):
            view = cell if side == 0 else cells - 1 - cell
            codes[game, view, 0] = piece_code(int(board[cell]), side)
            codes[game, view, 1] = 0
        for i in range(2 * HISTORY_PLIES):
            cell = int(state.history[game, i])
            if cell != NO_CELL:
                codes[game, cell if side == 0 else cells - 1 - cell, 1] |= np.uint8(1 << i)
