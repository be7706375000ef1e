"""Why a study compares nothing at all: what it asked of the machine is not repeated, not right, or not measured.

Prove that a reference repeats before anything is compared with it (document 003; cases.md, D22).
"""

from __future__ import annotations

from typing import Any

from tachograph.analysis.sealed import SealedStudy
from tachograph.machine.cells import preflight_cells
from tachograph.machine.measured import measured_cells
from tachograph.machine.reference import checks_of
from tachograph.models.machine import Quiet


def machine_checks(sealed: SealedStudy) -> list[dict[str, Any]]:
    """One check per cell that the study asks of the machine; none where it asks nothing."""
    asked = sealed.study.machine
    if asked is None:
        return []
    return checks_of(measured_cells(sealed, preflight_cells(asked), asked.bounds, Quiet(), {}))


def comparison_refused(sealed: SealedStudy) -> str | None:
    """The sentence that stands in the place of every comparison, or None where comparing is allowed."""
    against = [check for check in machine_checks(sealed) if check["verdict"] != "PASS"]
    if not against:
        return None
    more = f" and {len(against) - 1} more" if len(against) > 1 else ""
    return f"nothing is compared: {against[0]['arm']}: {against[0]['detail']}{more}"
