"""Variants: the table of boards and armies, and which variants are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from beside_twin import play_beside_twin
from slow_twin import BOARDS, NAMES, Board

from armies.paths import path_named
from armies.presets import PRESETS
from armies.train import train
from armies.variants import CLASSIC, OCTA, QUAD, VARIANTS, Variant, VariantError, action_cells


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda variant: variant.name)
def test_variant_is_the_rules_table(variant: Variant) -> None:
    """Board, lakes and army are those that the slow twin writes down."""
    board = BOARDS[variant.name]
    assert (variant.size, set(variant.lakes), variant.setup_rows) == (
        board.size,
        board.lakes,
        board.setup_rows,
    )
    assert {NAMES[kind]: count for kind, count in variant.pieces} == board.army
    assert variant.pieces_per_side == sum(board.army.values())
    cells = [row * board.size + column for row in range(board.size) for column in range(board.size)]
    lakes = {row * board.size + column for row, column in board.lakes}
    assert variant.playable.tolist() == [cell for cell in cells if cell not in lakes]


def test_sizes() -> None:
    """The sizes of the action space and of the army are the published ones."""
    assert (CLASSIC.actions, CLASSIC.pieces_per_side) == (1800, 40)
    assert (OCTA.actions, OCTA.pieces_per_side) == (896, 8)


@pytest.mark.parametrize("variant", [QUAD, OCTA, CLASSIC], ids=lambda variant: variant.name)
def test_action_cells(variant: Variant) -> None:
    """Each action is a different pair of cells in one row or column, grouped by source, row before column."""
    cells = action_cells(variant)
    assert (cells.dtype, cells.shape) == (np.int32, (variant.actions, 2))
    assert len(set(map(tuple, cells.tolist()))) == variant.actions
    source, target = cells.T
    per_cell = variant.actions_per_cell
    assert np.array_equal(source, np.arange(variant.actions) // per_cell)
    k = np.arange(variant.actions) % per_cell
    in_row = source // variant.size == target // variant.size
    assert np.array_equal(in_row, k < variant.size - 1)
    assert np.array_equal(source % variant.size == target % variant.size, ~in_row)
    same_line = (np.diff(source) == 0) & (np.diff(in_row.astype(int)) == 0)
    assert (np.diff(target)[same_line] > 0).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"size": 12}, "the size is 12; it must lie between 2 and 11"),
        ({"setup_rows": 3}, "two armies of 3 rows do not fit on 4 rows"),
        ({"lakes": ((0, 0), (3, 3))}, "a lake lies on the rows of a set-up"),
        ({"lakes": ((1, 1),)}, "the lakes differ between the two sides' views"),
        ({"pieces": ((10, 4), (12, 1))}, "5 pieces do not fit on 4 squares"),
        ({"pieces": ((13, 1), (12, 1))}, "a piece has an unknown kind or a negative number"),
        ({"pieces": ((10, 1),)}, "each side needs exactly one flag"),
        ({"ply_cap": 0}, "the limits must be at least one ply"),
    ],
)
def test_impossible_variants_are_refused(change: dict[str, object], sentence: str) -> None:
    """A variant that cannot be played is an error that says why."""
    with pytest.raises(VariantError, match=f"variant quad: {sentence}"):
        replace(QUAD, **change)  # type: ignore[arg-type]


def test_a_new_variant_is_one_entry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A board of odd size with an army of its own: played like the twin's and trained on, from its entry alone."""
    lakes = ((3, 1), (3, 5))
    army = {"marshal": 1, "captain": 2, "miner": 2, "scout": 3, "spy": 1, "bomb": 2, "flag": 1}
    pieces = tuple((NAMES.index(name), count) for name, count in army.items())
    monkeypatch.setitem(VARIANTS, "hepta", Variant("hepta", 7, lakes, pieces, 2, 60, 400))
    monkeypatch.setitem(BOARDS, "hepta", Board(7, frozenset(lakes), army, 2))
    play_beside_twin("hepta", 800, seed=1, limits=(30, 200))
    trainer = train(replace(PRESETS["tiny"], variant="hepta"), path_named("fast"), 1, tmp_path, seed=0)
    assert trainer.network.playable.shape == (49 - 2,)
