"""The cells of a study with what became of each: the rows that everything else here is computed from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tachograph.analysis.sealed import Sealed, SealedRun
from tachograph.machine.cells import Cell
from tachograph.machine.contention import NOT_SAMPLED, Contention, contention
from tachograph.machine.identical import reject_identical
from tachograph.machine.outcome import DONE, NOT_RUN, CellOutcome, judge_cell
from tachograph.machine.plausible import Peaks
from tachograph.machine.verdict import Verdict
from tachograph.models.bounds import Bounds
from tachograph.models.machine import Quiet

NO_RESULT = CellOutcome(NOT_RUN, Verdict.INCOMPLETE, ["no attempt counts"])


@dataclass(frozen=True)
class MeasuredCell:
    """``record`` is what the cell's own process wrote, None unless it ended well; ``signal`` what ended it."""

    cell: Cell
    outcome: str
    verdict: Verdict
    reasons: list[str] = field(default_factory=list)
    record: dict[str, Any] | None = None
    signal: str | None = None
    seconds: float | None = None
    contention: Contention = NOT_SAMPLED
    derived: dict[str, Any] = field(default_factory=dict)

    @property
    def measured(self) -> dict[str, Any]:
        """The numbers of the record and those derived from them; empty without a record."""
        return {} if self.record is None else {**self.record["measured"], **self.derived}

    @property
    def settings(self) -> dict[str, Any]:
        """All settings it ran with, defaults and device included; those of the registration without a record."""
        return dict(self.cell.settings) if self.record is None else dict(self.record["settings"])


def measured_cells(
    sealed: Sealed, cells: Sequence[Cell], bounds: Bounds, quiet: Quiet, peaks: Peaks
) -> list[MeasuredCell]:
    """Every planned cell in registered order, judged; one without a result that counts is INCOMPLETE.

    Tables, summary and sentences take verdicts and rates from here, so what is rejected is rejected in all of them.
    """
    runs = {run.planned.arm: run for run in sealed.of_role("cell")}
    files = {name: run.content() for name, run in runs.items()}
    outcomes = [
        judge_cell(_asked(cell, runs[cell.name]), files[cell.name], bounds, peaks) if cell.name in files else NO_RESULT
        for cell in cells
    ]
    found = []
    for cell, judged in zip(cells, reject_identical(cells, outcomes), strict=True):
        if cell.name not in files:
            found.append(MeasuredCell(cell, judged.outcome, judged.verdict, judged.reasons))
            continue
        file = files[cell.name]
        record = file["record"] if judged.outcome == DONE else None
        found.append(
            MeasuredCell(
                cell,
                judged.outcome,
                judged.verdict,
                judged.reasons,
                record,
                file["ended"]["signal"],
                file["ended"]["seconds"],
                contention(record, quiet),
                judged.derived,
            )
        )
    return found


def _asked(cell: Cell, run: SealedRun) -> Cell:
    """The cell with the device that it was told to use: numbers of another one are not those of this cell."""
    device = "cpu" if cell.place == "host" else run.facts["device"]["name"]
    return replace(cell, settings={**cell.settings, "device": device})
