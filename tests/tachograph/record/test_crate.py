"""The record as a Provenance Run Crate, judged by roc-validator without a network."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tachograph_study import execute_study, lay_out, make, one_arm, opened, validators_python

from tachograph.commands.discard import discard
from tachograph.files import read_json, write_json
from tachograph.record.exports.crate import CRATE, crate, parts_of
from tachograph.record.manifest import read_manifest
from tachograph.record.verify import verify
from tachograph.study.layout import StudyFolder

PROGRAM = Path(__file__).parent / "validators" / "validate_crates.py"
COMPLETED, FAILED = "http://schema.org/CompletedActionStatus", "http://schema.org/FailedActionStatus"
UNKNOWN_ADDRESSES = {  # neither the trainer nor the operator has an address that a record could know
    "process-run-crate-0.5_3.2": "The Application SHOULD have a url",
    "process-run-crate-0.5_5.1": "The SoftwareApplication id SHOULD be an absolute URI",
    "ro-crate-1.1_31.2": "The organization SHOULD have a URL.",
}


def findings(tmp_path: Path, level: str, *crates: Path) -> list[list[str]]:
    """What roc-validator has to say of each crate, from its own environment, with no document but ours."""
    command = [str(validators_python()), str(PROGRAM), str(tmp_path / "cache"), level, *map(str, crates)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=250)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return [found[str(crate)] for crate in crates]


def entities(record: Path) -> dict[str, dict[str, Any]]:
    return {one["@id"]: one for one in read_json(record / CRATE)["@graph"]}


def edited(record: Path, target: Path, edit: Callable[[dict[str, dict[str, Any]]], None]) -> Path:
    """A copy of a record with another crate."""
    shutil.copytree(record, target)
    crate = read_json(target / CRATE)
    edit({one["@id"]: one for one in crate["@graph"]})
    write_json(target / CRATE, crate)
    return target


def test_validator_accepts_the_crate_and_refuses_damaged_ones(recorded: StudyFolder, tmp_path: Path) -> None:
    """REQUIRED: nothing is wanting, until a raw file is gone or an action has no instrument.

    RECOMMENDED: nothing is wanting but addresses that a record cannot know.
    """
    without_file = Path(shutil.copytree(recorded.record, tmp_path / "without-file"))
    (without_file / "attempts/run-fast-seed0/001/history.jsonl").unlink()
    without_instrument = edited(
        recorded.record,
        tmp_path / "without-instrument",
        lambda graph: graph["#attempts/run-fast-seed0/001"].pop("instrument"),
    )
    (recommended,) = findings(tmp_path, "RECOMMENDED", recorded.record)
    assert recommended == [f"RECOMMENDED {check}: {text}" for check, text in sorted(UNKNOWN_ADDRESSES.items())]
    first, second = findings(tmp_path, "REQUIRED", without_file, without_instrument)
    assert any("history.jsonl" in finding for finding in first)
    assert any("MUST have an instrument" in finding for finding in second)


def test_every_attempt_is_an_action_with_its_files(recorded: StudyFolder) -> None:
    """Each attempt of record.json: its times, its outputs with the hashes of the seal, logs named as kept outside."""
    record, graph = read_json(recorded.record / "record.json"), entities(recorded.record)
    sealed = read_manifest(recorded.record)
    assert record["attempts"]
    for one in record["attempts"]:
        name = f"attempts/{one['run']}/{one['attempt']:03d}"
        action = graph[f"#{name}"]
        assert (action["@type"], action["actionStatus"]) == ("CreateAction", COMPLETED)
        assert action["startTime"] == one["started_at"].replace("Z", "+00:00")
        results = action["result"] if isinstance(action["result"], list) else [action["result"]]
        held = {graph[result["@id"]]["name"]: graph[result["@id"]]["sha256"] for result in results}
        assert held == {f"{name}/{file}": sha for file, sha in one["files"].items()}
        assert graph[f"#outside/{name}/trainer.log"]["@type"] == "CreativeWork"
        control = graph[f"#control/{name}"]
        assert control["object"] == {"@id": f"#{name}"}
        assert graph[control["instrument"]["@id"]]["@type"] == "HowToStep"
    files = {name: one for name, one in graph.items() if "File" in one["@type"] and "sha256" in one}
    assert {name: one["sha256"] for name, one in files.items()} == {k: v for k, v in sealed.items() if k != CRATE}
    assert all(int(one["contentSize"]) == (recorded.record / name).stat().st_size for name, one in files.items())


def test_references_lead_to_entities(recorded: StudyFolder) -> None:
    """Nothing in the graph points to an entity that is not there, but for addresses of specifications."""
    graph = entities(recorded.record)

    def references(value: Any) -> list[str]:
        if isinstance(value, dict):
            return [value["@id"]] if set(value) == {"@id"} else [r for v in value.values() for r in references(v)]
        return [r for one in value for r in references(one)] if isinstance(value, list) else []

    named = {name for one in graph.values() for name in references({k: v for k, v in one.items() if k != "@id"})}
    assert {name for name in named - graph.keys() if not name.startswith("https://")} == set()


TWO_RUNS = one_arm("An attempt fails, another one is thrown away", 4, 7, 8)


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A record of a study in which an attempt crashed, its successor counts, and the other run was discarded."""
    root = tmp_path_factory.mktemp("troubled")
    lay_out(root, lambda _: TWO_RUNS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUB_FAIL", "reference 7")
        execute_study(root)
    folder = execute_study(root)
    planned = opened(root).find("run", "only", 8)
    discard(folder, planned, "a neighbour used the <machine>")
    make(folder)
    return folder.record


def test_attempts_that_do_not_count_are_failed_actions(troubled: Path, tmp_path: Path) -> None:
    """A crash has its exit code as error, a discarded attempt its reason; the execution lacks a run; all valid."""
    graph = entities(troubled)
    crashed, again = graph["#attempts/run-only-seed7/001"], graph["#attempts/run-only-seed7/002"]
    assert (crashed["actionStatus"], again["actionStatus"]) == (FAILED, COMPLETED)
    assert crashed["error"].startswith("failed; exit code 1")
    assert "error" not in again
    discarded = graph["#attempts/run-only-seed8/001"]
    assert discarded["actionStatus"] == FAILED
    assert discarded["error"] == "discarded: a neighbour used the <machine>"
    assert graph["#execution"]["error"] == "1 planned run has no attempt that counts"
    assert verify(troubled) == []
    assert findings(tmp_path, "REQUIRED", troubled) == [[]]


@pytest.mark.parametrize(
    ("ending", "error"),
    [
        ({"status": "interrupted", "reason": "the program was killed"}, "interrupted; the program was killed"),
        ({"status": "killed", "signal": "SIGKILL", "reason": None}, "killed; signal SIGKILL"),
        ({"status": "time_limit", "reason": "it was held for 60 s"}, "time limit; it was held for 60 s"),
        ({"validity": "invalid", "reason": "gate finite metrics"}, "invalid; gate finite metrics"),
    ],
)
def test_every_kind_of_ending_has_its_error(recorded: StudyFolder, ending: dict[str, Any], error: str) -> None:
    """All words of the ledger for an attempt that did not go well become the error of a failed action."""
    record = read_json(recorded.record / "record.json")
    record["attempts"][0] |= {"counts": False, **ending}
    graph = crate(record, parts_of(recorded.record, read_manifest(recorded.record)))["@graph"]
    first = record["attempts"][0]
    (action,) = [one for one in graph if one["@id"] == f"#attempts/{first['run']}/001"]
    assert (action["actionStatus"], action["error"]) == (FAILED, error)
