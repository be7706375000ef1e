"""Every fault that the shipped small study plants is caught, each in a process of its own."""

from __future__ import annotations

from own_process import CELLS, CHECKER, run_cell

from tachograph.machine.planning import plan_cells
from tachograph.machine.selftest import selftest


def test_every_planted_fault_is_caught(tmp_path):
    """Wrong element, NaN, race, missing synchronisation, wrong A@A.T, kernel, crash: caught, the hang apart."""
    runs = plan_cells("x", CELLS, CHECKER, "cpu", "0", 1)
    planted = [
        run_cell(cell, planned, tmp_path)
        for cell, planned in zip(CELLS, runs, strict=True)
        if cell.fault and cell.fault != "hang"
    ]
    found = selftest(planted, CHECKER.faults)
    assert {row["fault"]: row["verdict"] for row in found["rows"]} == {
        fault: None if fault == "hang" else "PASS" for fault in CHECKER.faults
    }, found["rows"]


def test_a_hang_is_ended_at_its_limit(tmp_path):
    """The planted hang does not end by itself; its time limit is its result."""
    runs = plan_cells("x", CELLS, CHECKER, "cpu", "0", 1)
    (found,) = [run_cell(c, r, tmp_path, 8) for c, r in zip(CELLS, runs, strict=True) if c.fault == "hang"]
    assert (found.outcome, found.verdict) == ("time limit", "INCOMPLETE")
