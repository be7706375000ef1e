"""Candidates in a study executed by real Snakemake: kept, rejected, not run, failed; measured once and sealed."""

from __future__ import annotations

import csv
import json
import shutil
import tomllib
from pathlib import Path
from typing import Any

import pytest

from study_project import Project, make_project
from tachograph.files import sha256_file

COMMAND = """clear_environment = ["STUB_*"]
parity = ["{python}", "stub/stub_parity.py", "--arms", "{arms}", "--out", "{out}"]
exit_codes = { unavailable = 69, not_finite = 3 }
candidate = [
    "{python}", "stub/stub_candidate.py", "--name", "{candidate}", "--arm", "{arm}", "--pairs", "{pairs}",
    "--steps", "{steps}", "--out", "{out}",
]
"""

CANDIDATES = """
[decision]
minimum_effect = 1.1
sd_log_factor = 0.05
reason = "a stub"
"""

COMPONENT = """
[candidates.{name}]
title = "what the stub calls {name}"
why = "to see it end as it should"
measure = "component"
pairs = 4
steps = 20
"""

IN_TURN = """
[candidates.{name}]
title = "runs in turn"
why = "to see it end as it should"
measure = "run"
against = "reference"
pairs = 3
iterations = 4
environment = {{ {environment} }}
"""


def make(path: Path, *names: str) -> Project:
    """A project whose study has these component candidates, and seven that are measured by runs in turn."""
    project = make_project(path)
    for program in ("stub_candidate.py", "stub_parity.py"):
        shutil.copy(Path(__file__).with_name(program), project.path / "stub")
    project.edit("config/trainers/stub.toml", 'clear_environment = ["STUB_*"]\n', COMMAND)
    tables = [COMPONENT.format(name=name) for name in names]
    longer = IN_TURN.replace("iterations = 4", "iterations = 12")  # so that a moment's stall hides no gain
    quick = 'STUB_PATH = "fast", STUB_PAUSE = "0.002"'
    tables.append(longer.format(name="faster", environment=quick) + 'parity = "fast"\n')
    tables.append(longer.format(name="unshown", environment=quick))
    tables.append(IN_TURN.format(name="unlike", environment=quick) + 'parity = "far"\n')
    tables.append(IN_TURN.format(name="slower", environment='STUB_PAUSE = "0.05"'))
    tables.append(IN_TURN.format(name="flag", environment='STUB_FLAG = "1"') + 'requires = "rocm"\n')
    tables.append(IN_TURN.format(name="diverging", environment='STUB_EXIT = "3"'))
    tables.append(IN_TURN.format(name="lacking", environment='STUB_EXIT = "69"'))
    study = project.path / "config/studies/toy.toml"
    study.write_text(study.read_text() + CANDIDATES + "".join(tables))
    return project


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A study with candidates, executed to its end; not to be changed."""
    project = make(tmp_path_factory.mktemp("candidates") / "project", "quick", "even", "nan", "off", "absent")
    done = project.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    return project


def found(project: Project) -> dict[str, Any]:
    record = json.loads(project.results("record/record.json").read_text())
    return {one["name"]: one for one in record["candidates"]}


@pytest.mark.parametrize(
    ("name", "verdict", "reason"),
    [
        ("quick", "KEPT", None),
        ("even", "REJECTED", "no-gain"),
        ("nan", "REJECTED", "invalid-output"),
        ("off", "REJECTED", "invalid-output"),
        ("absent", "NOT RUN", None),
        ("faster", "KEPT", None),
        ("unlike", "REJECTED", "invalid-output"),
        ("unshown", "NO VERDICT", "numerics-not-shown"),
        ("slower", "REJECTED", "no-gain"),
        ("flag", "NOT RUN", None),
        ("diverging", "REJECTED", "invalid-output"),
        ("lacking", "NOT RUN", None),
    ],
)
def test_every_candidate_ends_with_its_verdict(once, name, verdict, reason):
    """Kept, or rejected for the reason that its own fault calls for, or not run, or a gain that shows no numerics."""
    one = found(once)[name]
    assert (one["verdict"], one["reason"]) == (verdict, reason), one["sentence"]


def test_rejected_candidate_keeps_its_figures_and_its_evidence(once):
    """The speed of a candidate with rows that are not finite is told, with their count and the hash of its file."""
    one = found(once)["nan"]
    assert "2/20 (10.00%) steps with NaN rows" in one["sentence"]
    assert one["measured"]["low"] > 1.2  # it slept a tenth as long
    evidence = once.results("record") / one["evidence"]["path"]
    assert sha256_file(evidence) == one["evidence"]["sha256"] == sha256_file(once.results("candidates/nan.json"))
    page = once.results("record/record.md").read_text()
    assert "**REJECTED** (invalid-output)" in page
    assert "2/20 (10.00%) steps" in page


def test_what_could_not_be_run_says_why(once):
    """The reason of the trainer is told as its word, that of the engine as its own; neither is a rejection."""
    both = found(once)
    assert both["absent"]["sentence"] == "the trainer says: the stub has no compiler"
    assert "kind rocm" in both["flag"]["sentence"]
    assert "exit code 69" in both["lacking"]["sentence"]
    assert both["absent"]["measured"] is both["flag"]["measured"] is None


def test_run_that_gives_up_at_a_number_that_is_not_finite_is_a_result(once):
    """By the exit code that the trainer file declares: 3 of 12 iterations, no factor, and the attempts are valid."""
    one = found(once)["diverging"]
    assert (one["status"], one["measured"]["nonfinite_steps"], one["measured"]["steps"]) == ("counted", 3, 12)
    assert one["measured"]["factor"] is None


def test_runs_of_a_candidate_are_called_by_arm_and_seed(once):
    """Their checks name them as the page names runs; the gates that the page lists are gates and no runs."""
    place = json.loads(once.results("record/record.json").read_text())["attempts"]
    folder = next(f"{one['run']}/{one['attempt']:03d}" for one in place if one["run"].startswith("candidate-faster"))
    checks = json.loads((once.results("record/attempts") / folder / "run.json").read_text())["checks"]
    assert [one["name"] for one in checks][:3] == [
        "reference seed 0 (turn 1)", "faster seed 0 (turn 2)", "faster seed 1 (turn 3)",
    ]  # fmt: skip
    page = once.results("record/record.md").read_text()
    listed = next(line for line in page.splitlines() if line.startswith("What is left out"))
    assert "turn" not in listed
    assert "seed" not in listed
    assert "nor does a candidate of which one run fails one" in listed


def test_numerics_of_whole_runs_are_those_of_the_parity_command(once):
    """It is run once more per candidate, in its environment, with the arm and the candidate's own name as the arms."""
    both = found(once)
    assert (both["faster"]["measured"]["parity"], both["unlike"]["measured"]["parity"]) == ("PASS", "FAIL")
    assert both["unshown"]["measured"]["parity"] == "NOT REGISTERED"
    asked = (once.path / "parity.log").read_text().splitlines()
    assert asked == ["reference,fast fast", "reference,far fast"]  # the arms, then STUB_PATH
    assert "off by 1" in both["unlike"]["sentence"] + both["unlike"]["measured"]["parity_sentence"]
    file = once.results("record/attempts/candidate-unlike-seed0/001/parity.json")
    assert json.loads(file.read_text())["schema"] == "parity/1"
    plan = once.tachograph("plan", "toy").stdout
    assert "stub/stub_parity.py --arms reference,far --out" in plan
    assert "and far against float64" in plan


def test_runs_in_turn_are_interleaved_and_paired(once):
    """Three pairs of runs are made as base candidate, candidate base, candidate base, with a seed per pair."""
    content = json.loads(once.results("candidates/faster.json").read_text())
    order = [(run["side"], run["seed"]) for run in content["runs"]]
    assert order == [
        ("base", 0), ("candidate", 0), ("candidate", 1), ("base", 1), ("candidate", 2), ("base", 2),
    ]  # fmt: skip
    assert once.trained()[4:10] == [
        "reference 0 12", "fast 0 12", "fast 1 12", "reference 1 12", "fast 2 12", "reference 2 12",
    ]  # fmt: skip


def test_candidates_are_measured_after_the_timed_runs(once):
    """They disturb no block, and the registered order is the realised one."""
    record = json.loads(once.results("record/record.json").read_text())
    realised = record["order"]["realised"]
    assert [key.split("-")[0] for key in realised] == ["run"] * 4 + ["candidate"] * 12
    assert realised == record["order"]["registered"]
    assert record["counts"]["planned"] == record["counts"]["counted"] == 16


def test_record_with_candidates_verifies_wherever_it_lies(once, tmp_path):
    """Every figure of the candidates follows from the raw files in the record, histories of runs in turn included."""
    shutil.copytree(once.results("record"), tmp_path / "elsewhere")
    done = once.tachograph("verify", str(tmp_path / "elsewhere"))
    assert done.returncode == 0, done.stdout
    path = tmp_path / "elsewhere" / "record.json"
    record = json.loads(path.read_text())
    record["candidates"][1]["measured"]["factor"] = 2.0
    path.write_text(json.dumps(record))
    told = once.tachograph("verify", str(tmp_path / "elsewhere"))
    assert told.returncode != 0
    assert "candidates[1].measured.factor" in told.stdout


def test_plan_and_outcome_name_the_candidates(once):
    """Before: what will be measured and from which factor on it is kept. After: what became of each."""
    plan = once.tachograph("plan", "toy").stdout
    assert "| quick " in plan
    assert "20 batches in 4 pairs" in plan
    assert "3 pairs of runs of 4 iterations, on rocm only" in plan
    outcome = tomllib.loads(once.results("outcome.toml").read_text())
    verdicts = {one["candidate"]: one["verdict"] for one in outcome["candidates"]}
    assert verdicts == {name: one["verdict"] for name, one in found(once).items()}


def test_table_holds_every_candidate(once):
    """candidates.csv has one row for each, with verdict and figures."""
    with once.results("record/tables/candidates.csv").open(encoding="utf-8") as stream:
        rows = {row["candidate"]: row for row in csv.DictReader(stream)}
    assert len(rows) == 12
    assert float(rows["nan"]["nonfinite_steps"]) == 2
    assert float(rows["quick"]["factor"]) == found(once)["quick"]["measured"]["factor"]
    assert rows["absent"]["factor"] == ""


def test_forced_candidate_is_measured_again_and_listed(once, tmp_path):
    """-f makes one candidate again, visibly, and nothing else."""
    project = once.copy_to(tmp_path / "project")
    trained, measured = project.trained(), (project.path / "measured.log").read_text()
    done = project.snakemake("results/toy/candidates/quick.json", "-f", "-c2")
    assert done.returncode == 0, done.stdout
    assert (project.path / "measured.log").read_text() == measured + "quick fast\n"
    assert project.trained() == trained
    discarded = project.ledger("discarded")
    assert [(line["run"], line["reason"]) for line in discarded] == [("candidate-quick-seed0", "forced rerun")]


@pytest.mark.slow
def test_discarded_candidate_is_made_again(once, tmp_path):
    """tachograph discard takes a candidate out; the next call measures that one only, and writes the record."""
    project = once.copy_to(tmp_path / "project")
    done = project.tachograph("discard", "toy", "faster", "0", "--role", "candidate", "--reason", "a visitor")
    assert done.returncode == 0, done.stdout
    assert not project.results("candidates/faster.json").exists()
    before = len(project.trained())
    again = project.snakemake("-c2")
    assert again.returncode == 0, again.stdout
    assert len(project.trained()) == before + 6
    assert found(project)["faster"]["evidence"]["path"].endswith("002/faster.json")
    both = project.tachograph("compare", str(once.results("record")), str(project.results("record")))
    assert both.returncode == 0, both.stdout
    rows = [line for line in both.stdout.splitlines() if line.startswith("| nan ")]
    assert rows[0].count("REJECTED (invalid-output)") == 2


@pytest.mark.slow
def test_failed_candidate_fails_like_any_run_and_can_be_made_again(tmp_path):
    """The others go on, the exit code is not 0, status.md says why; once it works only that one is made."""
    project = make(tmp_path / "project", "quick", "crash")
    failed = project.snakemake("-c2")
    assert failed.returncode != 0
    status = project.results("status.md").read_text()
    assert "the stub was told to fail" in status
    assert "1 invalid" in status
    assert project.results("candidates/quick.json").exists()
    assert project.results("candidates/slower.json").exists()
    assert not project.results("record").exists()
    before = (project.path / "measured.log").read_text()
    (project.path / "healed").touch()
    done = project.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    assert (project.path / "measured.log").read_text() == before + "crash fast\n"
    assert found(project)["crash"]["reason"] == "no-gain"


def test_altered_evidence_is_noticed(once, tmp_path):
    """A history of a candidate's run is sealed like any other file."""
    project = once.copy_to(tmp_path / "project")
    place = project.results("attempts/candidate-faster-seed0/001/002-candidate/history.jsonl")
    place.write_text(place.read_text().replace('"steps": 1000', '"steps": 9000'))
    done = project.snakemake("-c2")
    assert done.returncode != 0
    assert "002-candidate/history.jsonl" in done.stdout
