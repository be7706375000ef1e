"""Runs a plan, one process per cell: a crash, a hang or a kernel that cannot be built costs one cell."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from machinecheck import outcome, settings
from machinecheck.errors import MachineCheckError
from machinecheck.files import read_json, write_json
from machinecheck.plan import Cell, Plan
from machinecheck.verdict import Verdict, overall

SCHEMA = "machinecheck-outcome/1"
LOG_BYTES = 4000  # of the end of a cell's log, kept in its outcome
Command = Callable[[Cell, Path], list[str]]


def command_of(cell: Cell, out: Path) -> list[str]:
    """The cell as a command that writes its record to ``out``."""
    program = [sys.executable, "-m", "machinecheck", "cell", cell.kind, cell.operation]
    return [*program, *settings.arguments_of(cell.settings), f"--out={out}"]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@contextlib.contextmanager
def ending_with_us() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP raise SystemExit, so that the running cell is ended as well."""

    def leave(number: int, _frame: object) -> None:
        raise SystemExit(128 + number)

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run_cell(cell: Cell, folder: Path, limit: float, command: Command = command_of) -> dict[str, Any]:
    """Run one cell and write ``folder/cells/NAME.json``: its outcome, with its record if it left one."""
    record_path, log_path = folder / "records" / f"{cell.name}.json", folder / "logs" / f"{cell.name}.log"
    for path in (record_path, log_path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
    started = time.monotonic()
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command(cell, record_path),
            env=dict(os.environ) | cell.environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            close_fds=False,  # an inherited lock on the device stays held for as long as the cell lives
        )
        try:
            code: int | None = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            _end(process)
    text = log_path.read_text(encoding="utf-8", errors="replace")
    record = read_json(record_path) if record_path.exists() else None
    judged = outcome.classify(code, record, text, limit)
    result = {
        "schema": SCHEMA,
        "cell": cell.name,
        "kind": cell.kind,
        "operation": cell.operation,
        "settings": cell.settings,
        "arm": cell.arm,
        "environment": cell.environment,
        "digest": cell.digest(),
        "outcome": judged.outcome,
        "verdict": judged.verdict,
        "reasons": judged.reasons,
        "signal": judged.signal,
        "exit_code": code,
        "seconds": time.monotonic() - started,
        "record": record,
        "log_end": text[-LOG_BYTES:],
    }
    write_json(folder / "cells" / f"{cell.name}.json", result)
    record_path.unlink(missing_ok=True)
    return result


def kept(cell: Cell, folder: Path) -> dict[str, Any] | None:
    """The outcome of an earlier run of this very cell, whatever it was; delete its file to run it again."""
    path = folder / "cells" / f"{cell.name}.json"
    if not path.exists():
        return None
    result = read_json(path)
    return dict(result) if result.get("digest") == cell.digest() else None


def summary(cells: Sequence[Cell], outcomes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Verdict over all planned cells, and for each arm and kind; cells that did not run are INCOMPLETE."""
    names = {cell.name for cell in cells}
    outcomes = [row for row in outcomes if row["cell"] in names]
    verdicts = {row["cell"]: Verdict(row["verdict"]) for row in outcomes}
    seen = {row["cell"]: row["outcome"] for row in outcomes}

    def over(chosen: list[Cell]) -> Verdict:
        return overall([cell.name for cell in chosen], verdicts)

    return {
        "schema": "machinecheck-summary/1",
        "verdict": over(list(cells)),
        "by_arm": {arm: over([c for c in cells if c.arm == arm]) for arm in dict.fromkeys(c.arm for c in cells)},
        "by_kind": {kind: over([c for c in cells if c.kind == kind]) for kind in dict.fromkeys(c.kind for c in cells)},
        "planned": len(cells),
        "outcomes": dict(Counter(seen.get(cell.name, outcome.NOT_RUN) for cell in cells)),
        "not_run": [cell.name for cell in cells if cell.name not in seen],
        "not_passed": {
            row["cell"]: {"verdict": row["verdict"], "outcome": row["outcome"], "reasons": row["reasons"]}
            for row in outcomes
            if row["verdict"] != Verdict.PASS
        },
        "planted_faults": sorted({row["record"]["fault"] for row in outcomes if _fault(row)}),
    }


def _fault(row: dict[str, Any]) -> str | None:
    record = row["record"]
    return None if record is None else record["fault"]


def run_plan(
    plan: Plan, folder: Path, say: Callable[[str], None] = print, command: Command = command_of
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run all cells in order, keep what is there already, stop at the time for all; write ``summary.json``.

    Returns the summary and the outcomes.

    A cell that the time for all cut short counts as not run.
    """
    if folder.exists() and not folder.is_dir():
        raise MachineCheckError(f"{folder}: found a file, expected a folder for the results")
    end = None if plan.total_seconds is None else time.monotonic() + plan.total_seconds
    outcomes = []
    for cell in plan.cells:
        result = kept(cell, folder)
        if result is None:
            left = cell.seconds if end is None else min(cell.seconds, end - time.monotonic())
            if left <= 0:
                say(f"{outcome.NOT_RUN:>14}  {cell.name}")
                continue
            result = run_cell(cell, folder, left, command)
            if result["outcome"] == outcome.TIMED_OUT and left < cell.seconds:
                # cut short by the time for all, not by its own limit: another run may finish it
                (folder / "cells" / f"{cell.name}.json").unlink()
                say(f"{outcome.NOT_RUN:>14}  {cell.name}")
                continue
        outcomes.append(result)
        say(f"{result['verdict']:>10} {result['seconds']:6.1f} s  {cell.name}")
        for reason in result["reasons"]:
            say(f"{'':>21}{reason}")
    found = summary(plan.cells, outcomes)
    write_json(folder / "summary.json", found)
    return found, outcomes
