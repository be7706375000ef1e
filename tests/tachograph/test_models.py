"""Study, trainer and configuration files: the shipped ones are valid, and schemas and models agree."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
import yaml

from tachograph.files import canonical_json
from tachograph.loading import load_study
from tachograph.models import Configuration, Study, Trainer
from tachograph.planning import block_order, plan_study
from tachograph.registration import content

REPOSITORY = Path(__file__).parents[2]
SCHEMAS = REPOSITORY / "workflow" / "schemas"
STUDIES = sorted(path.stem for path in (REPOSITORY / "config" / "studies").glob("*.toml"))


def read(path: Path) -> dict:
    """A TOML file with its dates as text, as JSON has them."""
    return json.loads(json.dumps(tomllib.loads(path.read_text()), default=str))


@pytest.mark.parametrize(("name", "model"), [("study", Study), ("trainer", Trainer), ("configuration", Configuration)])
def test_shipped_schema_is_that_of_the_model(name, model):
    """After an edit of a model, workflow/scripts/write_schemas.py must be run."""
    shipped = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    assert shipped.pop("$schema") == "https://json-schema.org/draft/2020-12/schema"
    assert shipped == json.loads(canonical_json(model.model_json_schema(by_alias=True)))


@pytest.mark.parametrize("name", STUDIES)
def test_shipped_study_fits_schema_and_trainer(name):
    """Each shipped study loads, and its files are valid by the shipped schemas too."""
    _, trainer = load_study(REPOSITORY / "config", name)
    for kind, path in (("study", f"studies/{name}"), ("trainer", f"trainers/{trainer.name}")):
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
    study, trainer = load_study(REPOSITORY / "config", name)
    frozen = content(study, trainer, plan_study(study, trainer, "cpu", "0" * 64))
    assert Study.model_validate_json(canonical_json(frozen["study"])) == study
    assert Trainer.model_validate_json(canonical_json(frozen["trainer"])) == trainer


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
