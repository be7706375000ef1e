"""Wrong files and options: one sentence that names file, key, found and expected, before any device time."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from tachograph.study.layout import StudyFolder
from tachograph.study.state import read_state

STUDY = "config/studies/toy.toml"
TRAINER = "config/trainers/stub.toml"


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        (STUDY, "threads = 1", "threads = 1\nthread = 2", [STUDY, "thread", "unknown key", "threads"]),
        (STUDY, "threads = 1", 'threads = "two"', [STUDY, "threads", "'two'", "integer"]),
        (STUDY, 'trainer = "stub"', 'trainer = "nobody"', ["config/trainers/nobody.toml", "not there"]),
        (STUDY, 'reference = "reference"', 'reference = "slow"', [STUDY, "design.reference", "'slow'", "fast"]),
        (STUDY, "seeds = [0, 1]", "seeds = [0, 0]", [STUDY, "seeds", "each seed once"]),
        (STUDY, "seeds = [0, 1]", "seeds = [0, 'a']", [STUDY, "design.seeds[1]", "'a'"]),
        (STUDY, "iterations = 6", "iterations = 0", [STUDY, "design.iterations", "0"]),
        (STUDY, "[design]", "[settings]\nsize = 3\n[design]", [STUDY, "settings.size", "scale"]),
        (STUDY, "[design]", "[settings]\nscale = 'big'\n[design]", [STUDY, "settings.scale", "'big'", "number"]),
        (STUDY, "[design]", "[profile]\nsteps = 3\n[design]", [STUDY, "profile", "stub"]),
        (STUDY, "question =", "question", [STUDY, "TOML"]),
        (STUDY, '"exploratory"', '"casual"', [STUDY, "registration.kind", "'casual'", "confirmatory"]),
        (STUDY, '"exploratory"', '"confirmatory"', [STUDY, "decision", "missing", "mark the study exploratory"]),
        (TRAINER, "{scale}", "{size}", [TRAINER, "{size}", "{scale}"]),
        (TRAINER, '"--seed", "{seed}",', "", [TRAINER, "command", "{seed}"]),
        (TRAINER, 'paths = ["stub"]', 'paths = ["gone"]', [TRAINER, "code.paths", "gone"]),
        (TRAINER, 'metrics = ["loss"]', 'metrics = "loss"', [TRAINER, "history.metrics", "'loss'", "list"]),
        ("config/config.yaml", "studies: [toy]", "studies: [toi]", ["config/studies/toi.toml", "toy"]),
        ("config/config.yaml", "studies: [toy]", "study: [toy]", ["config/config.yaml", "studies"]),
        ("config/config.yaml", "studies: [toy]", "studies: [toy]\ndevice: tpu", ["config.yaml", "device", "tpu"]),
        ("config/config.yaml", "minutes: 1", "minutes: 12:30:00", ["config.yaml", "line 3", "12:30:00", "decimal"]),
        ("config/config.yaml", "studies:", "studies: []\nstudies:", ["config.yaml", "line 2", "'studies' twice"]),
    ],
)
def test_wrong_key_or_value(project, file, before, after, words):
    """Planning already refuses it, with one sentence."""
    project.edit(file, before, after)
    done = project.snakemake("-n")
    assert done.returncode != 0
    sentence = next(line for line in done.stdout.splitlines() if words[0] in line)
    for word in words:
        assert word in sentence
    assert project.trained() == []


def test_aliases_are_refused_before_snakemake_reads_them(project):
    """Snakemake's own reader does not come back from such a file."""
    lines = [
        "a0: &a0 {x: 1, y: 2}",
        *(f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}, z: *a{n - 1}}}" for n in range(1, 30)),
    ]
    (project.path / "config/config.yaml").write_text("\n".join(lines))
    done = project.snakemake("-n")
    assert done.returncode != 0
    assert "config/config.yaml: line 1: found the anchor or alias 'a0', expected none" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--config", "stuides=[toy]"], ["--config", "stuides", "unknown key", "studies"]),
        (["--config", "max_wait_minutes=12:30:00"], ["--config", "max_wait_minutes", "'12:30:00'", "number"]),
        (["--configfile", "more.yaml"], ["more.yaml", "line 2", "'device' twice"]),
    ],
)
def test_configuration_of_the_command_line(project, options, words):
    """What is given there is read as strictly as the file."""
    (project.path / "more.yaml").write_text("device: cpu\ndevice: auto\n")
    done = project.snakemake("-n", *options)
    assert done.returncode != 0
    assert any(all(word in line for word in words) for line in done.stdout.splitlines()), done.stdout


def test_confirmatory_plan_of_two_seeds_is_refused_with_the_way_out(project):
    """It could neither match nor reject curves: no job starts, and the cheapest design that could is named."""
    project.make_confirmatory()
    done = project.snakemake("-c2")
    assert done.returncode != 0
    sentence = next(line for line in done.stdout.splitlines() if STUDY in line)
    for word in ("design.seeds", "p_min 0.333", "4 blocks (4 runs of each arm)", "mark the study exploratory"):
        assert word in sentence
    assert project.trained() == []
    assert not project.results("ledger").exists()


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("results/toy/runs/quick/seed0/history.jsonl", ["'quick'", "reference seed 0"]),
        ("results/toy/runs/fast/seed7/history.jsonl", ["seed 7", "fast seed 1"]),
    ],
)
def test_target_that_is_not_planned(project, target, words):
    """An arm or seed outside of the registration is no run."""
    done = project.snakemake(target, "-c2")
    assert done.returncode != 0
    for word in words:
        assert word in done.stdout
    assert "Traceback" not in done.stdout
    assert project.trained() == []


def test_registration_id_of_another_study_is_refused(project):
    """Two studies under one id could not be told apart: both files are named, also where one is not configured."""
    other = project.path / "config/studies/copy.toml"
    other.write_text((project.path / STUDY).read_text().replace('name = "toy"', 'name = "copy"'))
    done = project.snakemake("-n")
    assert done.returncode != 0
    sentence = next(line for line in done.stdout.splitlines() if "registration.id" in line)
    for word in (STUDY, "config/studies/copy.toml", "expected an id of its own"):
        assert word in sentence


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["-c2", "--resources", "gpu=0"], "gpu=0"),
        (["-c2", "--resources", "host=5"], "host=5"),
        (["-c2", "--set-resources", "train:host=1"], "train:host=1"),
    ],
)
def test_caps_that_would_clamp_a_request_are_refused(project, options, words):
    """Snakemake would run the job with fewer tokens than it asked for."""
    done = project.snakemake(*options)
    assert done.returncode != 0
    assert words in done.stdout
    assert project.trained() == []


def test_fewer_cores_than_registered_threads_are_refused(project):
    """A run with fewer threads would be another experiment."""
    project.edit(STUDY, "threads = 1", "threads = 2")
    done = project.snakemake("-c1")
    assert done.returncode != 0
    assert "granted 1 threads, registered are 2" in done.stdout
    assert project.trained() == []


def test_gpu_study_on_a_machine_without_one_plans_but_does_not_start(project):
    """-n shows the plan everywhere; execution says what is missing."""
    project.edit(STUDY, 'device = "cpu"', 'device = "gpu"')
    assert project.snakemake("-n").returncode == 0
    done = project.snakemake("-c2")
    assert done.returncode != 0
    assert "needs a GPU" in done.stdout
    assert project.trained() == []


def test_lease_held_by_somebody_else(project):
    """The job waits for as long as configured, says who holds the device, and gives up without training."""
    project.edit("config/config.yaml", "max_wait_minutes: 1", "max_wait_minutes: 0.02")
    locks = project.path / "locks"
    locks.mkdir(mode=0o755)
    lock = locks / "cpu-0.lock"
    lock.touch(mode=0o666)
    holder = subprocess.Popen(
        ["flock", str(lock), "sh", "-c", "echo held; exec sleep 60"], stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        assert holder.stdout.readline() == b"held\n"
        done = project.snakemake("-c2")
    finally:
        os.killpg(holder.pid, signal.SIGKILL)  # flock(1) and its command: either of them would keep the lock
        holder.wait()
        holder.stdout.close()
    assert done.returncode != 0
    assert "cpu-0 is still taken" in done.stdout
    assert project.trained() == []
    assert project.snakemake("-c2").returncode == 0
    assert len(project.trained()) == 4


def test_stage_longer_than_its_iteration_is_invalid(project):
    """A column that cannot be the seconds of a stage gives no ratio, also where no clock column tells."""
    project.edit(TRAINER, 'monotonic = "monotonic"\nwall = "wall"\n', "")
    project.edit(
        TRAINER,
        'stage = { name = "collection", column = "collection_seconds" }',
        'stage = { name = "x", column = "steps" }',
    )
    project.snakemake("-c2")
    state = read_state(StudyFolder(project.results(".")))
    attempts = [one for tries in state.attempts.values() for one in tries]
    assert attempts
    assert all(one.validity == "invalid" and "steps is longer than iteration_seconds" in one.reason for one in attempts)
