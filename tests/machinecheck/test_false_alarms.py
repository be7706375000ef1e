"""Clean cells of every kind of judgement pass, with data of their own each time: no false alarm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from judged import judged

from machinecheck import registry
from machinecheck.cells import board_network, convolution, layers, matmul, repeatability
from machinecheck.settings import arguments_of
from tachograph.files import parse_json, pretty_json
from tachograph.machine.cells import study_cells
from tachograph.machine.judging import judge_record
from tachograph.machine.verdict import Verdict
from tachograph.study.loading import load_study

CLEAN = {
    "matmul fp32": lambda seed: matmul.matmul(size="96x160x64", seed=seed),
    "matmul bf16": lambda seed: matmul.matmul(size="128", dtype="bf16", seed=seed),
    "matmul A@A.T": lambda seed: matmul.matmul(size="96", form="A@A.T", library="numpy", seed=seed),
    "integers": lambda seed: matmul.integers(size="96", form="A.T@B", seed=seed),
    "convolution": lambda seed: convolution.convolution(batch=4, channels=8, repeats=2, seed=seed),
    "network": lambda seed: board_network.network(channels=16, batch=4, seed=seed),
    "network bf16": lambda seed: board_network.network(channels=16, batch=4, dtype="bf16", seed=seed),
    "batch norm": lambda seed: layers.batch_norm(batch=8, channels=8, seed=seed),
    "attention": lambda seed: layers.attention(backend="flash", shape="1,2,16,16", seed=seed),
    "optimiser": lambda seed: layers.optimiser(numbers=1000, seed=seed),
    "sgemm": lambda seed: repeatability.sgemm(size="64", threads="1", repeats=5, processes=1, seed=seed),
}


def alarms(name, seeds):
    """What was not PASS, by seed."""
    kind, dtype = "repeatability" if name == "sgemm" else "correctness", "bf16" if "bf16" in name else "fp32"
    found = {seed: judged(kind, CLEAN[name](seed), dtype) for seed in seeds}
    return {seed: result.reasons for seed, result in found.items() if result.verdict is not Verdict.PASS}


@pytest.mark.parametrize("name", CLEAN)
def test_clean_cells_pass(name):
    """Two clean repetitions of each cell pass."""
    assert alarms(name, range(2)) == {}


@pytest.mark.slow
@pytest.mark.parametrize("name", CLEAN)
def test_twenty_clean_repetitions_pass(name):
    """Twenty clean repetitions of each cell, 220 in all, give no false alarm."""
    assert alarms(name, range(20)) == {}


STUDY, CHECKER = load_study(Path(__file__).parents[2] / "config", "machine-cpu")
SHIPPED = [
    cell for cell in study_cells(STUDY, CHECKER) if cell.kind in ("correctness", "repeatability") and not cell.fault
]


@pytest.mark.slow
@pytest.mark.parametrize("cell", SHIPPED, ids=lambda cell: cell.name)
def test_twenty_clean_repetitions_of_the_shipped_study_pass(cell):
    """Each correctness and repeatability cell of the small study, 20 times with data of its own: no false alarm."""
    found = {}
    for seed in range(20):
        settings = {**cell.settings, "seed": seed}
        given = registry.parse_settings(cell.kind, cell.operation, ["--device=cpu", *arguments_of(settings)])
        record = parse_json(pretty_json(registry.measure(cell.kind, cell.operation, given)))
        judged_now = judge_record(replace(cell, settings=settings), record, STUDY.bounds, STUDY.peaks)
        if judged_now.verdict is not Verdict.PASS:
            found[seed] = judged_now.reasons
    assert found == {}
