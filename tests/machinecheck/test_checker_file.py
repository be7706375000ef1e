"""The shipped checker file says what this package can measure, and its faults are those it can plant."""

from __future__ import annotations

from pathlib import Path

import pytest

from machinecheck import faults
from machinecheck.errors import MachineCheckError
from machinecheck.registry import CELLS, defaults, measure, parse_settings
from tachograph.machine.cells import study_cells
from tachograph.machine.planning import plan_cells
from tachograph.study.loading import load_checker, load_study

CHECKER = load_checker(Path(__file__).parents[2] / "config", "machinecheck")
OF_THE_COMMAND = {"device"}


def test_operations_and_settings_are_those_of_the_cells():
    """Every cell and every setting of it stands in the file, and nothing else does."""
    cells = {
        kind: {operation: sorted(set(defaults(kind, operation)) - OF_THE_COMMAND) for operation in operations}
        for kind, operations in CELLS.items()
    }
    listed = {
        kind: {operation: sorted(settings) for operation, settings in operations.items()}
        for kind, operations in CHECKER.operations.items()
    }
    assert listed == cells


def settings_of_cells():
    """Every setting of every operation, with its default and what the file says of it."""
    for kind, operations in CELLS.items():
        for operation in operations:
            for name, default in defaults(kind, operation).items():
                if name not in OF_THE_COMMAND:
                    yield kind, operation, name, default, CHECKER.quantity(kind, operation, name)


SETTINGS = {f"{kind} {operation} {name}": rest for kind, operation, name, *rest in settings_of_cells()}


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_file_refuses_what_the_cell_refuses(setting):
    """Of each setting the default is allowed, and a word or number that the file refuses, the cell refuses too."""
    (default, quantity), (kind, operation, name) = SETTINGS[setting], setting.split()
    assert quantity.wrong(default) is None
    kinds = {bool: "boolean", int: "integer", float: "number", str: "text"}
    assert quantity.type == kinds[type(default)]
    if quantity.type == "boolean":
        assert quantity.wrong("yes") is not None
        return
    refused = {"text": ["no-such", "-4", ""], "integer": [-1, 0], "number": [-1.0, 0.0]}[quantity.type]
    refused = [value for value in refused if quantity.wrong(value) is not None]
    assert refused
    for value in refused:
        with pytest.raises(MachineCheckError):
            measure(kind, operation, parse_settings(kind, operation, [f"--{name.replace('_', '-')}={value}"]))


def test_faults_are_those_that_can_be_planted():
    """Each fault of the package can be planted by a study, by the variable that the package reads."""
    assert set(CHECKER.faults) == set(faults.NAMES)
    assert all(fault.environment == {faults.VARIABLE: name} for name, fault in CHECKER.faults.items())


@pytest.mark.parametrize("name", ["machine", "machine-cpu"])
def test_settings_of_the_shipped_studies_come_back_as_they_were_asked(name):
    """The command of each cell is understood, and the settings that it would write are those of the study."""
    study, checker = load_study(Path(__file__).parents[2] / "config", name)
    cells = study_cells(study, checker)[1:]
    for cell, run in zip(cells, plan_cells(name, cells, checker, "cpu", "0", 2), strict=True):
        words = [word for word in run.command[run.command.index("cell") + 3 :] if not word.startswith("--out")]
        given = parse_settings(cell.kind, cell.operation, words)
        assert {setting: given[setting] for setting in cell.settings} == cell.settings
