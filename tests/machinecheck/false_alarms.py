"""Clean cells of the shipped small study, again and again, each in a process of its own and with data of its own.

    python tests/machinecheck/false_alarms.py [--repetitions 20]

Every correctness and repeatability cell, in every environment, with seeds 0 to N-1, judged by the
engine with the study's bounds. Prints a line for each that is not PASS and one per repetition, then the rate that N
clean runs without an alarm do not exclude (95 %, 3/n). Exit code 1 with an alarm.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from own_process import CELLS, CHECKER, run_cell

from tachograph.machine.planning import plan_cells
from tachograph.machine.repeats import upper_bound
from tachograph.machine.verdict import Verdict

KINDS = ("correctness", "repeatability")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    repetitions = parser.parse_args().repetitions
    clean = [cell for cell in CELLS if cell.kind in KINDS and cell.fault is None]
    processors = len(os.sched_getaffinity(0))
    alarms = 0
    for seed in range(repetitions):
        cells = [replace(cell, settings={**cell.settings, "seed": seed}) for cell in clean]
        runs = plan_cells("clean", cells, CHECKER, "cpu", "0", processors)
        with tempfile.TemporaryDirectory() as folder:
            found = [
                run_cell(cell, run, Path(folder), 300, str(processors)) for cell, run in zip(cells, runs, strict=True)
            ]
        bad = [one for one in found if one.verdict is not Verdict.PASS]
        for one in bad:
            print(f"seed {seed}: {one.cell.name}: {one.outcome}, {one.verdict}: {'; '.join(one.reasons)}", flush=True)
        alarms += len(bad)
        print(f"repetition {seed + 1} of {repetitions}: {len(cells) - len(bad)} of {len(cells)} PASS", flush=True)
    total = repetitions * len(clean)
    print(f"{alarms} alarms in {total} clean cells of {repetitions} repetitions.")
    if not alarms:
        print(
            f"Not excluded: an alarm in up to {upper_bound(repetitions):.1%} of the repetitions, in up to "
            f"{upper_bound(total):.2%} of the cells (95 %, 3/n)."
        )
    return 1 if alarms else 0


if __name__ == "__main__":
    sys.exit(main())
