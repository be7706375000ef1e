"""What the record tells of a history that was read: the ingest report, and what in it is a deviation."""

from __future__ import annotations

from typing import Any

from tachograph.evidence.findings import Kind
from tachograph.evidence.history import History

# Findings that touch a number of the record; the others only describe the file.
DEVIATIONS = frozenset(
    {
        Kind.TORN_TAIL, Kind.NUL_PADDING, Kind.HEADER_CHANGED, Kind.NON_FINITE, Kind.NOT_A_NUMBER,
        Kind.SCHEMA_CHANGE, Kind.REPEATED, Kind.CONFLICT, Kind.SESSION, Kind.MISSING, Kind.INVALID_CLOCK,
        Kind.WALL_CLOCK, Kind.CLOCK_STEP, Kind.COARSE_CLOCK,
    }
)  # fmt: skip


def ingest_report(history: History) -> dict[str, Any]:
    """The report as plain JSON values: file, rows, segments, every finding, all counts."""
    return {
        "sha256": history.sha256,
        "bytes": history.size,
        "rows": len(history),
        "iterations": len(history.curve_rows),
        "wasted_iterations": history.wasted,
        "segments": [
            {
                "rows": s.stop - s.start,
                "first_iteration": s.first_iteration,
                "last_iteration": s.last_iteration,
                "reason": s.reason,
            }
            for s in history.segments
        ],
        "findings": [{"kind": f.kind.value, "line": f.line, "sentence": f.sentence} for f in history.findings],
        "counts": {kind.value: count for kind, count in history.counts.items()},
    }
