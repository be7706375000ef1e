"""Every fault that the shipped small study plants is caught, each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tachograph.execution.outcome import judge as judge_ending
from tachograph.execution.outcome import signal_name
from tachograph.files import read_json
from tachograph.machine.cells import study_cells
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import judge_cell
from tachograph.machine.planning import plan_cells
from tachograph.machine.selftest import selftest
from tachograph.study.loading import load_study
from tachograph.study.planning import resolve_command

STUDY, CHECKER = load_study(Path(__file__).parents[2] / "config", "machine-cpu")


def run_cell(cell, planned, folder, limit=60):
    """The cell as the workflow would have it, but for the lease: its ending and what it left, judged."""
    out = folder / f"{cell.name}.json"
    command = resolve_command(planned, out=str(out), device="cpu")
    variables = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path), **cell.environment}
    try:
        done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=limit, check=False)
        code, said, cause = done.returncode, (done.stderr.strip().splitlines() or [""])[-1], ""
    except subprocess.TimeoutExpired:
        code, said, cause = -9, "", "time limit"
    status, reason = judge_ending(cause, code, cell.seconds)
    ended = {"status": status, "exit_code": code if code >= 0 else None, "signal": signal_name(code)}
    ended |= {"reason": reason, "oom_kills": 0, "limit_seconds": cell.seconds, "started": True}
    record = read_json(out) if out.exists() else None
    file = {"ended": ended, "said": said, "record": record, "unreadable": None}
    judged = judge_cell(cell, file, STUDY.bounds, STUDY.peaks)
    return MeasuredCell(cell, judged.outcome, judged.verdict, judged.reasons, record)


def test_every_planted_fault_is_caught(tmp_path):
    """Wrong element, NaN, race, missing synchronisation, wrong A@A.T, kernel, crash: caught, the hang apart."""
    cells = study_cells(STUDY, CHECKER)
    runs = plan_cells("x", cells, CHECKER, "cpu", "0", 1)
    planted = [
        run_cell(cell, planned, tmp_path)
        for cell, planned in zip(cells, runs, strict=True)
        if cell.fault and cell.fault != "hang"
    ]
    found = selftest(planted, CHECKER.faults)
    assert {row["fault"]: row["verdict"] for row in found["rows"]} == {
        fault: "INCOMPLETE" if fault == "hang" else "PASS" for fault in CHECKER.faults
    }, found["rows"]


def test_a_hang_is_ended_at_its_limit(tmp_path):
    """The planted hang does not end by itself; its time limit is its result."""
    cells = study_cells(STUDY, CHECKER)
    runs = plan_cells("x", cells, CHECKER, "cpu", "0", 1)
    (found,) = [run_cell(c, r, tmp_path, 8) for c, r in zip(cells, runs, strict=True) if c.fault == "hang"]
    assert (found.outcome, found.verdict) == ("time limit", "INCOMPLETE")
