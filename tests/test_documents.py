"""The examples in the documents are executed, not only read."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from tachograph.models import Study, Trainer

REPOSITORY = Path(__file__).parents[1]


def test_least_trainer_and_study_of_the_documents_are_valid():
    """Somebody who copies the two files from config/README.md gets no error."""
    text = (REPOSITORY / "config" / "README.md").read_text()
    blocks = [re.sub(r"(?m)^    ", "", block) for block in re.findall(r"(?m)((?:^    .*\n|^\n)+)", text)]
    files = [tomllib.loads(block) for block in blocks if block.strip().startswith("schema =")]
    assert [file["schema"] for file in files] == ["trainer/1", "study/1"]
    Trainer.model_validate(files[0])
    Study.model_validate(files[1])
