"""A cell of the shipped small study in a process of its own, judged by the engine."""

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
from tachograph.study.loading import load_study
from tachograph.study.planning import resolve_command

STUDY, CHECKER = load_study(Path(__file__).parents[2] / "config", "machine-cpu")
CELLS = study_cells(STUDY, CHECKER)


def run_cell(cell, planned, folder, limit=60, threads="1"):
    """The cell as the workflow would have it, but for the lease: its ending and what it left, judged."""
    out = folder / f"{cell.name}.json"
    command = resolve_command(planned, out=str(out), device="cpu")
    variables = {**os.environ, "OMP_NUM_THREADS": threads, "PYTHONPATH": os.pathsep.join(sys.path), **cell.environment}
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
