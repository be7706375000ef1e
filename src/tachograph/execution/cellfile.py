"""What is left of a cell of a machine study: how its process ended, its last words, and what it measured.

A crash, a hang or a kernel that cannot be built is a result of such a cell, so it is written down like one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.execution.outcome import Outcome
from tachograph.files import read_json
from tachograph.study.planning import PlannedRun

MEASURED = "measured.json"  # what the process itself writes, beside the file made here
KEPT = ("collect_env.txt",)  # torch's own report, which the probe leaves beside its file


def cell_file(planned: PlannedRun, outcome: Outcome, measured: Path, last_words: str) -> dict[str, Any]:
    """``cell/1``: facts alone; what became of the cell and its verdict are judged from them later."""
    record, unreadable = None, None
    if measured.is_dir():
        unreadable = f"{measured}: found a folder, expected a file"
    elif measured.exists():
        try:
            record = read_json(measured)
            if not isinstance(record, dict):
                record, unreadable = None, f"{measured}: found {str(record)[:60]!r}, expected a JSON object"
        except TachographError as error:
            unreadable = str(error)
    return {
        "schema": "cell/1",
        "cell": planned.arm,
        "ended": {
            "status": outcome.status,
            "exit_code": outcome.exit_code,
            "signal": outcome.signal,
            "reason": outcome.reason,
            "oom_kills": outcome.oom_kills,
            "seconds": outcome.ended_monotonic - outcome.started_monotonic,
            "limit_seconds": planned.max_hold_seconds,
            "started": outcome.started,
        },
        "said": last_words,
        "record": record,
        "unreadable": unreadable,
    }
