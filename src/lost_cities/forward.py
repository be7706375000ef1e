"""The forward sweep: what one call of the network costs at each batch size."""

from __future__ import annotations

import statistics
import time
from typing import Any

import numpy as np
import torch

from lost_cities.config import Config
from lost_cities.devices import apply_run_settings, device_named, synchronizer
from lost_cities.network import make_network

SCHEMA = "forward-sweep/1"


def forward_sweep(config: Config, batch_sizes: list[int], warm_up: int, calls: int) -> dict[str, Any]:
    """Time ``calls`` calls at each batch size, after ``warm_up`` untimed ones, on ``run.device``.

    The batch sizes take turns, one call each, and every round starts with another one, so that a disturbance of
    the machine does not fall on one size alone. A call is the whole network in inference mode, inputs already on
    the device, the device idle at both ends. Means and medians are in microseconds; ``speed_up`` is the mean time
    per state at the first batch size over that at this one.
    """
    apply_run_settings(config.run)
    device = device_named(config.run.device, "run.device")
    rules, synchronize = config.game.rules(), synchronizer(device)
    network = make_network(rules, config.network.hidden, config.network.layers, 0, device).eval()
    states = np.random.default_rng(0).integers(0, 2, (max(batch_sizes), rules.inputs), dtype=np.int8)
    batches = [torch.from_numpy(states[:size]).to(device) for size in batch_sizes]
    seconds: list[list[float]] = [[] for _ in batch_sizes]
    with torch.inference_mode():
        for turn in range(warm_up + calls):
            for offset in range(len(batches)):
                which = (turn + offset) % len(batches)
                synchronize()
                start = time.perf_counter()
                network(batches[which])
                synchronize()
                elapsed = time.perf_counter() - start
                if turn >= warm_up:
                    seconds[which].append(elapsed)
    per_state = [statistics.fmean(times) / size for times, size in zip(seconds, batch_sizes, strict=True)]
    rows = [
        {
            "batch_size": size,
            "microseconds_per_call": 1e6 * statistics.fmean(times),
            "median_microseconds_per_call": 1e6 * statistics.median(times),
            "microseconds_per_state": 1e6 * cost,
            "speed_up": per_state[0] / cost,
        }
        for size, times, cost in zip(batch_sizes, seconds, per_state, strict=True)
    ]
    return {
        "schema": SCHEMA,
        "device": str(device),
        "device_name": torch.cuda.get_device_name(device) if device.type == "cuda" else "cpu",
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "network": [rules.inputs, *[config.network.hidden] * config.network.layers, rules.actions],
        "warm_up_calls": warm_up,
        "measured_calls": calls,
        "rows": rows,
    }
