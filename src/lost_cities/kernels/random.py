"""Random numbers that belong to one game or traversal: SplitMix64 (Steele, Lea, Flood 2014).

Each game has a stream of its own, so that results do not depend on which games run beside it.
"""

from __future__ import annotations

import numpy as np
from numba import njit

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)
U11, U27, U30, U31, U33 = (np.uint64(bits) for bits in (11, 27, 30, 31, 33))


@njit(cache=True, inline="always")
def mix(value):
    """SplitMix64's output function on one uint64."""
    value = (value ^ (value >> U30)) * FIRST
    value = (value ^ (value >> U27)) * SECOND
    return value ^ (value >> U31)


@njit(cache=True)
def next_random(streams, index):
    """The next 64 random bits of stream ``index`` of ``streams`` (uint64, one state each)."""
    streams[index] += GOLDEN
    return mix(streams[index])


@njit(cache=True)
def below(streams, index, bound):
    """A whole number in [0, bound), for bound < 2**31; the bias is below bound / 2**31."""
    return np.int64(((next_random(streams, index) >> U33) * np.uint64(bound)) >> U31)


@njit(cache=True)
def uniform(streams, index):
    """A float64 in [0, 1) with 53 random bits."""
    return np.float64(next_random(streams, index) >> U11) * (1.0 / 9007199254740992.0)


@njit(cache=True)
def derive(seed, first, second, third):
    """The state of a stream from a seed and three whole numbers (iteration, player, index of a traversal)."""
    state = mix(np.uint64(seed) + GOLDEN)
    state = mix(state ^ (np.uint64(first) + GOLDEN))
    state = mix(state ^ (np.uint64(second) + GOLDEN * np.uint64(2)))
    return mix(state ^ (np.uint64(third) + GOLDEN * np.uint64(3)))
