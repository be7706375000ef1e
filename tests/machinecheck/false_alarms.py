"""Clean cells of the shipped small study, again and again, each in a process of its own and with data of its own.

    python tests/machinecheck/false_alarms.py [--repetitions 20]

Every cell without a planted fault, in every environment, with seeds 0 to N-1, judged by the engine with the
study's bounds. An alarm is a cell that is not PASS; of throughput and soak it is one that fails or did not run, as
their warnings (a window that was not steady, a host that was not quiet) are findings about the host of that minute.
Prints a line for each cell that is not PASS and one per repetition, then the rate that N clean runs without an alarm
do not exclude (95 %, 3/n). Exit code 1 with an alarm.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from own_process import CELLS, CHECKER, run_cell

from tachograph.machine.cells import Cell
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.planning import plan_cells
from tachograph.machine.repeats import upper_bound
from tachograph.machine.verdict import Verdict

HOST_MAY_WARN = ("throughput", "soak")


def is_alarm(found: MeasuredCell) -> bool:
    """Whether the verdict accuses a machine that is right."""
    clean = {Verdict.PASS, Verdict.WARN} if found.cell.kind in HOST_MAY_WARN else {Verdict.PASS}
    return found.verdict not in clean


def with_seed(cell: Cell, seed: int) -> Cell:
    """The cell with data of its own, where its operation draws any (the rate of a product does not)."""
    takes = "seed" in CHECKER.operations.get(cell.kind, {}).get(cell.operation, ())
    return replace(cell, settings={**cell.settings, "seed": seed}) if takes else cell


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=20)
    repetitions = parser.parse_args().repetitions
    clean = [cell for cell in CELLS if cell.fault is None]
    processors = len(os.sched_getaffinity(0))
    alarms = 0
    for seed in range(repetitions):
        cells = [with_seed(cell, seed) for cell in clean]
        runs = plan_cells("clean", cells, CHECKER, "cpu", "0", processors)
        with tempfile.TemporaryDirectory() as folder:
            found = [
                run_cell(cell, run, Path(folder), 300, str(processors)) for cell, run in zip(cells, runs, strict=True)
            ]
        told = [one for one in found if one.verdict is not Verdict.PASS]
        for one in told:
            print(f"seed {seed}: {one.cell.name}: {one.outcome}, {one.verdict}: {'; '.join(one.reasons)}", flush=True)
        raised = sum(map(is_alarm, found))
        alarms += raised
        warned = len(told) - raised
        print(
            f"repetition {seed + 1} of {repetitions}: {len(cells) - len(told)} of {len(cells)} PASS, "
            f"{warned} warned of the host, {raised} alarms",
            flush=True,
        )
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
