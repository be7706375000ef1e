"""The forward sweep of document 001 on its GPU, one on a CPU that is not monotone, and the supply of states."""

from __future__ import annotations

import numpy as np
import pytest

from tachograph.evidence.sweep import (
    GROUP,
    GROUP_UNBOUND,
    ITERATION,
    MADE,
    SIDE_BY_SIDE,
    Sweep,
    SweepError,
    reach,
    supply,
    sweep,
)

SIZES = [1, 4, 16, 64, 256, 1024]


def document_001() -> Sweep:
    return sweep(SIZES, [t * 1e-6 for t in (80.07, 81.20, 91.30, 93.61, 88.34, 161.95)])


def test_document_001_sweep() -> None:
    """µs per state and speed-ups as the document prints them, from its µs per call."""
    rows = document_001().rows
    printed = [80.074, 20.299, 5.706, 1.463, 0.345, 0.158]
    for row, expected in zip(rows, printed, strict=True):  # calls are given to 0.01 µs, states to 0.001 µs
        assert row.seconds_per_state * 1e6 == pytest.approx(expected, abs=0.005 / row.batch_size + 0.0005)
    assert [row.speed_up for row in rows] == pytest.approx([1.00, 3.94, 14.03, 54.75, 232.03, 506.30], rel=1.2e-3)
    assert (document_001().peak, document_001().monotone) == (1024, True)


def test_document_001_supply() -> None:
    """205,810 nodes in 560 traversals are 368 states each: 256 is the largest batch within, 232x of 506x."""
    states = supply(np.array([205_810.0]), np.array([560.0]))
    found = reach(document_001(), states[GROUP_UNBOUND])
    assert round(found.states) == 368
    assert found.batch_size == 256
    assert found.speed_up == pytest.approx(232.03, rel=2e-4)
    assert found.of_best == pytest.approx(232.03 / 506.30, rel=1e-3)


def test_supply_of_document_001_is_a_chain() -> None:
    """Its traversals sample outcomes: each of the 368 states waits for the one before, so one alone reaches 1.00x."""
    nodes = np.array([205_810.0])
    states = supply(nodes, np.array([560.0]), chains=nodes, longest_chain=np.array([700.0]))
    assert GROUP_UNBOUND not in states
    assert reach(document_001(), states[GROUP]).speed_up == 1.0
    assert states[ITERATION] == pytest.approx(294.01, abs=0.01)
    assert reach(document_001(), states[ITERATION]).batch_size == 256


def test_supply_of_branches_and_of_groups_side_by_side() -> None:
    """Work over the longest chain: 600 states in chains of 200 are 3 at a time; four groups together 12, not 20."""
    one = {"states": np.array([400.0, 200.0]), "groups": np.array([10.0, 10.0]), "chains": np.array([120.0, 80.0])}
    states = supply(**one, longest_chain=np.array([20.0, 10.0]), side_by_side=np.array([4.0, 4.0]))
    assert states == {GROUP: 3.0, ITERATION: 20.0, SIDE_BY_SIDE: 12.0}
    many = supply(**one, longest_chain=np.array([20.0, 10.0]), side_by_side=np.array([10.0, 10.0]))
    assert many[SIDE_BY_SIDE] == 20.0


def test_mean_batch_is_states_over_calls() -> None:
    """100 states in calls of 50 and 900 in calls of 10 are 1,000 in 92 calls: 10.9, not the mean 30 of both."""
    states = supply(np.array([100.0, 900.0]), np.array([1.0, 1.0]), mean_batch=np.array([50.0, 10.0]))
    assert states[MADE] == pytest.approx(1000 / 92)


def test_supply_without_numbers_is_none() -> None:
    """Rows that lack the columns give no supply."""
    assert supply(np.array([np.nan]), np.array([np.nan])) == {}


def test_sweep_on_a_cpu_is_not_monotone() -> None:
    """On a CPU (workloads: 213 to 20,095 µs) the gain peaks at 15.7x with 256 and falls; more states reach no more."""
    found = sweep(SIZES, [t * 1e-6 for t in (213, 297, 517, 1201, 3461, 20095)])
    assert (found.peak, found.monotone) == (256, False)
    assert max(row.speed_up for row in found.rows) == pytest.approx(15.75, abs=0.01)
    assert reach(found, 5000).batch_size == 256


def test_supply_between_two_sizes_names_both() -> None:
    """63.9 and 65.5 states are nearly the same: the sizes below and above are told, nothing is read between them."""
    below, above, exact = (reach(document_001(), states) for states in (63.9, 65.5, 64.0))
    assert (below.batch_size, below.next_batch_size) == (16, 64)
    assert (above.batch_size, above.next_batch_size) == (64, 256)
    assert below.next_speed_up == above.speed_up == exact.speed_up
    assert (exact.next_batch_size, reach(document_001(), 5000).next_batch_size) == (None, None)


def test_supply_below_the_smallest_batch_reaches_nothing() -> None:
    """Half a state per call was never measured, so nothing is said about it."""
    assert reach(document_001(), 0.5).speed_up is None


@pytest.mark.parametrize(
    ("sizes", "seconds"),
    [([1], [1.0]), ([1, 4], [1.0]), ([4, 1], [1.0, 1.0]), ([1, 1], [1.0, 1.0]), ([1, 4], [1.0, 0.0]),
     ([1, 4], [1.0, float("nan")]), ([0, 4], [1.0, 1.0])],
)  # fmt: skip
def test_what_is_no_sweep_is_refused(sizes: list[int], seconds: list[float]) -> None:
    """Too few, unsorted or repeated sizes, and times that cannot be."""
    with pytest.raises(SweepError, match="expected"):
        sweep(sizes, seconds)
