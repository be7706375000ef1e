"""Speed of the armies engine beside a plain-Python and a torch version of the same game, in one run.

    python benchmarks/engine.py [--threads N] [--repeats N] [--variant NAME] [--cpu-time]

Prints (legal moves + step) per second of each, medians of interleaved repeats with their range, and ratios;
then how the engine's cost grows from 64 to 16,384 games. Plain Python is the tests' slow twin, one game at a
time; torch is ``torch_games.py``, first played beside the engine, with which it must agree. ``--cpu-time``
takes CPU time instead of the clock's: for one thread on a busy machine. It is that of the process, as numba may compute
on a thread of its own.
"""

from __future__ import annotations

import argparse
import os
import platform
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import torch
from torch_games import TorchGames

from armies.engine import Games, warm_up
from armies.engine_alone import engine_alone
from armies.variants import KIND_NAMES, VARIANTS, Variant

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "armies"))
from slow_twin import BOARDS, SlowGame

GAMES = 1024
Clock = Callable[[], float]


class PlainPython:
    """The slow twin as a player of one random game after another."""

    def __init__(self, variant: Variant) -> None:
        self.variant = variant
        self.random = random.Random(0)
        self.start()

    def start(self) -> None:
        names = [KIND_NAMES[kind] for kind in self.variant.army]
        setups = [self.random.sample(names, len(names)) for _ in range(2)]
        limits = self.variant.battleless_limit, self.variant.ply_cap
        self.game = SlowGame(BOARDS[self.variant.name], setups, *limits)

    def seconds(self, steps: int, clock: Clock) -> float:
        """Seconds for legal moves and step, ``steps`` times; drawing the move is not counted."""
        spent = 0.0
        for _ in range(steps):
            while not (moves := sorted(self.game.legal_moves())):
                self.start()
            move = self.random.choice(moves)
            start = clock()
            self.game.legal_moves()
            self.game.play(*move)
            if self.game.ending:
                self.start()
            spent += clock() - start
        return spent


def torch_seconds(games: TorchGames, steps: int, clock: Clock) -> float:
    """Seconds for ``steps`` steps (each finds the next legal moves); drawing actions is not counted."""
    spent = 0.0
    for _ in range(steps):
        actions = (torch.rand(games.mask.shape) * games.mask).argmax(1)
        start = clock()
        games.step(actions)
        spent += clock() - start
    return spent


def engine_seconds(games: Games, mask: np.ndarray, steps: int, clock: Clock) -> float:
    """Seconds for ``steps`` times legal mask and step; drawing actions is not counted."""
    spent = 0.0
    for _ in range(steps):
        actions = games.random_actions()
        start = clock()
        games.legal_mask(mask)
        games.step(actions)
        spent += clock() - start
    return spent


def check_torch(variant: Variant) -> None:
    """Play the torch version beside the engine; AssertionError where they differ."""
    games = Games(variant, 64, seed=1)
    peer = TorchGames(variant, torch.from_numpy(games.setups.copy()))
    for _ in range(400):
        assert np.array_equal(peer.mask.numpy(), games.legal_mask().astype(bool))
        actions = games.random_actions()
        ended = games.step(actions).ended
        found = peer.step(torch.from_numpy(actions).long(), torch.from_numpy(games.setups.copy()))
        assert np.array_equal(found.numpy(), ended)


def interleaved(timed: dict[str, tuple[Callable[[int], float], int, int]], repeats: int) -> dict[str, list[float]]:
    """Rates of each version, taken in turn. ``timed``: name → (seconds of k steps, k, games)."""
    rates: dict[str, list[float]] = {name: [] for name in timed}
    for _ in range(repeats):
        for name, (seconds, steps, games) in timed.items():
            rates[name].append(steps * games / seconds(steps))
    return rates


def print_peers(variant: Variant, threads: int, repeats: int, clock: Clock) -> None:
    """The table of versions."""
    check_torch(variant)
    games = Games(variant, GAMES, seed=0)
    mask = games.legal_mask()
    plain = PlainPython(variant)
    peer = TorchGames(variant, torch.from_numpy(games.setups.copy()))
    timed = {
        "plain Python, 1 game": (lambda steps: plain.seconds(steps, clock), 3000, 1),
        f"torch, {GAMES} games": (lambda steps: torch_seconds(peer, steps, clock), 5, GAMES),
        f"armies.engine, {GAMES} games": (
            lambda steps: engine_seconds(games, mask, steps, clock),
            100,
            GAMES,
        ),
    }
    interleaved(timed, 1)  # warms allocators and takes the games apart
    rates = interleaved(timed, repeats)
    base = np.median(rates["plain Python, 1 game"])
    print(f"\n{variant.name}, legal moves + step, {threads} threads, {repeats} interleaved repeats")
    print(f"| {'version':<30} | {'steps/s':>10} | {'range':>22} | {'ratio':>8} |")
    print("|---|---:|---:|---:|")
    for name, values in rates.items():
        spread = f"{min(values):,.0f}–{max(values):,.0f}"
        print(f"| {name:<30} | {np.median(values):>10,.0f} | {spread:>22} | {np.median(values) / base:>8,.1f} |")


def print_growth(variant: Variant, threads: int, repeats: int, clock: Clock) -> None:
    """The table of cost against the number of games."""
    print(f"\n{variant.name}, cost per game against the number of games, {threads} threads")
    print(f"| {'games':>6} | {'mask+step, ns':>13} | {'observe, ns':>11} | {'M steps/s':>9} | {'M obs/s':>7} |")
    print("|---:|---:|---:|---:|---:|")
    for games in (64, 256, 1024, 4096, 16384):
        steps = max(20, 100_000 // games)
        step, observe = engine_alone(variant, games, steps, threads, repeats, clock=clock)["rates"]
        best = [float(np.median(rate["repeats"])) for rate in (step, observe)]
        print(
            f"| {games:>6} | {1e9 / best[0]:>13,.0f} | {1e9 / best[1]:>11,.0f} "
            f"| {best[0] / 1e6:>9.2f} | {best[1] / 1e6:>7.2f} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--threads", type=int, default=numba.get_num_threads())
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--variant", choices=sorted(set(VARIANTS)), default="classic")
    parser.add_argument("--cpu-time", action="store_true", help="CPU time with one thread, not the clock's")
    options = parser.parse_args()
    if options.cpu_time and options.threads != 1:
        parser.error("--cpu-time measures one thread; add --threads 1")
    clock = time.process_time if options.cpu_time else time.perf_counter
    variant = VARIANTS[options.variant]
    torch.set_num_threads(options.threads)
    numba.set_num_threads(options.threads)
    warm_up(variant)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    time_of = "CPU time, one thread" if options.cpu_time else "wall time"
    print(f"{platform.machine()}, {os.cpu_count()} CPUs, load before {load}, {time_of}")
    print_peers(variant, options.threads, options.repeats, clock)
    print_growth(variant, options.threads, options.repeats, clock)


if __name__ == "__main__":
    main()
