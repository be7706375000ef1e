"""Reservoir sampling (Vitter 1985, algorithm R) over whole records."""

from __future__ import annotations

from numba import njit

from lost_cities.kernels.random import below


@njit(cache=True)
def add_records(memory, seen, inputs, targets, legal, weight, streams):
    """Offer records to ``memory`` (four arrays, capacity rows); returns how many it has now been offered in all.

    Each record is written or dropped whole. ``streams``: one random stream. ``weight`` is of all these records.
    """
    memory_inputs, memory_targets, memory_legal, memory_weights = memory
    capacity = memory_weights.shape[0]
    for record in range(inputs.shape[0]):
        at = seen if seen < capacity else below(streams, 0, seen + 1)
        seen += 1
        if at < capacity:
            memory_inputs[at] = inputs[record]
            memory_targets[at] = targets[record]
            memory_legal[at] = legal[record]
            memory_weights[at] = weight
    return seen
