"""The stages of a collection step, timed with the device synchronised, and the same loop without brackets."""

from __future__ import annotations

import time
from typing import Any

import torch

from armies.paths import CollectPath
from armies.presets import Preset
from armies.stages import stage_timer, synchronize
from armies.train import run_iteration
from armies.trainer import make_trainer

WARM_UP_STEPS = 5  # of the network that the update has left, before the first bracket


def profile(preset: Preset, path: CollectPath, steps: int, device_name: str = "cpu", seed: int = 0) -> dict[str, Any]:
    """Collect ``steps`` plies with a stage timer and as many without: a ``profile/1`` document (seconds).

    A whole iteration of training comes first, as it does in the rates of the runs that the profile stands beside. Until
    an update has made the allocator keep its pages, each step on a CPU asks the system for them anew, which made
    collection in bf16 up to 1.6 times as slow as it is in a training.
    """
    trainer = make_trainer(preset, path, seed, device_name)
    run_iteration(trainer)
    network = trainer.collecting_network()
    collector, setups, device = trainer.collector, trainer.setups, trainer.device
    collector.collect(network, WARM_UP_STEPS, setups)

    timer = stage_timer(device)
    collector.collect(network, steps, setups, timer)

    synchronize(device)
    start = time.perf_counter()
    collector.collect(network, steps, setups)
    synchronize(device)
    uninstrumented = time.perf_counter() - start

    return {
        "schema": "profile/1",
        "path": path.name,
        "preset": preset.name,
        "device": str(device),
        "threads": torch.get_num_threads(),
        "attention": trainer.attention,
        "unit": "environment steps",
        "work_per_step": preset.games,
        "steps": timer.steps,
        "warmup_steps": preset.steps + WARM_UP_STEPS,
        "synchronized": True,
        "total_seconds": timer.total_seconds,
        "stages": timer.stages("loop"),
        "uninstrumented": {"steps": steps, "seconds": uninstrumented},
    }
