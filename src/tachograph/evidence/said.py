"""What a trainer says really ran (device, attention backend, path): text columns that must not change in a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tachograph.evidence.findings import Findings
from tachograph.evidence.rawrows import open_rows
from tachograph.models.trainer import HistoryFile

SHOWN = 5


def said(path: Path, history: HistoryFile, columns: Sequence[str]) -> dict[str, list[str]]:
    """For each of ``columns`` the values found, in order of appearance, at most five.

    Raises HistoryError for a damaged line.
    """
    if not columns:
        return {}
    found: dict[str, dict[str, None]] = {column: {} for column in columns}
    with path.open("rb") as stream:
        _, rows = open_rows(stream, path, history, Findings())
        for _, row in rows:
            for column, values in found.items():
                value = str(row.get(column, "absent"))
                if value not in values and len(values) < SHOWN:
                    values[value] = None
    return {column: list(values) for column, values in found.items()}
