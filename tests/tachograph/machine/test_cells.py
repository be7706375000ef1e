"""From a study file to cells: every combination one process, named as a file can be."""

from __future__ import annotations

from pathlib import Path

import pytest

from tachograph.errors import TachographError
from tachograph.files import canonical_json, parse_json
from tachograph.machine.cells import check_arms, check_formats, check_groups, expand, study_cells
from tachograph.machine.planning import plan_cells
from tachograph.models.bounds import Bounds, Gate
from tachograph.models.cells import CellGroup, Environment
from tachograph.models.checker import Fault
from tachograph.scripting import CONFIGURATION_VARIABLE
from tachograph.study.loading import load_checker, load_study
from tachograph.study.opening import named_studies
from tachograph.study.registration import content, current_study

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
    found = expand([group], ARMS, "norm", {}, 60.0)
    assert len(found) == 2 * 2 * 2 * 2
    assert [cell.name for cell in found[:4]] == [
        "matmul-onednn-64-host", "matmul-onednn-64-host-pinned", "matmul-onednn-64-device",
        "matmul-onednn-64-device-pinned",
    ]  # fmt: skip
    assert found[1].environment == {"OPENBLAS_NUM_THREADS": "1"}
    assert found[1].settings == {"size": "64", "form": "A@A.T", "onednn": True}


def test_cells_of_the_registration_are_those_that_were_planned():
    """A registration is canonical JSON, whose keys are sorted: it must give the same cells in the same order."""
    for name in ("machine-cpu", "machine"):
        study, checker = load_study(CONFIG, name)
        planned = plan_cells(name, study_cells(study, checker), checker, "cpu", "0", 2)
        frozen = {"original": {"content": content(study, checker, planned)}, "amendments": []}
        again, program, _ = current_study(parse_json(canonical_json(frozen)))
        assert study_cells(again, program) == study_cells(study, checker)


@pytest.mark.parametrize(
    ("kind", "operation", "settings", "words"),
    [
        ("correctness", "matmul", {"size": "-4"}, "size: found '-4', expected a side, such as 1024, or MxKxN"),
        ("correctness", "matmul", {"size": ["64", "0"]}, "size: found '0', expected a side"),
        ("correctness", "matmul", {"dtype": "fp23"}, "dtype: found 'fp23', expected one of: fp64, fp32"),
        ("correctness", "optimiser", {"dtype": "fp16"}, "dtype: found 'fp16', expected one of: fp64, fp32, bf16"),
        ("correctness", "attention", {"shape": "2,2,49"}, "shape: found '2,2,49', expected four numbers"),
        ("correctness", "network", {"channels": 12}, "channels: found 12, expected a whole number of at least 8 and"),
        ("repeatability", "sgemm", {"repeats": 0}, "repeats: found 0, expected a whole number of at least 1"),
        ("repeatability", "sgemm", {"repeats": 2.5}, "repeats: found 2.5, expected a whole number"),
        ("repeatability", "sgemm", {"repeats": True}, "repeats: found True, expected a whole number"),
        ("repeatability", "sgemm", {"threads": "1,none"}, "threads: found '1,none', expected numbers or all"),
        ("repeatability", "network", {"onednn": "yes"}, "onednn: found 'yes', expected true or false"),
        ("throughput", "matmul", {"window": 0}, "window: found 0, expected a number greater than 0"),
        ("throughput", "matmul", {"lead": -0.5}, "lead: found -0.5, expected a number of at least 0"),
        ("soak", "training", {"steps": 1}, "steps: found 1, expected a whole number of at least 2"),
    ],
)
def test_settings_are_refused_before_anything_runs(kind, operation, settings, words):
    """A number out of its range, a wrong word or another kind of value is one sentence with file and place."""
    group = CellGroup(name="one", kind=kind, operation=operation, settings=settings)
    with pytest.raises(TachographError) as refused:
        check_groups([group], load_checker(CONFIG, "machinecheck"), "study.toml")
    assert str(refused.value).startswith(f"study.toml: cells[0]: settings.{words}")


@pytest.mark.parametrize("place", ['peaks."X"', "bounds.gates"])
def test_an_unknown_number_format_is_refused(place):
    """A mistyped number format, of a declared peak or of a gate, would hold nothing against anything."""
    study, checker = load_study(CONFIG, "machine")

    def named(name):
        if place == "bounds.gates":
            bounds = Bounds.model_validate({"gates": {name: {"factor": 2.5, "tolerance": 1e-3}}})
            return study.model_copy(update={"bounds": bounds}).named_formats()
        return study.model_copy(update={"peaks": {"X": {name: 59.4}}}).named_formats()

    with pytest.raises(TachographError, match=f"{place}.bf61: unknown number format, .*did you mean 'bf16'"):
        check_formats(named("bf61"), checker, "study.toml")
    check_formats(named("bf16"), checker, "study.toml")


def test_a_gate_for_one_format_leaves_the_others():
    """Who gives one format a gate of its own has not asked for cells of the other formats to have none."""
    given = Bounds.model_validate({"gates": {"fp32": {"factor": 1.0, "tolerance": 1e-6}}})
    assert given.gates == {**Bounds().gates, "fp32": Gate(factor=1.0, tolerance=1e-6)}


def test_arms_that_do_nothing_or_harm_are_refused():
    """An environment that no cell is run in, and one that plants a fault of which the self-test knows nothing."""
    study, checker = load_study(CONFIG, "machine-cpu")
    check_arms(study, checker, "study.toml")
    for environment, words in (
        ({"X": "1"}, "arms.more: no cell uses it"),
        ({"MACHINECHECK_FAULT": "one NaN"}, "arms.one-blas-thread.environment.MACHINECHECK_FAULT: found a variable by"),
    ):
        name = "more" if "X" in environment else "one-blas-thread"
        cells = [group.model_copy(update={"arms": group.arms or ["one-blas-thread"]}) for group in study.cells]
        arms = {**study.arms, name: Environment(title="x", environment=environment)}
        with pytest.raises(TachographError, match=words):
            check_arms(study.model_copy(update={"arms": arms, "cells": cells}), checker, "study.toml")


def test_planted_faults_run_in_the_norm_alone():
    """A fault is planted by the environment that the checker names, and only once."""
    group = CellGroup(name="plant", kind="correctness", operation="matmul", faults=["one NaN"])
    (cell,) = expand([group], ARMS, "norm", {"one NaN": Fault(environment={"FAULT": "nan"}, caught="FAIL")}, 60.0)
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
    assert "--device={device}" in runs["training-256-64-device"].command
    assert "--device=cpu" in runs["training-256-64-host"].command
    assert runs["probe"].position == 0


def test_a_study_is_opened_by_a_target_that_names_it(monkeypatch):
    """A file of a study on the command line opens it; an unknown name, an option or another path opens nothing."""
    monkeypatch.chdir(CONFIG.parent)
    arguments = ["snakemake", "results/machine-cpu/record.sha256", "results/nothing/x", "-c2", "config/studies/machine"]
    assert named_studies(arguments) == ["machine-cpu"]
    monkeypatch.setenv(CONFIGURATION_VARIABLE, '{"studies": ["quickstart", "machine"]}')
    assert named_studies(["./results/machine-cpu/cells/soak.json"]) == ["machine-cpu", "quickstart", "machine"]
