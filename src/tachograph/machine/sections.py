"""The analysis of a machine study: every section of its record, from the sealed files alone."""

from __future__ import annotations

from typing import Any

from tachograph.analysis import execution
from tachograph.analysis.conduct import BY_DISCARD, timestamp_proof
from tachograph.analysis.deviations import of_any_study
from tachograph.analysis.registered import registered
from tachograph.analysis.sealed import SealedMachine
from tachograph.machine import findings, notmeasured, ratios, reference, tables
from tachograph.machine.cells import PROBE, study_cells
from tachograph.machine.measured import MeasuredCell, measured_cells
from tachograph.machine.selftest import selftest
from tachograph.machine.summary import summary
from tachograph.study.state import counts

STOPPING = "every planned cell is measured once; cells that the registered time for all leaves over are not run"
BY_INTERRUPTION = "an attempt that somebody interrupted does not count; a crash, a hang or a failure is a result"


def sections(sealed: SealedMachine) -> dict[str, Any]:
    """All sections; see the module of each for its content."""
    study, checker = sealed.study, sealed.checker
    norm = study.norm
    measured = cells_of(sealed)
    order = execution.order(sealed)
    found: dict[str, Any] = {
        "schema": "analysis/1",
        "study": {"name": study.name, "title": study.title},
        "registration": registration(sealed),
        "machine": sealed.machine,
        "probe": probe(measured),
        "commands": execution.commands(sealed),
        "counts": counts(sealed.planned, sealed.state),
        "planned_runs": [execution.planned_row(run, sealed.state.run_status(run)) for run in sealed.planned],
        "attempts": execution.attempts(sealed),
        "order": order,
        "time": execution.time(sealed),
        "preflight": preflight(sealed),
        "deviations": of_any_study(sealed, order),
        "selftest": selftest(measured, checker.faults),
        "rows": rows(measured),
    }
    found["rows"]["selftest"] = found["selftest"]["rows"]
    found["summary"] = summary(measured, found["selftest"], norm)
    found["findings"] = findings.findings(measured, found, norm)
    found["not_asked"] = notmeasured.not_asked(measured, checker)
    found["not_measured"] = notmeasured.not_measured(measured, found)
    found["status"] = "complete" if found["counts"]["counted"] == found["counts"]["planned"] else "incomplete"
    return found


def rows(measured: list[MeasuredCell]) -> dict[str, Any]:
    """Rows of every table, by name."""
    matmul, training, clocks = tables.matmul(measured), tables.training(measured), tables.clocks(measured)
    return {
        "cells": tables.cells(measured),
        "correctness": tables.correctness(measured),
        "repeatability": tables.repeatability(measured),
        "matmul": matmul,
        "formats": ratios.format_ratios(matmul),
        "training": training,
        "speedups": ratios.speed_ups(training),
        "batches": ratios.over_batches(training),
        "clocks": clocks,
        "clock_falls": ratios.clock_falls(clocks),
        "workarounds": tables.workarounds(measured),
        "soak": tables.soak(measured),
        "series": tables.series(measured),
    }


def cells_of(sealed: SealedMachine) -> list[MeasuredCell]:
    """All planned cells of the study, with what became of each."""
    study = sealed.study
    return measured_cells(sealed, study_cells(study, sealed.checker), study.bounds, study.quiet, study.peaks)


def preflight(sealed: SealedMachine) -> dict[str, Any]:
    """``preflight/1`` of a machine study: which of its operations anything may be compared with."""
    found = reference.checks_of(cells_of(sealed))
    return {
        "schema": "preflight/1",
        "study": sealed.study.name,
        "ok": all(check["verdict"] == "PASS" for check in found) if found else None,
        "checks": found,
    }


def probe(measured: list[MeasuredCell]) -> dict[str, Any] | None:
    """What the probe says is in the machine; None if it has no result."""
    return next((one.record for one in measured if one.cell.kind == PROBE), None)


def registration(sealed: SealedMachine) -> dict[str, Any]:
    """Who registered what and when, with the chain of amendments."""
    study = sealed.study
    return {
        **registered(sealed),
        "timestamp_proof": timestamp_proof(sealed.registration["original"]["git"]["workflow"]),
        "stopping_rule": STOPPING,
        "exclusion_rules": [BY_INTERRUPTION, BY_DISCARD],
        "norm": study.norm,
        "arms": {name: arm.model_dump(mode="json") for name, arm in study.arms.items()},
        "threads": sealed.planned[0].threads,
        "device": study.device,
        "cell_seconds": study.cell_seconds,
        "total_seconds": study.total_seconds,
        "quiet": study.quiet.model_dump(mode="json"),
        "bounds": study.bounds.model_dump(mode="json"),
        "peaks": {name: dict(by_format) for name, by_format in study.peaks.items()},
        "trainer": {
            "name": sealed.checker.name,
            "title": sealed.checker.title,
            "about": sealed.checker.about,
            "code": sorted({run.code for run in sealed.planned}),
        },
    }
