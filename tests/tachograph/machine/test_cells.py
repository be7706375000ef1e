"""From a study file to cells: every combination one process, named as a file can be."""

from __future__ import annotations

from pathlib import Path

from tachograph.machine.cells import expand, study_cells
from tachograph.machine.planning import plan_cells
from tachograph.models.cells import CellGroup, Environment
from tachograph.models.checker import Fault
from tachograph.study.loading import load_study

CONFIG = Path(__file__).parents[3] / "config"
ARMS = {
    "norm": Environment(title="as it is"),
    "pinned": Environment(title="one thread", environment={"OPENBLAS_NUM_THREADS": "1"}),
}


def test_lists_places_and_arms_are_combined():
    """Lists of settings, places and arms give every combination, each with its environment and its name."""
    group = CellGroup(
        name="matmul", kind="correctness", operation="matmul",
        settings={"size": ["64", "128"], "form": "A@A.T", "onednn": [True, False]}, on=["host", "device"],
    )  # fmt: skip
    found = expand([group], ARMS, {}, 60.0)
    assert len(found) == 2 * 2 * 2 * 2
    assert [cell.name for cell in found[:4]] == [
        "matmul-64-onednn-host", "matmul-64-onednn-host-pinned", "matmul-64-onednn-device",
        "matmul-64-onednn-device-pinned",
    ]  # fmt: skip
    assert found[1].environment == {"OPENBLAS_NUM_THREADS": "1"}
    assert found[1].settings == {"size": "64", "form": "A@A.T", "onednn": True}


def test_planted_faults_run_in_the_norm_alone():
    """A fault is planted by the environment that the checker names, and only once."""
    group = CellGroup(name="plant", kind="correctness", operation="matmul", faults=["one NaN"])
    (cell,) = expand([group], ARMS, {"one NaN": Fault(environment={"FAULT": "nan"}, caught="FAIL")}, 60.0)
    assert (cell.name, cell.arm, cell.environment) == ("plant-one-NaN", "norm", {"FAULT": "nan"})


def test_identity_is_what_determines_the_cell():
    """A longer time limit, another thread count or other code make another run; the title of an arm does not."""
    study, checker = load_study(CONFIG, "machine-cpu")

    def identity(threads=2, code="0", **change):
        cells = study_cells(study.model_copy(update=change), checker)
        return plan_cells("x", cells, checker, "cpu", code, threads)[1].identity

    assert identity() == identity(title="another")
    assert len({identity(), identity(threads=1), identity(code="1"), identity(cell_seconds=61.0)}) == 4


def test_device_and_host_cells():
    """A cell of the device leaves the device open until it runs; one of the host names the processor."""
    study, checker = load_study(CONFIG, "machine")
    runs = {run.arm: run for run in plan_cells("x", study_cells(study, checker), checker, "gpu", "0", 2)}
    assert "--device={device}" in runs["training-64-256-device"].command
    assert "--device=cpu" in runs["training-64-256-host"].command
    assert runs["probe"].position == 0
