"""Runs that go to their end and do not pass a gate: an answer about their arm, told in the record."""

from __future__ import annotations

import json

import pytest
from tests.study_project import CONFIRMATORY, Project, make_project


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A study executed by one command. The fast arm gives up with a NaN for seed 0, and writes a null for seed 1."""
    project = make_project(tmp_path_factory.mktemp("invalid") / "project")
    judged = CONFIRMATORY.replace("confirmatory", "exploratory")
    project.edit("config/studies/toy.toml", '"exploratory"', judged)
    project.edit("config/trainers/stub.toml", "clear_environment", "exit_codes = { not_finite = 4 }\nclear_environment")
    project.plant("fast", "nan null")
    done = project.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    assert "run-fast-seed0 is INVALID: finite metrics: exit code 4: history key 'loss' is nan" in done.stdout
    return project


@pytest.fixture
def invalid(once: Project, tmp_path) -> Project:
    return once.copy_to(tmp_path / "project")


def record_of(project: Project) -> dict:
    return json.loads(project.results("record/record.json").read_text())


def test_invalid_runs_stand_in_the_record_with_their_reason(once):
    """One command gives a record: no ratio of the arm, its runs among the counts, the gate named, REJECT."""
    record, page = record_of(once), once.results("record/record.md").read_text()
    counts = record["counts"]
    assert (counts["planned"], counts["counted"], counts["invalid"], counts["missing"]) == (4, 2, 2, 0)
    assert all(one["factor"] is None for one in record["factors"])
    (arm,) = record["decision"]["arms"]
    assert (arm["decision"], arm["curves"]) == ("REJECT", "INVALID")
    assert "exit code 4: history key 'loss' is nan" in page
    assert "'loss' is null in 1 iteration, first in iteration 4" in page
    assert once.tachograph("verify", "results/toy/record").returncode == 0
    assert "makes an invalid run again" in once.results("status.md").read_text()


def test_invalid_result_is_not_drawn_again_by_itself(invalid):
    """A plain snakemake has nothing to do, even though the next try would pass."""
    invalid.heal()
    assert "Nothing to be done" in invalid.snakemake("-c2").stdout
    assert len(invalid.trained()) == 4


def test_forced_rerun_replaces_it_visibly(invalid):
    """With -f the invalid attempt is kept, listed as discarded with its gate, and the record is renewed."""
    invalid.heal()
    for seed in (0, 1):
        done = invalid.snakemake(f"results/toy/runs/fast/seed{seed}/history.jsonl", "-f", "-c2")
        assert done.returncode == 0, done.stdout
    assert invalid.snakemake("-c2").returncode == 0
    page = invalid.results("record/record.md").read_text()
    assert "forced rerun; it was invalid: finite metrics" in page
    assert record_of(invalid)["counts"]["counted"] == 4
    assert invalid.results("records/001/record.md").exists()


def test_altered_invalid_result_is_named(invalid):
    """What stands as invalid is sealed like what counts."""
    path = invalid.results("attempts/run-fast-seed1/001/history.jsonl")
    path.write_text(path.read_text().replace("null", "0.5"))
    done = invalid.snakemake("-c2")
    assert done.returncode != 0
    assert "attempts/run-fast-seed1/001/history.jsonl: it was altered" in done.stdout


def test_corrected_description_is_judged_without_training(invalid):
    """Without the metric the null is no fault; the edited trainer file judges the same files again, and trains nothing.

    A trainer that has given up is no other for that.
    """
    invalid.edit("config/trainers/stub.toml", 'metrics = ["loss"]', "metrics = []")
    curve = CONFIRMATORY[CONFIRMATORY.index("[[curves]]") :]
    invalid.edit("config/studies/toy.toml", curve, "\n")
    done = invalid.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    assert len(invalid.trained()) == 4
    record = record_of(invalid)
    assert (record["counts"]["counted"], record["counts"]["invalid"]) == (3, 1)
    (again,) = [one for one in record["deviations"] if one["kind"] == "judged again"]
    assert again["run"] == "run-fast-seed1"
    assert "was invalid (finite metrics: 'loss' is null" in again["what_happened"]


def test_misspelt_column_costs_no_training_once_it_is_corrected(tmp_path):
    """A history that cannot be read is no result: the job fails; the corrected trainer file reads the same files."""
    project = make_project(tmp_path / "project")
    project.edit("config/trainers/stub.toml", 'column = "steps"', 'column = "stepz"')
    failed = project.snakemake("-c2")
    assert failed.returncode != 0
    assert (
        "no row has the column 'stepz' that the trainer file names; the first row has: collection_seconds"
        in failed.stdout
    )
    assert "`tachograph settle toy reference 0" in project.results("status.md").read_text()  # as the command accepts it
    trained = len(project.trained())
    project.edit("config/trainers/stub.toml", 'column = "stepz"', 'column = "steps"')
    done = project.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    assert len(project.trained()) == trained == 4


def test_description_that_cannot_read_a_standing_result_is_refused(executed):
    """A column that no history has: the study is not amended, and the sentence names it."""
    before = executed.results("ledger/registration.json").read_bytes()
    executed.edit("config/trainers/stub.toml", 'column = "steps"', 'column = "stepz"')
    done = executed.snakemake("-c2")
    assert done.returncode != 0
    assert "a result that stands cannot be read" in done.stdout
    assert executed.results("ledger/registration.json").read_bytes() == before
    assert len(executed.trained()) == 4


def test_run_that_fails_each_time_can_be_left_at_that(tmp_path):
    """Without a result there is no record; settled failures stand as invalid in it, also where nothing was written."""
    project = make_project(tmp_path / "project")
    early = project.tachograph("settle", "toy", "fast", "0", "--reason", "no")
    assert (early.returncode, "never executed" in early.stdout) == (2, True)
    project.plant("fast", "exit silent")
    assert project.snakemake("-c2").returncode != 0
    assert "tachograph settle toy fast 0" in project.results("status.md").read_text()
    refused = project.tachograph("settle", "toy", "reference", "0", "--reason", "no")
    assert "it has a result already" in refused.stdout
    for seed in ("0", "1"):
        done = project.tachograph("settle", "toy", "fast", seed, "--reason", "it never works here")
        assert done.returncode == 0, done.stdout
    project.results("runs/fast/seed1/history.jsonl").unlink()
    assert project.tachograph("restore", "toy").returncode == 0
    done = project.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    assert len(project.trained()) == 4
    assert "it never works here (exit status: exit code 1: the stub was told to fail)" in (
        project.results("record/record.md").read_text()
    )
    assert (record_of(project)["counts"]["invalid"], record_of(project)["counts"]["missing"]) == (2, 0)
    assert project.tachograph("verify", "results/toy/record").returncode == 0
    project.heal()
    assert project.snakemake("results/toy/runs/fast/seed1/history.jsonl", "-f", "-c2").returncode == 0
    assert project.trained()[4:] == ["fast 1 6"]


def test_settled_run_that_cannot_be_read_stops_no_amendment(tmp_path):
    """What a user has left at its failure is not a result that an amendment would lose; once readable, it counts."""
    project = make_project(tmp_path / "project")
    project.edit("config/trainers/stub.toml", 'column = "steps"', 'column = "stepz"')
    assert project.snakemake("-c2").returncode != 0
    settled = project.tachograph("settle", "toy", "fast", "0", "--reason", "nobody reads it")
    assert settled.returncode == 0, settled.stdout
    project.edit("config/studies/toy.toml", "Is it faster?", "Is it really faster?")
    amended = project.tachograph("amend", "toy", "--reason", "a better question")
    assert amended.returncode == 0, amended.stdout
    assert len(project.ledger("judged")) == 1
    project.edit("config/trainers/stub.toml", 'column = "stepz"', 'column = "steps"')
    assert project.tachograph("amend", "toy", "--reason", "the column's name").returncode == 0
    assert [line["validity"] for line in project.ledger("judged")] == ["invalid"] + ["valid"] * 4
    assert len(project.trained()) == 4
