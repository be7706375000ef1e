"""Uniformly random set-ups, and the random generators of games."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from armies.variants import Variant


def random_setups(variant: Variant, count: int, generator: np.random.Generator) -> NDArray[np.uint8]:
    """Set-ups drawn uniformly from all placements of the army: uint8 [count, setup_cells], owner's view."""
    return generator.permuted(np.tile(variant.army, (count, 1)), axis=1)


@njit(cache=True, nogil=True, fastmath=False)
def random_below(states, stream, bound):  # type: ignore[no-untyped-def]
    """A random integer in [0, bound), bound < 2**32, from the generator ``states[stream]`` (uint64 [k]).

    xorshift64 (Marsaglia, "Xorshift RNGs", 2003, shifts 13, 7, 17); the high half is scaled to the bound.
    """
    x = states[stream]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    states[stream] = x
    return int(((x >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@njit(cache=True, nogil=True, fastmath=False)
def shuffle_army(army, states, stream, setup):  # type: ignore[no-untyped-def]
    """Write a uniformly random order of ``army`` (uint8 [setup_cells]) to ``setup`` (Fisher and Yates)."""
    for i in range(army.size):
        j = random_below(states, stream, i + 1)
        setup[i] = setup[j]
        setup[j] = army[i]
