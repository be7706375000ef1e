"""Everything a training consists of while it runs."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch

from armies.attention import attention_that_runs
from armies.collect import Collector
from armies.engine import Games, warm_up
from armies.errors import ArmiesError
from armies.network import MoveNetwork
from armies.paths import CollectPath
from armies.presets import Preset
from armies.setup_network import SetupNetwork
from armies.setup_record import SetupRecord


@dataclass
class Trainer:
    preset: Preset
    path: CollectPath
    seed: int
    device: torch.device
    attention: str  # the backend that really runs
    network: MoveNetwork  # float32: the one that learns
    optimizer: torch.optim.Optimizer
    setup_network: SetupNetwork
    setup_optimizer: torch.optim.Optimizer
    games: Games
    setups: SetupRecord
    collector: Collector
    sampling: torch.Generator  # on the device: moves and set-ups
    shuffle: torch.Generator  # on the host: order of the minibatches
    iteration: int = 0  # finished iterations

    def collecting_network(self) -> MoveNetwork:
        """The move network in the number format in which the path collects."""
        number = self.path.collection_dtype(self.device.type)
        if number == "float32":
            return self.network
        return copy.deepcopy(self.network).to(getattr(torch, number))


def make_trainer(preset: Preset, path: CollectPath, seed: int, device_name: str) -> Trainer:
    """A training before its first iteration. The same arguments give the same training."""
    device = device_named(device_name)
    torch.manual_seed(seed)
    variant = preset.board
    warm_up(variant)
    games = Games(variant, preset.games, seed, preset.battleless_limit, preset.ply_cap)
    network = MoveNetwork(preset.network, variant).to(device)
    setup_network = SetupNetwork(preset.setup_width, variant).to(device)
    sampling = torch.Generator(device).manual_seed(seed)
    learning = preset.learning
    trainer = Trainer(
        preset=preset,
        path=path,
        seed=seed,
        device=device,
        attention="",
        network=network,
        optimizer=torch.optim.Adam(network.parameters(), lr=learning.learning_rate),
        setup_network=setup_network,
        setup_optimizer=torch.optim.Adam(setup_network.parameters(), lr=learning.setup_learning_rate),
        games=games,
        setups=SetupRecord(games),
        collector=Collector(games, path, device, sampling),
        sampling=sampling,
        shuffle=torch.Generator().manual_seed(seed),
    )
    trainer.setups.write_next(games, setup_network, sampling)
    collector, collecting = trainer.collector, trainer.collecting_network()
    attention_that_runs(path.update_attention(device.type), lambda: collector.value_now(network))
    trainer.attention = attention_that_runs(path.attention, lambda: collector.value_now(collecting))
    return trainer


def device_named(name: str) -> torch.device:
    """The device ``name`` ("cpu", "cuda", "cuda:1"); :class:`ArmiesError` if it is not there."""
    kind, _, number = name.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdigit()) or (kind == "cpu" and number):
        raise ArmiesError(f"device is {name!r}, expected cpu or cuda:N")
    if kind == "cpu":
        return torch.device("cpu")
    count = torch.cuda.device_count()
    if int(number or 0) >= count:
        raise ArmiesError(f"device is {name!r}, found {count} CUDA or ROCm devices")
    return torch.device("cuda", int(number or 0))
