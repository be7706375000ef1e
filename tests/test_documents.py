"""The examples in the documents are executed, not only read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from tachograph.models import Checker, Configuration, MachineStudy, Study, Trainer

REPOSITORY = Path(__file__).parents[1]


def test_least_trainer_and_study_of_the_documents_are_valid():
    """Somebody who copies the two files from config/README.md gets no error."""
    text = (REPOSITORY / "config" / "README.md").read_text()
    blocks = [re.sub(r"(?m)^    ", "", block) for block in re.findall(r"(?m)((?:^    .*\n|^\n)+)", text)]
    files = [tomllib.loads(block) for block in blocks if block.strip().startswith("schema =")]
    assert [file["schema"] for file in files] == ["trainer/1", "study/1"]
    Trainer.model_validate(files[0])
    Study.model_validate(files[1])


def documented() -> set[str]:
    """The words that config/README.md sets as code, in a line or in an example."""
    text = (REPOSITORY / "config" / "README.md").read_text()
    code = [*re.findall(r"`([^`\n]+)`", text), *re.findall(r"(?m)^    .*$", text)]
    return set(re.findall(r"\w+", " ".join(code)))


@pytest.mark.parametrize("model", [Study, Trainer, Checker, MachineStudy, Configuration])
def test_every_key_of_a_file_is_in_the_documents(model):
    """A key that somebody may write is one that somebody can read about."""
    schema = model.model_json_schema(by_alias=True)
    keys = {key for table in (schema, *schema.get("$defs", {}).values()) for key in table.get("properties", {})}
    assert keys - documented() == set()


def test_candidate_of_the_documents_is_valid():
    """Somebody who copies the example of a candidate into a study that names its arm gets no error."""
    text = (REPOSITORY / "config" / "README.md").read_text()
    example = re.search(r"(?m)(?:^    .*\n)*^    \[candidates\.compile\]\n(?:^    .*\n)*", text)
    candidate = tomllib.loads(re.sub(r"(?m)^    ", "", example[0]))["candidates"]
    study = tomllib.loads((REPOSITORY / "config/studies/quickstart.toml").read_text())
    del study["decision"]
    Study.model_validate({**study, "candidates": candidate})
