"""A trainer without a network, for tests: writes the files of a real one, from seeded numbers, in a moment.

It does real work (it sleeps for a stated time per iteration, twice as long on the reference path), so that rates
are measured and not invented. Usage: ``stub_trainer.py train|profile|component|parity --out PATH …``
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from pathlib import Path

from tachograph.instrument import HistoryWriter, StageTimer

STEPS = 640
SLOWNESS = {"reference": 2.0, "fast": 1.0}
ENDINGS = ("endings_flag", "endings_no_moves", "endings_battleless", "endings_ply_cap")


def train(options: argparse.Namespace, path: str, pause: float) -> None:
    """Iterations with durations that pass on the clock; the curves depend on seed and path alone."""
    random_numbers = random.Random(f"{options.seed}")
    path_noise = random.Random(f"{options.seed} {path}")
    with HistoryWriter(options.out / "history.jsonl") as history:
        for iteration in range(1, options.iterations + 1):
            begin = time.monotonic()
            time.sleep(pause * SLOWNESS[path])
            collected = time.monotonic()
            time.sleep(pause / 2)
            updated = time.monotonic()
            wobble = 0.0 if path == "reference" else path_noise.gauss(0, 0.002)
            games = random_numbers.randint(20, 30)
            kinds = [random_numbers.randint(0, games // 4) for _ in ENDINGS]
            if os.environ.get("STUB_FAIL") == f"{path} {options.seed}" and iteration == 2:
                sys.exit("stub: error: told to fail")
            history.write(
                {
                    "iteration": iteration,
                    "steps": STEPS,
                    "collection_seconds": collected - begin,
                    "move_update_seconds": updated - collected,
                    "iteration_seconds": time.monotonic() - begin,
                    "policy_loss": random_numbers.gauss(-0.01, 0.005) + wobble,
                    "entropy": 3.0 - 0.05 * iteration + random_numbers.gauss(0, 0.02) + wobble,
                    "kept": random_numbers.randint(300, 500),
                    "games_finished": games,
                    "device": options.device,
                    "path": path,
                    **dict(zip(ENDINGS, kinds, strict=True)),
                }
            )


def profile(options: argparse.Namespace, path: str, pause: float) -> None:
    """A stage profile of the loop above, with synchronise brackets that have nothing to wait for."""
    timer = StageTimer(lambda: None)
    for _ in range(options.steps):
        with timer.step():
            with timer.stage("move network forward", group="network"):
                time.sleep(pause * SLOWNESS[path] / 20)
            with timer.stage("env.step", group="environment"):
                time.sleep(pause / 100)
    begin = time.monotonic()
    for _ in range(options.steps):
        time.sleep(pause * SLOWNESS[path] / 20)
        time.sleep(pause / 100)
    write(
        options.out,
        {
            "schema": "profile/1",
            "path": path,
            "device": options.device,
            "unit": "environment steps",
            "work_per_step": 32,
            "steps": options.steps,
            "warmup_steps": 0,
            "synchronized": True,
            "total_seconds": timer.total_seconds,
            "stages": timer.stages(),
            "uninstrumented": {"steps": options.steps, "seconds": time.monotonic() - begin},
        },
    )


def component(options: argparse.Namespace) -> None:
    """The rate of one part alone."""
    begin = time.monotonic()
    total = sum(range(200_000))
    seconds = time.monotonic() - begin
    rate = {"name": "step", "unit": "environment steps/s", "value": 200_000 / seconds, "seconds": seconds}
    write(options.out, {"schema": "component/1", "name": "engine", "rates": [{**rate, "work": 200_000}], "sum": total})


def parity(options: argparse.Namespace) -> None:
    """Errors of both arms against float64, as a real trainer would measure them."""
    common = {"name": "policy logits", "dtype": "float32", "nonfinite_rows": 0, "tolerance": 1e-3}
    tensors = [
        {"arm": "reference", **common, "rmse_fp64": 1e-6, "max_abs_fp64": 4e-6, "max_abs_reference": 0.0},
        {"arm": "fast", **common, "rmse_fp64": 1.5e-6, "max_abs_fp64": 7e-6, "max_abs_reference": 5e-6},
    ]
    for tensor in tensors:
        tensor["repeat_max_abs"] = 0.0
    write(options.out, {"schema": "parity/1", "device": options.device, "batches": 20, "rows": 640, "tensors": tensors})


def write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, allow_nan=False), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["train", "profile", "component", "parity"])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--iterations", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    path = os.environ.get("STUB_PATH", "reference")
    pause = float(os.environ.get("STUB_PAUSE", "0.02"))
    if options.what == "train":
        train(options, path, pause)
    elif options.what == "profile":
        profile(options, path, pause)
    elif options.what == "component":
        component(options)
    else:
        parity(options)


main()
