"""What costs device time, and what does not (run-lifecycle and case D13)."""

from __future__ import annotations

import json
import os
import shutil
import time

import pytest

TARGET = "results/toy/runs/fast/seed0/history.jsonl"
RUNS = ["reference 0 6", "fast 0 6", "fast 1 6", "reference 1 6"]


def test_whole_study_runs_each_run_once_in_registered_order(executed_once):
    """Two blocks run as reference fast, fast reference: ABBA."""
    assert executed_once.trained() == RUNS


def test_second_call_does_nothing(executed):
    """An executed study is up to date."""
    done = executed.snakemake("-c2")
    assert done.returncode == 0
    assert "Nothing to be done" in done.stdout
    assert executed.trained() == RUNS


@pytest.mark.parametrize("metadata", ["with", "without"])
def test_touching_everything_trains_nothing(executed, metadata):
    """Times of files mean nothing, also where Snakemake has lost its metadata as in a fresh clone."""
    if metadata == "without":
        shutil.rmtree(executed.path / ".snakemake")
    later = time.time() + 5
    for path in executed.path.rglob("*"):
        if path.is_file():
            os.utime(path, (later, later))
    assert executed.snakemake("-c2").returncode == 0
    assert executed.trained() == RUNS


def test_added_seed_runs_that_seed_only(executed):
    """One new run per arm; the old histories keep their bytes."""
    before = executed.results("runs/fast/seed1/history.jsonl").read_bytes()
    executed.edit("config/studies/toy.toml", "seeds = [0, 1]", "seeds = [0, 1, 2]")
    done = executed.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    assert executed.trained() == [*RUNS, "fast 2 6", "reference 2 6"]
    assert executed.results("runs/fast/seed1/history.jsonl").read_bytes() == before
    assert [event["event"] for event in executed.ledger("registered", "amended")] == ["registered", "amended"]


@pytest.mark.parametrize("metadata", [pytest.param("with", marks=pytest.mark.slow), "without"])
def test_changed_environment_of_an_arm_runs_that_arm_only(executed, metadata):
    """Only the fast runs depend on the fast arm's environment."""
    if metadata == "without":
        shutil.rmtree(executed.path / ".snakemake")
    executed.edit("config/studies/toy.toml", 'STUB_PATH = "fast" }', 'STUB_PATH = "fast", STUB_PAUSE = "0.02" }')
    assert executed.snakemake("-c2").returncode == 0
    assert executed.trained() == [*RUNS, "fast 0 6", "fast 1 6"]


@pytest.mark.slow
def test_undone_edit_costs_nothing(executed):
    """Going back to a plan whose attempts are there publishes them again."""
    edit = ('STUB_PATH = "fast" }', 'STUB_PATH = "fast", STUB_PAUSE = "0.02" }')
    executed.edit("config/studies/toy.toml", *edit)
    assert executed.snakemake("-c2").returncode == 0
    executed.edit("config/studies/toy.toml", *reversed(edit))
    assert executed.snakemake("-c2").returncode == 0
    assert executed.trained() == [*RUNS, "fast 0 6", "fast 1 6"]
    assert "(made of an earlier version of the study); attempt 1 counts" in executed.results("status.md").read_text()
    assert '"STUB_PAUSE"' not in executed.results("runs/fast/seed0/run.json").read_text()


def test_swapped_values_are_noticed(executed):
    """Two values that trade places make another run, though the set of values is the same."""
    executed.edit("config/studies/toy.toml", "[arms.reference]", "[settings]\nscale = 6\n\n[arms.reference]")
    executed.edit("config/studies/toy.toml", "iterations = 6", "iterations = 5")
    assert executed.snakemake(TARGET, "-c2").returncode == 0
    executed.edit("config/studies/toy.toml", "scale = 6", "scale = 5")
    executed.edit("config/studies/toy.toml", "iterations = 5", "iterations = 6")
    assert executed.snakemake(TARGET, "-c2").returncode == 0
    assert executed.trained() == [*RUNS, "fast 0 5", "fast 0 6"]


def test_edited_module_of_the_trainer_is_noticed(executed):
    """A change of the trainer's code runs everything again in an exploratory study, and is an amendment."""
    executed.edit("stub/stub_trainer.py", "0.01 * generator", "0.02 * generator")
    assert executed.snakemake("-c2").returncode == 0
    assert executed.trained() == [*RUNS, *RUNS]
    assert executed.ledger("amended")


def test_comment_in_the_study_file_changes_nothing(executed):
    """The registration is the meaning of the file, not its bytes."""
    executed.edit("config/studies/toy.toml", "[design]", "# how many\n[design]")
    done = executed.snakemake("-c2")
    assert "Nothing to be done" in done.stdout
    assert not executed.ledger("amended")


def test_forced_target_runs_that_seed_alone(executed):
    """-f makes one run again, visibly; the next call renews tables and record and trains nothing."""
    target = "results/toy/runs/fast/seed1/history.jsonl"
    done = executed.snakemake(target, "-f", "-c2")
    assert done.returncode == 0, done.stdout
    assert executed.trained() == [*RUNS, "fast 1 6"]
    discarded = executed.ledger("discarded")
    assert [(line["run"], line["attempt"], line["reason"]) for line in discarded] == [
        ("run-fast-seed1", 1, "forced rerun")
    ]
    assert executed.snakemake("-c2").returncode == 0
    assert executed.trained() == [*RUNS, "fast 1 6"]
    assert '"attempt": 2' in executed.results("runs/fast/seed1/run.json").read_text()


@pytest.mark.parametrize("options", [[], ["-f"]])
def test_single_target_is_made_while_an_edit_is_registered(executed, options):
    """A missing or forced run is made in the same call that puts an edit of its study on record."""
    target = "results/toy/runs/fast/seed1/history.jsonl"
    if not options:
        assert executed.tachograph("discard", "toy", "fast", "1", "--reason", "a trial").returncode == 0
    executed.edit("config/studies/toy.toml", "threads = 1", "threads = 1\nmax_hold_minutes = 20")
    done = executed.snakemake(target, *options, "-c2")
    assert done.returncode == 0, done.stdout
    assert executed.trained() == [*RUNS, "fast 1 6"]
    assert executed.results("runs/fast/seed1/history.jsonl").exists()


@pytest.mark.slow
def test_deleted_plan_trains_nothing(executed):
    """The plan files can be made again from the study; the runs are still there."""
    shutil.rmtree(executed.results("plan"))
    assert executed.snakemake("-c2").returncode == 0
    assert executed.trained() == RUNS


def test_confirmatory_study_with_a_finished_run_refuses_a_change(executed_once, tmp_path):
    """It names what differs and the ways on, before any job; an amendment with a reason lets it go on."""
    project = executed_once.copy_to(tmp_path / "project")
    shutil.rmtree(project.path / "results")
    shutil.rmtree(project.path / ".snakemake")
    project.make_confirmatory()
    project.edit("config/studies/toy.toml", "seeds = [0, 1]", "seeds = [0, 1, 2, 3]")
    first = project.snakemake(TARGET, "-c2")
    assert first.returncode == 0, first.stdout
    ran = project.trained()
    project.edit("config/studies/toy.toml", "iterations = 6", "iterations = 7")
    refused = project.snakemake("-c2")
    assert refused.returncode != 0
    assert "study.design.iterations" in refused.stdout
    assert "tachograph amend toy --reason" in refused.stdout
    assert project.trained() == ran
    amended = project.tachograph("amend", "toy", "--reason", "seven are needed")
    assert amended.returncode == 0, amended.stdout
    assert project.snakemake(TARGET, "-c2").returncode == 0
    assert project.trained() == [*ran, "fast 0 7"]
    assert project.ledger("amended")[0]["results_known"] is True


def test_attempts_tell_no_folder_of_the_machine(executed_once):
    """run.json names what lies below the working directory relative to it."""
    facts = [json.loads(path.read_text()) for path in executed_once.results("attempts").rglob("run.json")]
    assert facts
    for one in facts:
        assert one["environment"]["NUMBA_CACHE_DIR"].startswith("results/.kernels/")
        assert str(executed_once.path) not in json.dumps([one["command"], one["environment"]])
