"""Counts of all sequences of moves to a depth: engine, slow twin and the kept table agree."""

from __future__ import annotations

import pytest
from compiled import COMPILED
from perft import Tree, count_by_engine, count_by_twin, read_trees

TREES = read_trees()
MOST = 1_500  # sequences at a depth that plain Python walks in a test; compiled, the engine walks them all


def depth_in_time(tree: Tree) -> int:
    return sum(sequences <= MOST for sequences, _, _ in tree.counts)


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.position.name)
def test_engine_counts(tree: Tree) -> None:
    """The engine finds as many sequences, attacks and endings at every depth as the table holds."""
    depth = len(tree.counts) if COMPILED else depth_in_time(tree)
    assert count_by_engine(tree.position, depth) == tree.counts[:depth]


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.position.name)
def test_twin_counts(tree: Tree) -> None:
    """The twin finds the same at every depth that it can reach in time."""
    depth = depth_in_time(tree)
    assert count_by_twin(tree.position, depth) == tree.counts[:depth]


@pytest.mark.slow
@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.position.name)
def test_twin_counts_to_the_end(tree: Tree) -> None:
    """The twin finds the same at every depth of the table."""
    assert count_by_twin(tree.position, len(tree.counts)) == tree.counts
