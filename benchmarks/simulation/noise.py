"""Random seconds and curves of a stationary training.

Iteration i of a run takes exp(block + run + noise_i) / speed seconds: 5 % SD between blocks (shared by the arms of a
block), 1.5 % between runs, 2 % between iterations with an autoregressive correlation of 0.6. Curves have SD 1 between
seeds and a correlation of 0.9 from one iteration to the next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.curves import Curves

Floats = NDArray[np.float64]

BLOCK_SD, RUN_SD, ITERATION_SD, ITERATION_CORRELATION = 0.05, 0.015, 0.02, 0.6
CURVE_CORRELATION = 0.9


def autoregressive(rng: np.random.Generator, shape: tuple[int, ...], correlation: float) -> Floats:
    """Stationary noise of SD 1 along the last axis."""
    y = rng.standard_normal(shape)
    for i in range(1, shape[-1]):
        y[..., i] = correlation * y[..., i - 1] + np.sqrt(1 - correlation**2) * y[..., i]
    return y


def simulate_seconds(
    rng: np.random.Generator,
    blocks: int,
    iterations: int,
    factor: float,
    correlation: float = ITERATION_CORRELATION,
    shape: Floats | float = 0.0,
    arms: int = 2,
) -> Floats:
    """Seconds per iteration, (arms, blocks, iterations); every arm but the first is ``factor`` times faster.

    ``shape`` (iterations,) is added to ln seconds of every run: a ramp, a slowdown.
    """
    log = (
        BLOCK_SD * rng.standard_normal((1, blocks, 1))
        + RUN_SD * rng.standard_normal((arms, blocks, 1))
        + ITERATION_SD * autoregressive(rng, (arms, blocks, iterations), correlation)
        + shape
    )
    log[1:] -= np.log(factor)
    return np.exp(log)


def simulate_curves(rng: np.random.Generator, k: int, m: int, shift: float, metrics: int = 1) -> Curves:
    """Curves of ten iterations in units of the SD between seeds."""
    y = autoregressive(rng, (k + m, metrics, 10), CURVE_CORRELATION)
    y[k:] += shift
    names = tuple(f"metric {j + 1}" for j in range(metrics))
    return Curves(names, np.arange(1, 11), y[:k], y[k:], paired=False)
