"""outcome.toml: the record's own numbers, for programs and study files."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tachograph_study import execute_study

from tachograph.files import read_json
from tachograph.record.manifest import write_manifest
from tachograph.record.outcome import OUTCOME, outcome
from tachograph.record.verify import verify
from tachograph.study.layout import StudyFolder


def test_outcome_holds_the_numbers_of_the_record(recorded: StudyFolder) -> None:
    """Decision, factor with interval, and the prediction are those of record.json; the copy beside is the same."""
    record = read_json(recorded.record / "record.json")
    found = tomllib.loads((recorded.record / OUTCOME).read_text())
    headline = next(one for one in record["factors"] if one["headline"])
    assert (found["study"], found["record"]) == ("stub", record["record_id"])
    assert found["registration_sha256"] == record["registration"]["sha256"]
    arm = found["arms"][0]
    assert arm["decision"] == record["decision"]["arms"][0]["decision"]
    assert [arm[key] for key in ("factor", "low", "high")] == [headline[key] for key in ("factor", "low", "high")]
    assert (arm["arm"], arm["reference"], arm["blocks"]) == ("fast", "reference", 2)
    assert found["prediction"]["verdict"] == record["prediction"]["verdict"]
    assert found["prediction"]["measured_over_predicted"] == pytest.approx(headline["factor"] / 4.0)
    assert (recorded.path / OUTCOME).read_bytes() == (recorded.record / OUTCOME).read_bytes()


@pytest.mark.parametrize("odd", ['a "quoted" \\ path', "two\nlines\tand tabs", "\x00 \x1f \x7f", "δ* ≥ 1 — 😀", "'''"])
def test_odd_texts_come_back_from_toml(recorded: StudyFolder, odd: str) -> None:
    """Whatever a label or a reason holds, a TOML reader gives it back letter by letter."""
    record: dict[str, Any] = read_json(recorded.record / "record.json")
    record["decision"]["arms"][0]["sentence"] = odd
    assert tomllib.loads(outcome(record))["arms"][0]["why"] == odd


def test_unknown_numbers_have_no_key(recorded: StudyFolder) -> None:
    """TOML has no null: without an interval, a factor or a rule the keys are absent, and the reason is told."""
    record = read_json(recorded.record / "record.json")
    headline = next(one for one in record["factors"] if one["headline"])
    headline.update(factor=None, low=None, high=None)
    record["decision"] = {"registered": False, "reason": "no decision rule is registered", "arms": []}
    arm = tomllib.loads(outcome(record))["arms"][0]
    assert not {"factor", "low", "high", "decision"} & arm.keys()
    assert arm["why"] == "no decision rule is registered"


def test_forged_outcome_with_a_new_seal_is_found(study: StudyFolder) -> None:
    """A decision that somebody wrote by hand does not follow from record.json."""
    path = study.record / OUTCOME
    path.write_text(path.read_text().replace('decision = "', 'decision = "NOT '))
    write_manifest(study.record)
    assert f"{OUTCOME}: it is not what record.json gives" in verify(study.record)


def test_outcome_goes_with_its_record(study: StudyFolder) -> None:
    """When a run is made again, the outcome beside the record disappears with it, and nothing stale looks current."""
    execute_study(study.path.parents[1], forced="run-fast-seed0")
    assert not (study.path / OUTCOME).exists()
    assert Path(study.records / "001" / OUTCOME).is_file()
