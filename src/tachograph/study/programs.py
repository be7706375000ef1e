"""Are the programs there that the commands of a study begin with? Asked when it is planned, not after hours."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.models.trainer import PLACEHOLDER
from tachograph.study.planning import COMPONENT, SWEEP, PlannedRun


def refuse_missing_programs(planned: Iterable[PlannedRun], root: Path, file: str) -> None:
    """Raise TachographError for a planned run whose program is not there; ``file`` is what names the program.

    A program is {python}, a path (relative to ``root``, the working directory of runs) or a name on its PATH.
    """
    for run in planned:
        for one in [run, run.changed()] if run.in_turn else [run]:
            program = one.command[0]
            if PLACEHOLDER.search(program) or _is_there(program, one.environment, root):
                continue
            where = "an executable file" if "/" in program else "on PATH"
            raise TachographError(
                f"{file}: {_key(run)}[0]: found {program!r}, which is not {where}, expected {{python}}, the name of a "
                f"program on PATH, or the path of one (for {run.key})"
            )


def _is_there(program: str, environment: dict[str, str], root: Path) -> bool:
    if "/" in program:
        path = root / program
        return path.is_file() and os.access(path, os.X_OK)
    return shutil.which(program, path=environment.get("PATH")) is not None


def _key(run: PlannedRun) -> str:
    """The key of the trainer or checker file that holds the command of a run."""
    if run.role == "profile":
        return run.arm if run.arm in (COMPONENT, SWEEP) else "profile"
    if run.role in ("cell", "parity") or (run.role == "candidate" and not run.in_turn):
        return run.role
    return "command"
