"""The file of a training's metrics, and where a resumed training takes it up."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lost_cities.errors import LostCitiesError, NonFiniteTrainingError
from tachograph.instrument import HistoryWriter, NonFiniteError

METRICS = "metrics.jsonl"


def open_metrics(path: Path, resume: bool) -> HistoryWriter:
    """The writer of ``path``, which must not hold a row unless a training is resumed."""
    if path.parent.exists() and not path.parent.is_dir():
        raise LostCitiesError(f"{path.parent} is a file, expected a folder or none yet")
    try:
        return HistoryWriter(path, resume=resume or (path.is_file() and path.stat().st_size == 0))
    except FileExistsError:
        raise LostCitiesError(f"{path} exists already, expected a new folder or --resume") from None
    except OSError as error:
        raise LostCitiesError(f"{path} cannot be written: {error.strerror}") from None


def write_row(metrics: HistoryWriter, path: Path, row: dict[str, Any]) -> None:
    """Append ``row`` to ``path``. :class:`LostCitiesError` if the disk refuses it, and a torn row may be its end then;
    :class:`NonFiniteTrainingError` if a number in it is not finite."""
    try:
        metrics.write(row)
    except OSError as error:
        raise LostCitiesError(
            f"{path} cannot be written: {error.strerror or error}; --resume goes on from the last checkpoint"
        ) from None
    except NonFiniteError as error:
        raise NonFiniteTrainingError(str(error)) from None


def take_up(path: Path, iteration: int) -> bool:
    """Keep the rows up to ``iteration``, whose state the checkpoint holds; the rest is computed again.

    Returns whether the row of ``iteration`` itself is there: a training killed between its checkpoint and its row
    lacks it. :class:`LostCitiesError` if an earlier row is missing or damaged.
    """
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as error:
        raise LostCitiesError(f"{path} cannot be read: {error.strerror}, expected the metrics to resume") from None
    kept = 0
    for number, line in enumerate(lines[:iteration], start=1):
        found = _iteration_of(line)
        if found != number and not (number == iteration and found is None):
            raise LostCitiesError(f"{path}, line {number}: found iteration {found}, expected {number}")
        kept += found is not None
    if kept < iteration - 1:
        raise LostCitiesError(f"{path} ends at iteration {kept}, expected {iteration} as in the checkpoint")
    if len(lines) > kept:
        temporary = path.with_name(path.name + ".part")
        temporary.write_bytes(b"".join(lines[:kept]))
        os.replace(temporary, path)
    return kept == iteration


def _iteration_of(line: bytes) -> Any:
    """The iteration of a whole line, None for a torn or foreign one."""
    try:
        return json.loads(line)["iteration"] if line.endswith(b"\n") else None
    except (ValueError, KeyError, TypeError):
        return None
