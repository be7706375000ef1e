"""Speed and memory of the Lost Cities trainer, as ratios out of one run on one machine.

    python benchmarks/lost_cities_speed.py [--parts engine,traversal,linear,iteration,peer,batches,memory] [--repeats 5]

Every time is CPU time of this process with one thread, so that other work on the machine does not count; variants
take turns within a repeat. Rates are given as the median over the repeats with the smallest and largest beside it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import psutil
import torch
from tabulate import tabulate

from lost_cities.config import Config, load_config
from lost_cities.crew import NewWeights, Range, Walker
from lost_cities.devices import apply_run_settings
from lost_cities.inference import weights_of
from lost_cities.kernels.game import play_random_games
from lost_cities.kernels.random import derive
from lost_cities.memory import Memory
from lost_cities.rules import STANDARD
from lost_cities.trainer import Trainer
from lost_cities.warmup import warm_up

PEER_NODES_PER_SECOND = 9_473  # a public trainer's interleaved traversal, same network, one thread, another CPU
PEER_RECURSIVE = 2_614  # its nodes per second with one state per call
PEER_UPDATES_PER_SECOND = 64  # its best, batch 256
PEER_ITERATION_SECONDS = ((5.5, 2.2), (8.5, 2.7))  # of its iteration, recursive and interleaved: shortest and longest


def main() -> None:
    parts: dict[str, Callable[[int], None]] = {
        "engine": engine,
        "traversal": traversal,
        "linear": linear,
        "iteration": iteration,
        "peer": peer,
        "batches": batches,
        "memory": memory,
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(parts), help="default: all")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    chosen = options.parts.split(",")
    if unknown := set(chosen) - set(parts):
        parser.error(f"unknown part {', '.join(sorted(unknown))}, expected some of {', '.join(parts)}")
    apply_run_settings(Config().run)
    warm_up(Config())
    for name in chosen:
        print(f"\n## {name}\n")
        parts[name](options.repeats)


def engine(repeats: int) -> None:
    """Uniformly random games of the standard rules: choosing and taking legal actions."""

    def play() -> float:
        streams = np.array([derive(1, 0, 0, game) for game in range(1000)], np.uint64)
        scores, endings = np.zeros((1000, 2), np.int64), np.zeros(1000, np.int64)
        seconds, actions = cpu_seconds(lambda: play_random_games(STANDARD, streams, scores, endings))
        return actions / seconds

    play()
    show([["plain actions per second and core", *spread([play() for _ in range(repeats)])]])


def traversal(repeats: int) -> None:
    """Nodes per second of single and batched inference, 512 x 3, outcome sampling, the same trained-like networks."""
    variants = {"single": (walker("traversal.inference=single"), 2), "batched": (walker(), 140)}
    for width in (32, 64, 512):
        variants[f"batched, width {width}"] = (walker(f"traversal.width={width}"), 140)
    rates: dict[str, list[float]] = {name: [] for name in variants}
    sizes: dict[str, float] = {}
    for repeat in range(repeats):
        for name, (walk, traversals) in variants.items():
            rate, sizes[name] = walk_rate(walk, traversals, repeat)
            rates[name].append(rate)
    single = statistics.median(rates["single"])
    rows = [
        [name, *spread(found), f"{sizes[name]:.1f}", f"{statistics.median(found) / single:.2f}"]
        for name, found in rates.items()
    ]
    show(rows, ["nodes per CPU second", "median", "smallest", "largest", "mean batch", "over single"])
    pairs = [fast / slow for fast, slow in zip(rates["batched"], rates["single"], strict=True)]
    print(f"\nbatched over single, pair by pair: {min(pairs):.2f} to {max(pairs):.2f}")
    print(f"batched over {PEER_NODES_PER_SECOND:,}: {statistics.median(rates['batched']) / PEER_NODES_PER_SECOND:.2f}")


def linear(repeats: int) -> None:
    """CPU seconds per traversal as the number of traversals grows."""
    walk = walker()
    rows = []
    for traversals in (70, 140, 280, 560):
        costs = []
        for repeat in range(max(1, repeats // 2)):
            seconds, _ = cpu_seconds(lambda t=traversals, r=repeat: walk(Range(9, r, 0, 2 * t)))
            costs.append(1e3 * seconds / (2 * traversals))
        rows.append([traversals, *spread(costs)])
    show(rows, ["traversals per player", "CPU ms per traversal", "smallest", "largest"])


def iteration(repeats: int) -> None:
    """A whole iteration with the default numbers of traversals and updates, single against batched."""
    configs = {"single": load_config(None, ["traversal.inference=single"]), "batched": Config()}
    costs: dict[str, list[float]] = {name: [] for name in configs}
    trainers = {name: (Trainer(config, 3), Walker(config)) for name, config in configs.items()}
    for _ in range(max(1, repeats // 2)):
        for name, (trainer, walk) in trainers.items():
            costs[name].append(cpu_seconds(lambda t=trainer, w=walk: whole_iteration(t, w))[0])
    show([[name, *spread(found)] for name, found in costs.items()], ["CPU seconds", "median", "smallest", "largest"])
    print(f"\nsingle over batched: {statistics.median(costs['single']) / statistics.median(costs['batched']):.2f}")


def whole_iteration(trainer: Trainer, walk: Walker) -> None:
    trainer.iteration += 1
    walk(NewWeights([weights_of(learner.network) for learner in trainer.advantage]))
    harvest = walk(Range(3, trainer.iteration, 0, 2 * trainer.config.traversal.traversals_per_player))
    assert harvest is not None
    trainer.add_to_memories(harvest)
    trainer.fit_advantages()
    trainer.fit_strategy()


def peer(repeats: int) -> None:
    """An iteration with the work of a public trainer's, whose nodes and updates follow from its published times.

    Its traversals take N / 2,614 s when recursive and N / 9,473 s when interleaved, the updates beside them U s in
    either case, which gives N and U for both ends of the times that it was measured to need. Updates are taken to be
    as many as its best rate of 64 per second (batch 256) makes of U: the comparison that is hardest on this trainer.
    """
    walk = walker()
    nodes_per_second = statistics.median(walk_rate(walk, 140, repeat)[0] for repeat in range(repeats))
    harvest, rows = walk(Range(3, 1, 0, 140)), []
    for number in ("float32", "bfloat16"):
        seconds = update_seconds(harvest, number == "bfloat16", repeats)
        for recursive, interleaved in PEER_ITERATION_SECONDS:
            nodes = (recursive - interleaved) / (1 / PEER_RECURSIVE - 1 / PEER_NODES_PER_SECOND)
            updates = PEER_UPDATES_PER_SECOND * (interleaved - nodes / PEER_NODES_PER_SECOND)
            walked, fitted = nodes / nodes_per_second, updates * seconds
            numbers = (walked, fitted, interleaved / (walked + fitted), interleaved / fitted)
            row = [f"{number}, {interleaved} s", f"{nodes:,.0f}", f"{updates:.0f}"]
            rows.append([*row, *(f"{value:.3g}" for value in numbers)])
    heads = ["updates in, peer's iteration", "nodes", "updates", "nodes here, s", "updates here, s", "peer over this"]
    show(rows, [*heads, "were nodes free"])
    print(
        f"\n{nodes_per_second:,.0f} nodes per CPU second here; "
        "the goal is 10, out of reach where the last column is less"
    )


def update_seconds(harvest: Any, use_amp: bool, repeats: int) -> float:
    """CPU seconds per update of an advantage network at batch 256."""
    overrides = ["optimization.advantage_batch_size=256", "optimization.advantage_updates=15"]
    trainer = Trainer(load_config(None, [*overrides, f"run.use_amp={str(use_amp).lower()}"]), 3)
    trainer.iteration = 1  # a record weighs its iteration
    trainer.add_to_memories(harvest)
    trainer.fit_advantages()
    return statistics.median(cpu_seconds(trainer.fit_advantages)[0] for _ in range(repeats)) / 30


def batches(repeats: int) -> None:
    """A batch of 1,024 records as tensors: gathered from contiguous arrays, or stacked from a list of entries."""
    rows_filled, size = 200_000, 1024
    store = Memory(STANDARD, rows_filled)
    fill(store, rows_filled)
    entries = [tuple(array[row] for array in store.arrays[:3]) for row in range(rows_filled)]
    generator = np.random.default_rng(0)
    costs: dict[str, list[float]] = {"contiguous arrays": [], "list of entries, np.stack": []}
    for _ in range(repeats):
        draws = generator.integers(0, rows_filled, (50, size))
        seconds, _ = cpu_seconds(lambda d=draws: [store.batch(torch.from_numpy(r), torch.device("cpu")) for r in d])
        costs["contiguous arrays"].append(1e6 * seconds / 50)
        seconds, _ = cpu_seconds(lambda d=draws: [stacked(entries, r) for r in d])
        costs["list of entries, np.stack"].append(1e6 * seconds / 50)
    show(
        [[name, *spread(found)] for name, found in costs.items()], ["CPU us per batch", "median", "smallest", "largest"]
    )
    medians = [statistics.median(found) for found in costs.values()]
    print(f"\nstacked over contiguous: {medians[1] / medians[0]:.1f}")


def stacked(entries: list[tuple[np.ndarray, ...]], rows: np.ndarray) -> list[torch.Tensor]:
    chosen = [entries[row] for row in rows.tolist()]
    return [torch.from_numpy(np.stack([entry[field] for entry in chosen])) for field in range(3)]


def memory(repeats: int) -> None:
    """Resident memory of one reservoir of 2,000,000 records while 2,400,000 are added."""
    del repeats
    process, store = psutil.Process(), Memory(STANDARD, 2_000_000)
    start = process.memory_info().rss
    rows = []
    for total in (500_000, 1_000_000, 2_000_000, 2_400_000):
        fill(store, total - store.seen)
        grown = (process.memory_info().rss - start) / 2**20
        rows.append([total, len(store), f"{grown:,.0f}", f"{store.bytes * len(store) / store.capacity / 2**20:,.0f}"])
    show(rows, ["records added", "kept", "resident MiB grown by", "MiB of the records kept"])


def fill(store: Memory, records: int) -> None:
    generator = np.random.default_rng(1)
    for at in range(0, records, 10_000):
        n = min(10_000, records - at)
        inputs = generator.integers(0, 2, (n, STANDARD.inputs), dtype=np.int8)
        targets = generator.normal(size=(n, STANDARD.actions)).astype(np.float32)
        store.add(inputs, targets, (targets > 0).astype(np.uint8), 1.0, (store.seen, 0, 0, 0))


def walker(*overrides: str) -> Walker:
    """Networks with random last layers, so that play is not uniform."""
    config = load_config(None, overrides)
    walk, trainer = Walker(config), Trainer(load_config(None, ["memory.advantage_capacity=1"]), 1)
    torch.manual_seed(1)
    for learner in trainer.advantage:
        torch.nn.init.normal_(learner.network.body[-1].weight, std=0.05)
    walk(NewWeights([weights_of(learner.network) for learner in trainer.advantage]))
    return walk


def walk_rate(walk: Walker, traversals: int, repeat: int) -> tuple[float, float]:
    """Nodes per CPU second and nodes per call of the network."""
    seconds, harvest = cpu_seconds(lambda: walk(Range(5, repeat, 0, 2 * traversals)))
    return harvest.counts.nodes / seconds, harvest.counts.nodes / harvest.counts.forward_calls


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def spread(values: list[float]) -> list[str]:
    chosen = (statistics.median(values), min(values), max(values))
    return [f"{value:.4g}" if value < 1e4 else f"{value:,.0f}" for value in chosen]


def show(rows: list[list[object]], heads: list[str] | None = None) -> None:
    print(tabulate(rows, heads or ["", "median", "smallest", "largest"], tablefmt="github", disable_numparse=True))


if __name__ == "__main__":
    main()
