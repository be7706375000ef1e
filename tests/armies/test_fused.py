"""The compiled forward pass against the network it was copied from."""

import copy
import math
import os
import subprocess
import sys

import compiled
import numpy as np
import pytest
import torch
from histories import history_without_times

from armies.engine import Games
from armies.fused import FusedNetwork
from armies.kernels.network import BOUND, attend, largest_magnitude, power_of_two
from armies.network import MoveNetwork
from armies.parity import evaluate, freeze
from armies.paths import path_named
from armies.presets import PRESETS, NetworkConfig
from armies.variants import VARIANTS

pytestmark = compiled.fused


@pytest.mark.parametrize(
    ("name", "network_config"),
    [
        ("octa", PRESETS["cpu"].network),
        ("classic", PRESETS["cpu-classic"].network),
        ("quad", NetworkConfig(width=6, heads=3, layers=3, feed_forward=1)),
    ],
)
def test_fused_network_is_the_network(name, network_config):
    """Logits and values differ from the float64 network by float32 rounding, on every board and size."""
    games = Games(VARIANTS[name], 9, seed=4)
    for _ in range(30):
        games.step(games.random_actions())
    batch = freeze(games, torch.device("cpu"))
    torch.manual_seed(0)
    network = MoveNetwork(network_config, VARIANTS[name])
    for parameter in network.parameters():  # weights as large as training makes them, gains other than 1
        parameter.data += 0.2 * torch.randn_like(parameter)
    fused = evaluate(FusedNetwork(network), path_named("fused"), batch)
    exact = evaluate(copy.deepcopy(network).double(), path_named("reference"), batch)
    for ours, true in zip(fused, exact, strict=True):
        assert torch.allclose(ours, true, rtol=1e-4, atol=1e-4)
        assert torch.isfinite(ours).all()


def test_power_of_two_is_exp2():
    """Within 2e-7 of 2^x over its whole range, and exact at whole numbers."""
    x = np.linspace(-126, 127, 20_001).astype(np.float32)
    found = np.array([power_of_two(value) for value in x], np.float64)
    assert np.abs(found / np.exp2(x.astype(np.float64)) - 1).max() < 2e-7
    assert [power_of_two(np.float32(n)) for n in (-126, -1, 0, 5, 127)] == [2.0**n for n in (-126, -1, 0, 5, 127)]
    assert np.isnan(power_of_two(np.float32(np.nan)))


def test_largest_magnitude_is_that_of_the_largest_number():
    """Signs do not count; one NaN is enough for NaN."""
    x = np.array([[0.5, -3.25], [2.0, 0.0]], np.float32)
    assert largest_magnitude(x) == 3.25
    assert largest_magnitude(np.zeros((2, 2), np.float32)) == 0
    x[1, 1] = np.nan
    assert np.isnan(largest_magnitude(x))


@pytest.mark.parametrize("size", [1.0, 40.0])
def test_attention_with_small_and_huge_scores(size):
    """Heads' outputs equal torch's in float64, with and without the search for the largest score."""
    heads, D, R, T = 3, 4, 16, 32
    torch.manual_seed(1)
    query, key, value = (size * torch.randn(heads, D, n) for n in (R, T, T))
    scaled = query * (math.log2(math.e) / math.sqrt(D))
    assert (D * scaled.abs().max() * key.abs().max() < BOUND) == (size == 1.0)
    ones = torch.ones(heads, 1, T)
    out = np.empty((heads * D, R), np.float32)
    arrays = (x.flatten(0, 1).numpy() for x in (scaled, key, torch.cat([value, ones], 1)))
    attend(*arrays, heads, out)
    rows = (x.double().transpose(1, 2) for x in (query, key, value))
    exact = torch.nn.functional.scaled_dot_product_attention(*rows).transpose(1, 2)
    assert torch.allclose(torch.from_numpy(out).double().view(heads, D, R), exact, rtol=0, atol=2e-4 * size**2 / 40)


def test_not_a_number_is_not_hidden():
    """A NaN weight reaches the logits, so that the training notices it."""
    variant = VARIANTS["quad"]
    games = Games(variant, 2, seed=4)
    network = MoveNetwork(PRESETS["tiny"].network, variant)
    network.blocks[0].output.weight.data[0, 0] = torch.nan
    policy, value = evaluate(FusedNetwork(network), path_named("fused"), freeze(games, torch.device("cpu")))
    assert torch.isnan(policy).all()
    assert torch.isnan(value).all()


def train_fused(out, threads, **environment):
    """Three iterations of the path fused in a process of its own; the history without times."""
    command = [sys.executable, "-m", "armies", "train", "--preset", "tiny", "--iterations", "3", "--path", "fused"]
    environment = {**os.environ, "NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": "1", **environment}
    subprocess.run([*command, "--out", out], env=environment, check=True, timeout=400)
    return history_without_times(out)


def test_fused_history_does_not_depend_on_threads(tmp_path):
    """The path fused gives the same history with one and two threads of its kernels."""
    one, two = (train_fused(tmp_path / threads, threads) for threads in ("1", "2"))
    assert one == two
    assert {row["attention"] for row in one} == {"fused"}


@pytest.mark.slow
def test_compiling_and_loading_give_the_same_history(tmp_path):
    """A process that compiles the kernels and one that finds them in the cache compute the same numbers."""
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    compiled = train_fused(tmp_path / "first", "1", **cache)
    assert train_fused(tmp_path / "second", "1", **cache) == compiled
