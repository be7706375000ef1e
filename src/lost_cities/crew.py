"""Who walks the traversals of an iteration: the trainer's own process, or workers that live through the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lost_cities.config import Config
from lost_cities.devices import apply_run_settings, device_named
from lost_cities.inference import Answerer, Weights
from lost_cities.kernels.lanes import Records
from lost_cities.processes import WorkerPool
from lost_cities.traversal import Counts, Harvest, Traverser, sampling_of
from lost_cities.warmup import warm_up


@dataclass(frozen=True)
class NewWeights:
    """The advantage networks of both players."""

    weights: list[Weights]


@dataclass(frozen=True)
class Range:
    """Traversals ``first`` to ``last - 1`` of an iteration."""

    seed: int
    iteration: int
    first: int
    last: int


class Walker:
    """Handles :class:`NewWeights` and :class:`Range` with networks and lanes of its own."""

    def __init__(self, config: Config) -> None:
        settings, rules = config.traversal, config.game.rules()
        device = device_named(settings.device, "traversal.device")
        self._answerers = [Answerer(rules, config.network.hidden, config.network.layers, device) for _ in range(2)]
        self._traverser = Traverser(rules, sampling_of(settings), lanes_of(config))

    def __call__(self, job: NewWeights | Range) -> Harvest | None:
        if isinstance(job, NewWeights):
            for answerer, weights in zip(self._answerers, job.weights, strict=True):
                answerer.load(weights)
            return None
        return self._traverser.run(self._forward, job.seed, job.iteration, job.first, job.last)

    def _forward(self, player: int, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
        return self._answerers[player].answer(inputs)


class Crew:
    """All traversals of an iteration, by ``traversal.num_workers`` processes or, with 0, here."""

    def __init__(self, config: Config) -> None:
        self._chunk = config.traversal.worker_chunk_size
        self._traversals = 2 * config.traversal.traversals_per_player
        self._pool: WorkerPool | None = None
        self._walk: Callable[[NewWeights | Range], Harvest | None] | None = None
        if config.traversal.num_workers:
            self._pool = WorkerPool(_make_walker, (config,), config.traversal.num_workers, "traversal")
        else:
            self._walk = Walker(config)

    @property
    def process_ids(self) -> list[int]:
        return self._pool.process_ids if self._pool else []

    def wait_ready(self) -> None:
        """Wait until all workers have loaded what they need."""
        if self._pool:
            self._pool.wait_ready()

    def traverse(self, weights: list[Weights], seed: int, iteration: int) -> Harvest:
        """Walk the iteration's traversals with the given advantage networks.

        Neither the number of workers nor their chunks change what is walked, but for the rounding of batches.
        """
        if self._walk:
            self._walk(NewWeights(weights))
            harvest = self._walk(Range(seed, iteration, 0, self._traversals))
            assert harvest is not None
            return harvest
        assert self._pool is not None
        self._pool.broadcast(NewWeights(weights))
        starts = range(0, self._traversals, self._chunk)
        ends = [min(start + self._chunk, self._traversals) for start in starts]
        self._pool.submit(Range(seed, iteration, start, end) for start, end in zip(starts, ends, strict=True))
        return joined(self._pool.results())

    def close(self) -> None:
        if self._pool:
            self._pool.close()


def lanes_of(config: Config) -> int:
    """Traversals side by side in one process: 1 with single inference, never more than there are."""
    settings = config.traversal
    if settings.inference == "single":
        return 1
    share = settings.worker_chunk_size if settings.num_workers else 2 * settings.traversals_per_player
    return min(settings.width, share)


def joined(harvests: list[Harvest]) -> Harvest:
    """The records of all, in order, and the sums of the counts."""
    counts = Counts()
    for harvest in harvests:
        counts.add(harvest.counts)
    records = Records._make(
        np.concatenate(arrays) for arrays in zip(*(harvest.records for harvest in harvests), strict=True)
    )
    return Harvest(records, counts)


def _make_walker(config: Config) -> Walker:
    apply_run_settings(config.run)
    warm_up(config)
    return Walker(config)
