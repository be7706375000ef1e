"""What each step of the armies trainer's fast path is worth, alone and together, in one process.

    python benchmarks/paths.py [--preset NAME] [--rounds N] [--plies N] [--path NAME …]

Every round runs one collection, one update and one update of the set-ups of every path, in a shuffled order, on
trainings of the same seed. Times are CPU time of the process: run it with one thread (``OMP_NUM_THREADS=1
NUMBA_NUM_THREADS=1``), and the other programs of the machine disturb it least. Printed per path: milliseconds per
ply of all games, milliseconds per kept transition, seconds of a whole iteration of the preset at a quarter kept
(the parts scaled up to it), and the factors over the reference: median of the rounds' ratios, with a 95 % interval
of the median (order statistics of the binomial distribution).
"""

from __future__ import annotations

import argparse
import random
import time

import numpy as np
from scipy.stats import binom
from tabulate import tabulate

from armies.paths import STEPS, path_named, prepare_environment

prepare_environment(path_named("fast"))

import torch  # noqa: E402  (after the environment is prepared)

from armies.presets import preset_named  # noqa: E402
from armies.setup_network import update_setups  # noqa: E402
from armies.trainer import Trainer, make_trainer  # noqa: E402
from armies.update import update_moves  # noqa: E402

ALONE = ("flash", "fp32", "legal", "table", "legal+rows", "fp32+products", "lean")
TOGETHER = tuple("+".join(list(STEPS)[: n + 1]) for n in range(1, len(STEPS) - 1))
PATHS = ("reference", *ALONE, *TOGETHER, "fast", "fused")


def median_interval(ratios: np.ndarray) -> str:
    """Median of the ratios, and the order statistics that hold it with at least 95 %."""
    n = len(ratios)
    ordered = np.sort(ratios)
    below = int(binom.ppf(0.025, n, 0.5))
    if binom.cdf(below - 1, n, 0.5) > 0.025 or below == 0:
        return f"{np.median(ratios):.2f} [too few rounds]"
    return f"{np.median(ratios):.2f} [{ordered[below - 1]:.2f}, {ordered[n - below]:.2f}]"


def measure(trainer: Trainer, plies: int) -> tuple[float, float, float]:
    """CPU seconds of collecting ``plies`` plies, of updating on them (per kept transition), and of the set-ups."""
    times = [time.process_time()]
    rollout = trainer.collector.collect(trainer.collecting_network(), plies, trainer.setups)
    times.append(time.process_time())
    learning = trainer.preset.learning
    report = update_moves(trainer.network, trainer.optimizer, rollout, learning, trainer.path, trainer.shuffle)
    times.append(time.process_time())
    played = trainer.setups.take_played(trainer.device)
    update_setups(trainer.setup_network, trainer.setup_optimizer, played, learning)
    trainer.setups.write_next(trainer.games, trainer.setup_network, trainer.sampling)
    times.append(time.process_time())
    collected, updated, set_up = np.diff(times)
    return collected, updated / max(report.kept, 1), set_up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--preset", default="cpu")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--plies", type=int, default=10, help="per collection (default: 10)")
    parser.add_argument("--path", nargs="+", default=list(PATHS))
    options = parser.parse_args()
    preset = preset_named(options.preset)
    names = ["reference", *(name for name in options.path if name != "reference")]
    trainers = {name: make_trainer(preset, path_named(name), 0, "cpu") for name in names}
    seconds: dict[str, list[tuple[float, float, float]]] = {name: [] for name in names}
    for trainer in trainers.values():
        measure(trainer, options.plies)  # the first round warms up
    for _ in range(options.rounds):
        for name in random.sample(names, len(names)):
            seconds[name].append(measure(trainers[name], options.plies))
    times = {name: np.array(rows) for name, rows in seconds.items()}
    iteration = {  # an iteration of the preset at a quarter kept
        name: rows @ [preset.steps / options.plies, preset.transitions / 4, 1] for name, rows in times.items()
    }
    print(
        f"preset {preset.name}, {options.rounds} rounds of {options.plies} plies, "
        f"{torch.get_num_threads()} threads, CPU time"
    )
    print(
        tabulate(
            [
                [
                    name,
                    1e3 * times[name][:, 0].min() / options.plies,
                    median_interval(times["reference"][:, 0] / times[name][:, 0]),
                    1e3 * times[name][:, 1].min(),
                    median_interval(times["reference"][:, 1] / times[name][:, 1]),
                    iteration[name].min(),
                    median_interval(iteration["reference"] / iteration[name]),
                ]
                for name in names
            ],
            [
                "path", "collection: ms/ply (min)", "factor", "update: ms/kept (min)", "factor",
                "iteration: s (min)", "factor",
            ],
            floatfmt=".2f",
            tablefmt="github",
        )
    )  # fmt: skip


if __name__ == "__main__":
    main()
