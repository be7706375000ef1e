"""What is wrong with a file is told in a sentence of our own: file, place, what was found, what was expected."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tachograph.errors import TachographError
from tachograph.models import Configuration, MachineStudy, Study, Trainer
from tachograph.study.loading import validate

CONFIG = Path(__file__).parents[3] / "config"
OF_PYDANTIC = ("Input should", "Extra inputs", "Field required", "valid string", "type=")
GONE = object()


def shipped(name: str) -> dict[str, Any]:
    return tomllib.loads((CONFIG / name).read_text())


FILES: dict[type[BaseModel], dict[str, Any]] = {
    Study: shipped("studies/quickstart.toml"),
    Trainer: shipped("trainers/armies.toml"),
    MachineStudy: shipped("studies/machine-cpu.toml"),
    Configuration: {"studies": ["quickstart"]},
}


@pytest.mark.parametrize(
    ("model", "place", "value", "told"),
    [
        (Study, "threads", "two", "threads: found 'two', expected an integer from 1 to 1024"),
        (Study, "threads", 2.0, "threads: found 2.0, expected an integer from 1 to 1024"),
        (Study, "threads", 0, "threads: found 0, expected an integer from 1 to 1024"),
        (Study, "design.seeds", [0, "a"], "design.seeds[1]: found 'a', expected an integer of 0 or more"),
        (Study, "design.seeds", [], "design.seeds: found [], expected a list of integers that is not empty"),
        (Study, "design.window", [1], "design.window[1]: the key is missing, expected an integer"),
        (Study, "design.warmup", 99, "design.warmup: found 99, expected fewer than the 10 iterations"),
        (Study, "arms", 3, "arms: found 3, expected a table that is not empty"),
        (Study, "arms.fast", "x", "arms.fast: found 'x', expected a table with title"),
        (Study, "arms.fast.environment", {"9X": "a"}, "arms.fast.environment.9X: found '9X', expected the name"),
        (Study, "arms.fast.settings", {"X": [3]}, "arms.fast.settings.X: found [3], expected a string or an"),
        (Study, "name", "a b", "name: found 'a b', expected letters, digits"),
        (Study, "title", "", "title: found '', expected a string that is not empty"),
        (Study, "title", "a" * 5000 + "b", "expected at most 4000 characters"),
        (Study, "registration", GONE, "registration: the key is missing, expected a table with id, date"),
        (Study, "registration.date", "2026", "registration.date: found '2026', expected a date such as 2026-01-31"),
        (Study, "registration.kind", "x", "registration.kind: found 'x', expected one of: exploratory, confirmatory"),
        (Study, "registration.id", "x", "registration.id: found 'x', expected a UUID"),
        (Study, "schema", "study/2", "schema: found 'study/2', expected 'study/1'"),
        (Study, "decision.alpha", 0.5, "decision.alpha: found 0.5, expected a number of 0.2 or less"),
        (Study, "decision.minimum_effect", float("nan"), "decision.minimum_effect: found nan, expected a finite"),
        (Study, "decision.minimum_efect", 2, "decision.minimum_efect: unknown key, expected one of: allow_detectable_"),
        (Study, "decision.minimum_efect", 2, "(did you mean 'minimum_effect'?)"),
        (Study, "decision.allow_detectable_difference", "no", "found 'no', expected true or false"),
        (Study, "curves", [{"column": "a"}], "curves[0].label: the key is missing, expected a string that is not"),
        (Study, "curves", [{"column": "a"}], "(and 1 more)"),
        (Study, "prediction.value", -1, "prediction.value: found -1, expected a number above 0"),
        (Study, "thread", 3, "(did you mean 'threads'?)"),
        (Trainer, "command", "x", "command: found 'x', expected a list of strings that is not empty"),
        (Trainer, "history.format", "xml", "history.format: found 'xml', expected one of: jsonl, csv, log"),
        (Trainer, "history.file", "../x", "history.file: found '../x', expected a relative path"),
        (Trainer, "exit_codes", {"unavailable": 300}, "unavailable: found 300, expected an integer from 1 to 125"),
        (Configuration, "device", "tpu", "device: found 'tpu', expected a name such as auto, cpu, cuda:0"),
        (Configuration, "max_wait_minutes", -1, "max_wait_minutes: found -1, expected a number of 0 or more"),
        (Configuration, "lease_foler", "x", "(did you mean 'lease_folder'?)"),
        (MachineStudy, "quiet", {"foreign_share": 2}, "quiet.foreign_share: found 2, expected a number of 1 or less"),
        (MachineStudy, "peaks", {"a": {"bf16": "b"}}, "peaks.a.bf16: found 'b', expected a number"),
        (MachineStudy, "peaks", {"bf16": 59.4}, "peaks.bf16: found 59.4, expected a table"),
    ],
)  # fmt: skip
def test_wrong_value(model: type[BaseModel], place: str, value: Any, told: str) -> None:
    """Each kind of fault names the file, the place, what stands there and what may, and never in pydantic's words."""
    content = copy.deepcopy(FILES[model])
    *path, key = place.split(".")
    table = content
    for part in path:
        table = table[part]
    if value is GONE:
        del table[key]
    else:
        table[key] = value
    with pytest.raises(TachographError) as caught:
        validate(model, content, "FILE.toml")
    sentence = str(caught.value)
    assert sentence.startswith("FILE.toml: ")
    assert told in sentence
    assert "\n" not in sentence
    assert len(sentence) < 500
    assert not any(words in sentence for words in OF_PYDANTIC)


def test_deep_value_is_cut_short() -> None:
    """A list in a list in a list … is shown to a few levels, whatever wrote it."""
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(TachographError, match=r"title: found \[+\.\.\.") as caught:
        validate(Study, {**FILES[Study], "title": deep}, "FILE.toml")
    assert len(str(caught.value)) < 200
