"""The stub's candidate command: base and candidate sleep in turn, and the file says what their outputs were.

``--name`` is what the candidate does: ``quick`` sleeps a tenth as long, ``even`` as long, ``nan`` is quick and spoils
the outputs of steps 3 and 7, ``off`` is quick and far from float64, ``absent`` cannot run, ``crash`` fails.
"""

import argparse
import json
import sys
import time
from pathlib import Path

PAUSE = 0.02
QUICK = 0.1  # of it, so that a busy machine does not hide the gain
SPOILED = {"nan": (3, 7)}


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("--name", "--arm"):
        parser.add_argument(name, required=True)
    for name in ("--pairs", "--steps"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with open("measured.log", "a", encoding="utf-8") as log:  # the test's own count of what really ran
        log.write(f"{arguments.name} {arguments.arm}\n")
    if arguments.name == "absent":
        write(arguments.out, {"available": False, "reason": "the stub has no compiler"})
        return
    if arguments.name == "crash" and not Path("healed").exists():
        sys.exit("the stub was told to fail")
    write(arguments.out, measure(arguments.name, arguments.pairs, arguments.steps))


def measure(name: str, pairs: int, steps: int) -> dict:
    """Seconds that really pass, pair by pair; one output per step, some of which are not finite."""
    pause = {"base": PAUSE, "candidate": PAUSE if name in ("even", "crash") else QUICK * PAUSE}
    seconds = [dict.fromkeys(pause, 0.0) for _ in range(pairs)]
    outputs = []
    for step in range(1, steps + 1):
        for side in ("base", "candidate") if step % 2 else ("candidate", "base"):
            begin = time.perf_counter()
            time.sleep(pause[side])
            seconds[step % pairs][side] += time.perf_counter() - begin
        outputs.append(float("nan") if step in SPOILED.get(name, ()) else 0.5)
    bad = sum(value != value for value in outputs)
    error = 1.0 if name == "off" else 1e-6
    common = {"name": "output", "dtype": "float32", "nonfinite_rows": 0, "tolerance": 1e-3, "repeat_max_abs": 0.0}
    rows = [("base", 1e-6, 0), ("candidate", error, bad)]
    tensors = [
        {**common, "arm": side, "rmse_fp64": e, "max_abs_fp64": e, "max_abs_reference": e, "nonfinite_rows": n}
        for side, e, n in rows
    ]
    work = steps / pairs
    return {
        "available": True,
        "part": "collection",
        "unit": "steps",
        "pairs": [{side: {"seconds": one[side], "work": work} for side in one} for one in seconds],
        "steps": steps,
        "nonfinite_steps": {"base": 0, "candidate": bad},
        "one_off": {"cold_seconds": 1.0, "warm_seconds": 0.25} if name == "quick" else None,
        "parity": {"schema": "parity/1", "batches": steps, "rows": steps, "tensors": tensors},
    }


def write(path: Path, content: dict) -> None:
    path.write_text(json.dumps({"schema": "candidate/1", **content}))


main()
