"""A trainer that sleeps: real process, real history, seconds instead of minutes.

STUB_PATH names the arm (fast halves the pause), STUB_PAUSE the seconds per iteration, STUB_EXIT a code with which it
ends at its second iteration. A file ``faults/ARM`` in the
working directory plants a fault for the next run of that arm without changing what determines the run.
"""

import argparse
import os
import random
import signal
import sys
import time
from pathlib import Path

from tachograph.instrument import HistoryWriter, NonFiniteError

NOT_FINITE = 4  # as the trainer file declares it


def fault(arm: str, seed: int) -> str:
    """The fault that a test has planted for this arm, nothing if none is; of several words the seed chooses one.

    One of ``exit``, ``kill``, ``short``, ``nan``, ``null``, and ``silent``: it fails before its first row.
    """
    file = Path("faults") / arm
    words = file.read_text().split() if file.exists() else []
    return words[seed % len(words)] if words else ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--scale", type=float, default=1.0)
    arguments = parser.parse_args()
    arm = os.environ["STUB_PATH"]
    pause = float(os.environ.get("STUB_PAUSE", "0.01")) / (2 if arm == "fast" else 1)
    planted = fault(arm, arguments.seed)
    with open("trained.log", "a", encoding="utf-8") as log:  # the test's own count of what really ran
        log.write(f"{arm} {arguments.seed} {arguments.iterations}\n")
    if planted == "silent":
        sys.exit("the stub was told to fail")
    generator = random.Random(arguments.seed)
    with HistoryWriter(arguments.out / "history.jsonl") as history:
        for iteration in range(1, arguments.iterations + 1):
            if planted == "short" and iteration == arguments.iterations:
                return
            if iteration == 2 and "STUB_EXIT" in os.environ:
                sys.exit(int(os.environ["STUB_EXIT"]))
            if iteration == 2:
                if planted == "exit":
                    sys.exit("the stub was told to fail")
                if planted == "kill":
                    os.kill(os.getpid(), signal.SIGKILL)
            start = time.monotonic()
            time.sleep(pause)
            seconds = time.monotonic() - start
            loss: float | None = arguments.scale / iteration + 0.01 * generator.random()
            if planted == "nan" and iteration == 4:
                loss = float("nan")
            if planted == "null" and iteration == 4:
                loss = None
            history.write(
                {
                    "iteration": iteration,
                    "steps": 1000,
                    "collection_seconds": seconds,
                    "iteration_seconds": seconds,
                    "loss": loss,
                    "device": "cpu",
                }
            )


try:
    main()
except NonFiniteError as error:
    print(error, file=sys.stderr)
    sys.exit(NOT_FINITE)
