"""From cells to planned runs: one process each, under the lease, with its own identity and time limit."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tachograph.machine.cells import PROBE, Cell
from tachograph.models.base import Scalar
from tachograph.models.checker import Checker
from tachograph.study.planning import DeviceKind, PlannedRun, fill, identified


def usable_processors() -> int:
    """Processors that this process, and therefore a cell, may run on."""
    return len(os.sched_getaffinity(0))


def plan_cells(
    study: str, cells: Sequence[Cell], checker: Checker, device_kind: DeviceKind, code: str, threads: int
) -> list[PlannedRun]:
    """The planned runs of ``cells``, in their order; ``code`` is the fingerprint of the checker's code."""
    runs = []
    for position, cell in enumerate(cells):
        seed = cell.settings.get("seed", 0)
        runs.append(
            identified(
                PlannedRun(
                    study=study,
                    role="cell",
                    arm=cell.name,
                    seed=seed if isinstance(seed, int) else 0,
                    block=None,
                    position=position,
                    amount=1,
                    command=tuple(_command(cell, checker)),
                    environment=cell.environment,
                    clear_environment=tuple(checker.clear_environment),
                    threads=threads,
                    device_kind=device_kind,
                    code=code,
                    max_hold_seconds=cell.seconds,
                    identity="",
                )
            )
        )
    return runs


def _command(cell: Cell, checker: Checker) -> list[str]:
    if cell.kind == PROBE:
        return list(checker.probe)
    values: dict[str, Scalar] = {"kind": cell.kind, "operation": cell.operation}
    if cell.place == "host":
        values["device"] = "cpu"
    return [*(fill(part, values) for part in checker.cell), *(_argument(*one) for one in cell.settings.items())]


def _argument(name: str, value: Scalar) -> str:
    flag = name.replace("_", "-")
    if isinstance(value, bool):
        return f"--{flag}" if value else f"--no-{flag}"
    return f"--{flag}={value}"
