"""How long reading a history takes, and in how much memory.

    python benchmarks/read_history.py [--rows 1000000]

writes a history of 23 keys a row, as the armies trainer does, reads it and prints process CPU time (one
thread), the peak of resident memory beyond what the imports take, and the size of the file.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from pathlib import Path

from tachograph.evidence.history import Counter, HistorySpec, read_history

STAGES = ("collection", "move_update", "setup_update", "iteration")
SPEC = HistorySpec(
    work=Counter("steps"),
    work_unit="environment steps",
    durations={name: Counter(f"{name}_seconds") for name in STAGES},
    metrics=("policy_loss", "entropy", "kept"),
    zero_work=("kept",),
    monotonic="monotonic",
    wall="wall",
)


def write(path: Path, rows: int) -> None:
    row = {
        "steps": 3200, "policy_loss": -0.0123456, "value_loss": 0.512345, "entropy": 2.912345, "kept": 800,
        "filter_threshold": 0.01, "games_finished": 20, "mean_plies": 80.5, "endings_flag": 3,
        "endings_no_moves": 0, "endings_battleless": 1, "endings_ply_cap": 0, "setup_loss": 0.123456,
        "device": "cpu", "attention": "math", "path": "reference",
        **{f"{name}_seconds": 0.4123456 for name in STAGES},
    }  # fmt: skip
    with path.open("w") as file:
        for i in range(rows):
            file.write(json.dumps({"iteration": i + 1, **row, "monotonic": 2.0 * i, "wall": 1e9 + 2 * i}) + "\n")


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "history.jsonl"
        write(path, rows)
        before, began = peak_mib(), time.process_time()
        history = read_history(path, SPEC)
        seconds = time.process_time() - began
        size = path.stat().st_size / 1e6
    print(
        f"{len(history):,} rows, {size:.0f} MB: {seconds:.1f} s of CPU time, "
        f"{peak_mib() - before:.0f} MiB of memory at the peak"
    )


if __name__ == "__main__":
    main()
