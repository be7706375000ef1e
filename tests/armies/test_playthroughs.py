"""Whole games, kept as text, are played again by engine and slow twin."""

from __future__ import annotations

import pytest
from playthrough import FOLDER, GAMES, write_playthrough
from rule_examples import EngineTable, TwinTable


@pytest.mark.parametrize("table", [EngineTable, TwinTable], ids=["engine", "slow twin"])
@pytest.mark.parametrize("file", GAMES)
def test_playthrough(file: str, table: type[EngineTable | TwinTable]) -> None:
    """Boards, views, legal moves and ending are those in the file, ply by ply."""
    assert write_playthrough(file, table).splitlines() == (FOLDER / f"{file}.txt").read_text().splitlines()
