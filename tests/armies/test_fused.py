"""The compiled forward pass against the network it was copied from."""

import copy
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
from armies.kernels_network import exponential
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


def test_exponential_is_exp():
    """Within 3e-7 of exp over its whole range, exactly 1 at 0, and the smallest value below it."""
    x = np.linspace(-87, 0, 20_001).astype(np.float32)
    found = np.array([exponential(value) for value in x], np.float64)
    assert np.abs(found / np.exp(x.astype(np.float64)) - 1).max() < 3e-7
    assert exponential(np.float32(0)) == 1
    assert exponential(np.float32(-1000)) == exponential(np.float32(-87))


def test_not_a_number_is_not_hidden():
    """A NaN weight reaches the logits, so that the training notices it."""
    variant = VARIANTS["quad"]
    games = Games(variant, 2, seed=4)
    network = MoveNetwork(PRESETS["tiny"].network, variant)
    network.blocks[0].output.weight.data[0, 0] = torch.nan
    policy, value = evaluate(FusedNetwork(network), path_named("fused"), freeze(games, torch.device("cpu")))
    assert torch.isnan(policy).all()
    assert torch.isnan(value).all()


def test_fused_history_does_not_depend_on_threads(tmp_path):
    """The path fused gives the same history with one and two threads of its kernels.

    A first run compiles the kernels where they are not cached: a process that compiles was seen to differ from one
    that loads them in the ninth digit of a loss, for a reason that is not known yet.
    """
    histories = []
    for number, threads in enumerate(("1", "1", "2")):
        out = tmp_path / str(number)
        command = [sys.executable, "-m", "armies", "train", "--preset", "tiny", "--iterations", "3"]
        environment = {**os.environ, "NUMBA_NUM_THREADS": threads, "OMP_NUM_THREADS": "1"}
        subprocess.run([*command, "--path", "fused", "--out", out], env=environment, check=True, timeout=200)
        histories.append(history_without_times(out))
    assert histories[1] == histories[2]
    assert {row["attention"] for row in histories[0]} == {"fused"}
