"""Counts of the trainer file, such as games by kind of ending, summed over each run."""

from __future__ import annotations

from typing import Any

import numpy as np

from tachograph.analysis.sealed import SealedStudy


def endings(sealed: SealedStudy) -> list[dict[str, Any]]:
    """One entry per run of the blocks, baseline and repeat; [] if the trainer file names no counts."""
    counts = sealed.trainer.history.endings
    if not counts:
        return []
    found = []
    for run in sealed.of_role("baseline", "run", "aa"):
        assert run.history is not None
        history = run.history
        found.append(
            {
                "run": run.planned.key,
                "arm": run.planned.arm,
                "seed": run.planned.seed,
                "iterations": len(history.curve_rows),
                "counts": {count.name: _sum(history.curve(count.column)) for count in counts},
            }
        )
    return found


def _sum(values: Any) -> float | None:
    """The sum, as a whole number where it is one; None where a value is missing."""
    total = float(np.sum(values))
    if not np.isfinite(total):
        return None
    return int(total) if total == int(total) else total
