"""What this check would have caught today: planted faults through the real runner, and clean repetitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from machinecheck import faults, outcome
from machinecheck.files import write_json
from machinecheck.plan import read_plan
from machinecheck.runner import run_plan
from machinecheck.verdict import Verdict

SCHEMA = "machinecheck-selftest/1"
CLEAN_ARM = "nothing planted"
# What must become of a cell with the fault; every fault that is not listed must be judged FAIL.
EXPECTED_OUTCOMES = {
    faults.CRASH: outcome.CRASHED,
    faults.HANG: outcome.TIMED_OUT,
    faults.KERNEL: outcome.KERNEL,
}


def caught(fault: str, result: Mapping[str, Any]) -> bool:
    """Whether the cell ended as it must with this fault; a record that it wrote names the fault."""
    if fault in EXPECTED_OUTCOMES:
        return bool(result["outcome"] == EXPECTED_OUTCOMES[fault] and result["verdict"] != Verdict.PASS)
    record = result["record"]
    return bool(record is not None and record["fault"] == fault and result["verdict"] == Verdict.FAIL)


def detection(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row per known fault: how often it was planted, how often caught, and by what words.

    A fault that was not planted has 0 of 0, which is not "caught".
    """
    rows = []
    for fault in faults.NAMES:
        planted = [result for result in results if result["arm"] == fault]
        found = [result for result in planted if caught(fault, result)]
        rows.append(
            {
                "fault": fault,
                "planted": len(planted),
                "caught": len(found),
                "by": [" ".join(result["reasons"])[:200] for result in found],
            }
        )
    return rows


def judge(results: Sequence[Mapping[str, Any]], alarms: Mapping[str, Any]) -> tuple[Verdict, list[str]]:
    """PASS only if every known fault was planted and caught each time and nothing clean was called wrong."""
    reasons = [
        f"{row['fault']}: caught {row['caught']} of {row['planted']} times"
        for row in detection(results)
        if row["planted"] == 0 or row["caught"] < row["planted"]
    ]
    clean = [result for result in results if result["arm"] == CLEAN_ARM]
    reasons += [
        f"false alarm of {result['cell']}: {' '.join(result['reasons'])}"
        for result in clean
        if result["verdict"] in (Verdict.FAIL, Verdict.INCOMPLETE)
    ]
    if not clean:
        reasons.append("no clean cell was run")
    reasons += [f"false alarm: {alarm}" for alarm in alarms["alarms"]]
    return (Verdict.FAIL if reasons else Verdict.PASS), reasons


def clean_cells(seed: int) -> dict[str, Callable[[], Any]]:
    """Small cells of every kind of judgement, with data of their own for each repetition."""
    from machinecheck.cells import board_network, convolution, layers, matmul, repeatability

    return {
        "matmul fp32": lambda: matmul.matmul(size="96x160x64", seed=seed),
        "matmul bf16": lambda: matmul.matmul(size="128", dtype="bf16", seed=seed),
        "matmul A@A.T": lambda: matmul.matmul(size="96", form="A@A.T", library="numpy", seed=seed),
        "integers": lambda: matmul.integers(size="96", form="A.T@B", seed=seed),
        "convolution": lambda: convolution.convolution(batch=4, channels=8, repeats=2, seed=seed),
        "network": lambda: board_network.network(channels=16, batch=4, seed=seed),
        "network bf16": lambda: board_network.network(channels=16, batch=4, dtype="bf16", seed=seed),
        "batch norm": lambda: layers.batch_norm(batch=8, channels=8, seed=seed),
        "attention": lambda: layers.attention(backend="flash", shape="1,2,16,16", seed=seed),
        "optimiser": lambda: layers.optimiser(numbers=1000, seed=seed),
        "sgemm": lambda: repeatability.sgemm(size="64", threads="1", repeats=5, processes=1, seed=seed),
    }


def false_alarms(repetitions: int) -> dict[str, Any]:
    """Run the clean cells so many times; every verdict but PASS is an alarm."""
    alarms, runs = [], 0
    for seed in range(repetitions):
        for name, cell in clean_cells(seed).items():
            result, runs = cell(), runs + 1
            if result.verdict is not Verdict.PASS:
                alarms.append(f"{name}, repetition {seed}: {result.verdict} {' '.join(result.reasons)}")
    return {"repetitions": repetitions, "runs": runs, "alarms": alarms}


def run(folder: Path, repetitions: int, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Plant every fault, repeat the clean cells, and write ``selftest.json`` into ``folder``."""
    _, results = run_plan(read_plan("selftest"), folder, say)
    alarms = false_alarms(repetitions)
    verdict, reasons = judge(results, alarms)
    found = {
        "schema": SCHEMA,
        "verdict": verdict,
        "reasons": reasons,
        "detection": detection(results),
        "clean": alarms,
    }
    write_json(folder / "selftest.json", found)
    return found
