"""Deep CFR (Brown et al. 2019): networks, memories and one iteration's learning."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from lost_cities.config import Config
from lost_cities.devices import device_named, synchronizer
from lost_cities.kernels.lanes import ADVANTAGE, STRATEGY
from lost_cities.memory import Memory
from lost_cities.network import Perceptron, make_network
from lost_cities.optimize import Fit, FitReport, advantage_loss, fit, strategy_loss
from lost_cities.traversal import Harvest

# what a random stream or an initial network is for; part of its seed
MEMORY, ADVANTAGE_BATCHES, STRATEGY_BATCHES, ADVANTAGE_START, STRATEGY_START = range(11, 16)


@dataclass
class Learner:
    """A network with what trains it; ``call`` is the network itself or its compiled form."""

    network: Perceptron
    call: Any
    optimizer: torch.optim.Optimizer
    memory: Memory


class Trainer:
    """Two advantage learners, one per player, and a strategy learner. ``iteration`` counts the finished ones."""

    def __init__(self, config: Config, seed: int) -> None:
        self.config, self.seed, self.iteration = config, seed, 0
        self.rules = config.game.rules()
        self.device = device_named(config.run.device, "run.device")
        device_named(config.traversal.device, "traversal.device")  # told now, not by a worker later
        device_named(config.evaluation.device, "evaluation.device")
        self.synchronize = synchronizer(self.device)
        sizes, rates = config.memory, config.optimization
        self.advantage = [
            self._learner(
                (ADVANTAGE_START, player, 0),
                Memory(self.rules, sizes.advantage_capacity),
                rates.advantage_learning_rate,
            )
            for player in range(2)
        ]
        self.strategy = self._learner(
            (STRATEGY_START, 0, 0), Memory(self.rules, sizes.strategy_capacity), rates.strategy_learning_rate
        )

    def _learner(self, purpose: tuple[int, int, int], memory: Memory, rate: float) -> Learner:
        network = self._network(purpose)
        call: Any = torch.compile(network) if self.config.run.compile else network
        return Learner(network, call, self._optimizer(network, rate), memory)

    def _network(self, purpose: tuple[int, int, int]) -> Perceptron:
        settings = self.config.network
        start = int(np.random.default_rng((self.seed, *purpose)).integers(2**62))
        return make_network(self.rules, settings.hidden, settings.layers, start, self.device)

    @staticmethod
    def _optimizer(network: Perceptron, rate: float) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), lr=rate)

    def add_to_memories(self, harvest: Harvest) -> None:
        """Offer the records of an iteration to the memories, weighted by the iteration in linear CFR."""
        records = harvest.records
        weight = float(self.iteration) if self.config.optimization.linear_weighting else 1.0
        for number, learner in enumerate([*self.advantage, self.strategy]):
            if learner is self.strategy:
                chosen = records.kind == STRATEGY
            else:
                chosen = (records.kind == ADVANTAGE) & (records.player == number)
            learner.memory.add(
                records.inputs[chosen],
                records.targets[chosen],
                records.legal[chosen],
                weight,
                (self.seed, self.iteration, MEMORY, number),
            )

    def fit_advantages(self) -> list[FitReport]:
        """Fit both advantage networks; one report per player."""
        settings = self.config.optimization
        how = Fit(
            settings.advantage_updates,
            settings.advantage_batch_size,
            settings.gradient_clip,
            self.config.run.use_amp,
        )
        reports = []
        for player, learner in enumerate(self.advantage):
            if settings.advantage_from_scratch:
                start = self._network((ADVANTAGE_START, player, self.iteration))
                learner.network.load_state_dict(start.state_dict())
                learner.optimizer = self._optimizer(learner.network, settings.advantage_learning_rate)
            reports.append(self._fit(learner, advantage_loss, how, (ADVANTAGE_BATCHES, player)))
        return reports

    def fit_strategy(self) -> FitReport:
        settings = self.config.optimization
        how = Fit(
            settings.strategy_updates,
            settings.strategy_batch_size,
            settings.gradient_clip,
            self.config.run.use_amp,
        )
        return self._fit(self.strategy, strategy_loss, how, (STRATEGY_BATCHES, 0))

    def _fit(self, learner: Learner, loss: Any, how: Fit, purpose: tuple[int, int]) -> FitReport:
        seed = (self.seed, self.iteration, *purpose)
        return fit(learner.call, learner.optimizer, learner.memory, loss, how, seed, self.device, self.synchronize)

    def now(self) -> float:
        """Seconds on a monotonic clock, with the device idle."""
        self.synchronize()
        return time.perf_counter()
