"""What the page says: findings in plain words, what was not measured, tables and figures, from one folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from machinecheck import figures, tables
from machinecheck.files import read_json
from machinecheck.outcome import DONE
from machinecheck.verdict import Verdict

KINDS = ("correctness", "repeatability", "throughput", "soak")


def outcomes(folder: Path) -> list[dict[str, Any]]:
    """All outcomes that the runner wrote into ``folder``, by name."""
    return [dict(read_json(path)) for path in sorted((folder / "cells").glob("*.json"))]


def findings(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The result in sentences, the verdict first; each sentence counts what it speaks of."""
    said = [f"Overall: {summary['verdict']}, from {summary['planned']} planned cells."]
    for kind, words in (
        ("correctness", "gave results that rounding explains"),
        ("repeatability", "gave the same bytes each time"),
        ("throughput", "gave a rate that can be true"),
        ("soak", "stayed finite and learned"),
    ):
        chosen = [row for row in rows if row["kind"] == kind]
        if chosen:
            good = [row for row in chosen if row["verdict"] in (Verdict.PASS, Verdict.WARN)]
            passed = [row for row in chosen if row["verdict"] == Verdict.PASS]
            warned = f", {len(good) - len(passed)} of them with a warning" if len(good) > len(passed) else ""
            said.append(f"{kind.capitalize()}: {len(good)} of {len(chosen)} cells {words}{warned}.")
    wrong = [row for row in rows if row["verdict"] == Verdict.FAIL]
    said += [f"WRONG: {row['cell']}: {' '.join(row['reasons'])}." for row in wrong]
    if len(summary["by_arm"]) > 1:
        said += [f"Arm “{arm}”: {verdict}." for arm, verdict in summary["by_arm"].items()]
    contended = [row for row in tables.matmul(rows) + tables.training(rows) if row["contended"] is not False]
    if contended:
        said.append(
            f"{len(contended)} rates were taken while other work shared the machine: they are lower bounds "
            f"(≥), and no claim rests on them; {tables.RE_MEASURE}."
        )
    return said


def not_measured(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The box of what this check does not show."""
    said = [f"{name}: not run" for name in summary["not_run"]]
    said += [f"{row['cell']}: {row['outcome']} ({' '.join(row['reasons'])})" for row in rows if row["outcome"] != DONE]
    for kind in KINDS:
        if not any(row["kind"] == kind for row in rows):
            said.append(f"{kind}: no cell was run")
    devices = {row["record"]["settings"]["device"] for row in rows if row["outcome"] == DONE}
    if devices == {"cpu"}:
        said.append("accelerators: none was part of this check")
    for name, words in (
        ("power_watts", "power of a device"),
        ("package_power_watts", "power of the processor"),
        ("clock_mhz", "clock of an accelerator"),
    ):
        if not any(row["record"]["host"].get(name) for row in rows if row["outcome"] == DONE):
            said.append(f"{words}: no sensor could be read")
    return said


def page(folder: Path, figure_folder: Path) -> dict[str, Any]:
    """Everything the page needs from the results in ``folder``; figures are drawn into ``figure_folder``."""
    rows, summary = outcomes(folder), read_json(folder / "summary.json")
    matmul, training, clocks = tables.matmul(rows), tables.training(rows), tables.clocks(rows)
    return {
        "verdict": summary["verdict"],
        "findings": findings(summary, rows),
        "not_measured": not_measured(summary, rows),
        "tables": {
            "correctness": tables.correctness(rows),
            "repeatability": tables.repeatability(rows),
            "matmul": matmul,
            "format_ratios": tables.format_ratios(matmul),
            "training": training,
            "speed_ups": tables.speed_ups(training),
            "clocks": clocks,
            "arms": tables.arms(rows),
            "soak": tables.soak(rows),
        },
        "figures": {
            "matmul": figures.matmul(matmul, figure_folder / "matmul.svg").name,
            "training": figures.training(training, figure_folder / "training.svg").name,
            "clock": figures.clock_over_load(clocks, figure_folder / "clock.svg").name,
        },
    }
