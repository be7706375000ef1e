"""Counts of all sequences of moves to a depth: engine, slow twin and the kept table agree."""

from __future__ import annotations

import pytest
from perft import Tree, count_by_engine, count_by_twin, read_trees

TREES = read_trees()
TWIN_MOST = 1_500  # sequences that the twin walks in a test; the engine walks them all


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.position.name)
def test_engine_counts(tree: Tree) -> None:
    """The engine finds as many sequences, attacks and endings at every depth as the table holds."""
    assert count_by_engine(tree.position, len(tree.counts)) == tree.counts


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.position.name)
def test_twin_counts(tree: Tree) -> None:
    """The twin finds the same at every depth that it can reach in time."""
    depth = sum(sequences <= TWIN_MOST for sequences, _, _ in tree.counts)
    assert count_by_twin(tree.position, depth) == tree.counts[:depth]


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.position.name)
def test_twin_counts_to_the_end(tree: Tree) -> None:
    """The twin finds the same at every depth of the table."""
    assert count_by_twin(tree.position, len(tree.counts)) == tree.counts
