"""Study, trainer and configuration files: the shipped ones are valid, and schemas and models agree."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

from tachograph.files import canonical_json
from tachograph.machine.cells import study_cells
from tachograph.machine.planning import plan_cells
from tachograph.models import Checker, Configuration, MachineStudy, Study, Trainer
from tachograph.study.loading import load_study
from tachograph.study.planning import block_order, plan_study
from tachograph.study.registration import content, current_study

REPOSITORY = Path(__file__).parents[3]
SCHEMAS = REPOSITORY / "workflow" / "schemas"
STUDIES = sorted(path.stem for path in (REPOSITORY / "config" / "studies").glob("*.toml"))


def read(path: Path) -> dict:
    """A TOML file with its dates as text, as JSON has them."""
    return json.loads(json.dumps(tomllib.loads(path.read_text()), default=str))


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("study", Study),
        ("trainer", Trainer),
        ("machine", MachineStudy),
        ("checker", Checker),
        ("configuration", Configuration),
    ],
)
def test_shipped_schema_is_that_of_the_model(name, model):
    """After an edit of a model, workflow/scripts/write_schemas.py must be run."""
    shipped = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    assert shipped.pop("$schema") == "https://json-schema.org/draft/2020-12/schema"
    assert shipped == json.loads(canonical_json(model.model_json_schema(by_alias=True)))


@pytest.mark.parametrize("name", STUDIES)
def test_shipped_study_fits_schema_and_trainer(name):
    """Each shipped study loads, and its files are valid by the shipped schemas too."""
    study, program = load_study(REPOSITORY / "config", name)
    kinds = ("machine", "checker") if isinstance(study, MachineStudy) else ("study", "trainer")
    for kind, path in zip(kinds, (f"studies/{name}", f"{kinds[1]}s/{program.name}"), strict=True):
        schema = json.loads((SCHEMAS / f"{kind}.schema.json").read_text())
        jsonschema.validate(read(REPOSITORY / "config" / f"{path}.toml"), schema)


def test_shipped_configuration_fits_its_schema():
    """config/config.yaml is valid and names studies that are there."""
    value = yaml.safe_load((REPOSITORY / "config" / "config.yaml").read_text())
    jsonschema.validate(value, json.loads((SCHEMAS / "configuration.schema.json").read_text()))
    assert set(value["studies"]) <= set(STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_registered_form_is_read_back_as_the_same_study(name):
    """What is frozen as JSON means the same as the TOML files."""
    study, program = load_study(REPOSITORY / "config", name)
    if isinstance(study, MachineStudy):
        planned = plan_cells(name, study_cells(study, program), program, "cpu", "0" * 64, 2)
    else:
        planned = plan_study(study, program, "cpu", "0" * 64)
    frozen = {"original": {"content": content(study, program, planned)}, "amendments": []}
    assert current_study(json.loads(canonical_json(frozen))) == (study, program, planned)


def test_order_of_blocks_is_thue_morse():
    """Four blocks of two arms run ABBABAAB, eight runs, as published for the Thue-Morse sequence."""
    order = "".join(arm for block in range(4) for arm in block_order(["A", "B"], block))
    assert order == "ABBABAAB"


def test_linear_and_quadratic_drift_cancel_over_four_blocks():
    """Sums of position and of its square over the runs of each arm are equal."""
    runs = [arm for block in range(4) for arm in block_order(["A", "B"], block)]
    for power in (1, 2):
        sums = {arm: sum(i**power for i, a in enumerate(runs) if a == arm) for arm in "AB"}
        assert sums["A"] == sums["B"]


def test_records_of_both_kinds_describe_what_they_share_alike():
    """After an edit of record.schema.json, workflow/scripts/write_schemas.py must be run."""
    throughput = json.loads((SCHEMAS / "record.schema.json").read_text())
    machine = json.loads((SCHEMAS / "machine-record.schema.json").read_text())
    own = {"schema", "registration", "preflight"}
    for part in ("properties", "$defs"):
        both = throughput[part].keys() & machine[part].keys() - own
        assert len(both) > 5
        assert {name: machine[part][name] for name in both} == {name: throughput[part][name] for name in both}
