"""Are two histories the same, bit for bit, in the columns that are compared?"""

from __future__ import annotations

from typing import Any

import numpy as np

from tachograph.analysis.sealed import SealedRun
from tachograph.evidence.columns import Missing

COMPARABLE = (Missing.PRESENT, Missing.NULL)


def identical(run: SealedRun, other: SealedRun, columns: list[str]) -> dict[str, Any]:
    """``{"identical", "columns", "first_difference": {"iteration", "column", "values"} or None}``.

    Bytes are compared, so that −0 and 0 differ. Rows that both lack a cell are the same in it if the column holds a
    number in other rows; text, or a column that no row has, cannot be compared and never passes for the same.
    """
    assert run.history is not None
    assert other.history is not None
    a, b = run.history, other.history
    if not np.array_equal(a.iteration, b.iteration):
        rows = {"iteration": None, "column": "number of iterations", "values": [len(a), len(b)]}
        return {"identical": False, "columns": columns, "first_difference": rows}
    first: dict[str, Any] | None = None
    for column in columns:
        same = a.columns[column].view(np.uint64) == b.columns[column].view(np.uint64)
        kinds = a.missing[column]
        comparable = (*COMPARABLE, Missing.ABSENT) if (kinds == Missing.PRESENT).any() else COMPARABLE
        same &= (kinds == b.missing[column]) & np.isin(kinds, comparable)
        row = int(np.argmin(same)) if len(same) else 0
        if len(same) and not same[row] and (first is None or a.iteration[row] < first["iteration"]):
            values = [_cell(a.columns[column][row]), _cell(b.columns[column][row])]
            first = {"iteration": int(a.iteration[row]), "column": column, "values": values}
    return {"identical": first is None, "columns": columns, "first_difference": first}


def _cell(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
