"""Why an action is illegal, in words: for the message of an error, so plain and slow."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from armies.state import KIND_BITS, LAKE, SIDE_SHIFT
from armies.variants import BOMB, KIND_NAMES, SCOUT, Variant, action_cells


def explain_illegal(variant: Variant, board: NDArray[np.uint8], side: int, action: int) -> str:
    """The rule that an illegal action of ``side`` breaks; ``board`` uint8 [cells] in the view of side 0.

    Cells are told as (row, column) in the view of ``side``. Which legs the two-square rule forbids depends on
    the moves before, so it is what remains when all else is in order.
    """
    if not 0 <= action < variant.actions:
        return f"actions lie between 0 and {variant.actions - 1}"
    size = variant.size
    source, target = (int(cell) for cell in action_cells(variant)[action])
    view = board if side == 0 else board[::-1]
    piece, other = int(view[source]), int(view[target])
    kind = piece & KIND_BITS
    leg = f"from ({source // size}, {source % size}) to ({target // size}, {target % size})"
    if not kind or piece >> SIDE_SHIFT & 1 != side:
        return f"no own piece stands on its source, {leg}"
    if kind >= BOMB:
        return f"a {KIND_NAMES[kind]} does not move, {leg}"
    if other == LAKE:
        return f"its target is a lake, {leg}"
    if other & KIND_BITS and other >> SIDE_SHIFT & 1 == side:
        return f"an own piece stands on its target, {leg}"
    step = 1 if source // size == target // size else size
    if abs(source - target) != step and kind != SCOUT:
        return f"a {KIND_NAMES[kind]} moves one square, {leg}"
    between = range(min(source, target) + step, max(source, target), step)
    if any(view[cell] for cell in between):
        return f"the way is not free, {leg}"
    return f"the two-square rule forbids it, {leg}"
