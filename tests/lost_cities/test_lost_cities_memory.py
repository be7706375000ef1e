"""The reservoir: records stay whole, the sample is uniform, batches are the records."""

from __future__ import annotations

import numpy as np
import torch
from tiny_lost_cities import TINY

from lost_cities.memory import Memory


def numbered(first: int, last: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Records whose every field tells their number."""
    numbers = np.arange(first, last)
    inputs = np.stack([np.resize([n % 100, n // 100], TINY.inputs) for n in numbers]).astype(np.int8)
    targets = np.repeat(numbers[:, None], TINY.actions, 1).astype(np.float32)
    legal = ((numbers[:, None] >> np.arange(TINY.actions)) & 1).astype(np.uint8)
    return inputs, targets, legal


def filled(capacity: int, calls: int, per_call: int, seed: int = 1) -> Memory:
    memory = Memory(TINY, capacity)
    for call in range(calls):
        memory.add(*numbered(call * per_call, (call + 1) * per_call), float(call), (seed, call, 0, 0))
    return memory


def test_records_stay_whole_through_overflow_and_drawing():
    """After 20 times its capacity every record of a batch has all four fields of one and the same record."""
    memory = filled(100, 20, 100)
    assert (len(memory), memory.seen) == (100, 2000)
    rows = torch.from_numpy(np.random.default_rng(0).integers(0, 100, 500))
    inputs, targets, legal, weights = (t.numpy() for t in memory.batch(rows, torch.device("cpu")))
    numbers = targets[:, 0].astype(int)
    expected = [numbered(n, n + 1) for n in numbers]
    np.testing.assert_array_equal(inputs, np.concatenate([e[0] for e in expected]))
    np.testing.assert_array_equal(targets, np.concatenate([e[1] for e in expected]))
    np.testing.assert_array_equal(legal, np.concatenate([e[2] for e in expected]))
    np.testing.assert_array_equal(weights, numbers // 100)
    assert len(set(memory.arrays[1][:, 0].tolist())) == 100


def test_reservoir_is_a_uniform_sample():
    """Over 400 reservoirs every twentieth of the stream is kept equally often (chi-square, 19 degrees, p > 0.001)."""
    kept = np.zeros(20)
    for seed in range(400):
        numbers = filled(10, 4, 50, seed).arrays[1][:, 0].astype(int)
        kept += np.bincount(numbers // 10, minlength=20)
    expected = kept.sum() / 20
    assert ((kept - expected) ** 2 / expected).sum() < 43.8


def test_a_batch_never_holds_an_unfilled_row():
    """A memory with few records offers those alone, and its state keeps those alone."""
    memory = filled(1000, 1, 7)
    assert len(memory) == 7
    state = memory.state_dict()
    assert [len(array) for array in state["arrays"]] == [7, 7, 7, 7]
    assert state["arrays"][0].untyped_storage().nbytes() == 7 * TINY.inputs


def test_memory_is_bounded_by_its_capacity():
    """Arrays have the registered capacity and never grow: bytes per record times capacity."""
    memory = filled(64, 10, 64)
    assert memory.bytes == 64 * (TINY.inputs + 5 * TINY.actions + 4)
    assert all(len(array) == 64 for array in memory.arrays)
