"""Several Snakemakes, checkouts and users at once: never two programs on the device, nothing made twice."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from laboratory import FAST, REFERENCE, Laboratory, facts_of, parent
from lease_helpers import finish, flock_holder
from rows import Row

COMMAND = ("--cores", "2", FAST)


@pytest.mark.parametrize("count", [pytest.param(2, id="two"), pytest.param(8, id="eight", marks=pytest.mark.slow)])
def test_instances_at_once(lab: Laboratory, row: Row, count: int, repetition: int) -> None:
    """One executes the study, the others say who does and go; the run is made once."""
    row.fault, row.how = f"{count} instances at once on one study", "started together, the trainer waits at a pipe"
    lab.plant("fast", "pause")
    instances = [lab.start(*COMMAND) for _ in range(count)]
    lab.caught()
    end = time.monotonic() + 60
    while sum(one.poll() is None for one in instances) > 1:
        assert time.monotonic() < end, "more than one instance is at work"
        time.sleep(0.05)
    lab.release()
    codes = [lab.ended(one) for one in instances]
    assert codes.count(0) == 1
    winner = codes.index(0)
    for number, code in enumerate(codes):
        if code:
            assert f"it is being executed or changed by process {instances[winner].pid} of" in lab.told(number)
    lab.goes_on()
    assert lab.journal().count("fast") == 1
    row.outcome = f"one executes, {count - 1} refused with its name"


@pytest.mark.slow
@pytest.mark.parametrize("count", [pytest.param(2, id="two"), pytest.param(8, id="eight", marks=pytest.mark.slow)])
def test_instances_without_a_handshake(lab: Laboratory, row: Row, count: int, repetition: int) -> None:
    """Whatever the order in which they come and go, the run is made once and every refusal has its reason."""
    row.fault, row.how = f"{count} instances at once, short runs", "started together, nothing waits"
    instances = [lab.start(*COMMAND) for _ in range(count)]
    codes = [lab.ended(one) for one in instances]
    assert 0 in codes
    for number, code in enumerate(codes):
        assert code == 0 or "it is being executed or changed by" in lab.told(number), lab.told(number)
    lab.goes_on()
    assert lab.journal().count("fast") == 1
    row.outcome = "the run is made once, each refusal names who is at work"


@pytest.mark.slow
def test_two_checkouts_on_one_device(lab: Laboratory, row: Row, tmp_path: Path, repetition: int) -> None:
    """Two working directories share nothing but the device: the second waits, and says for whom."""
    row.fault, row.how = "two checkouts on one device", "two working directories, one lease folder"
    other = lab.copy_to(tmp_path / "other")
    other.edit("config/config.yaml", str(other.path / "locks"), str(lab.path / "locks"))
    other.witness = lab.witness
    lab.plant("fast", "pause")
    first = lab.start(*COMMAND)
    job = parent(lab.caught()["trainer"])
    try:
        second = other.start(*COMMAND)
        other.wait_until_told(f"held by pid {job}")
        lab.release()
        assert (lab.ended(first), other.ended(second)) == (0, 0), other.told()
        other.goes_on(*COMMAND[2:])
    finally:
        other.end_everything()
    lab.goes_on(*COMMAND[2:])
    waited = facts_of(other.path / "results/toy/runs/fast/seed0/run.json")["lease"]
    assert waited["contended"]
    assert waited["waited_for"][0]["pid"] == job
    row.outcome = "the second waits, names the first, and both count"


@pytest.mark.slow
def test_instance_that_ends_while_another_runs(lab: Laboratory, row: Row, repetition: int) -> None:
    """Bare Snakemake deletes the locks of the others as it ends; a third one is refused all the same."""
    row.fault, row.how = "an instance ends while another runs", "three instances in one folder, two studies"
    text = (lab.path / "config/studies/toy.toml").read_text()
    second_study = text.replace('name = "toy"', 'name = "second"').replace("0b5b7c52", "1b5b7c52")
    (lab.path / "config/studies/second.toml").write_text(second_study)
    lab.plant("fast", "pause")
    first = lab.start(*COMMAND)
    lab.caught()
    done = lab.snakemake("--cores", "2", "results/second/preflight.json", "--config", "studies=['second']")
    assert done.returncode == 0, done.stdout
    third = lab.start(*COMMAND)
    assert lab.ended(third) != 0
    assert f"process {first.pid} of" in lab.told()
    lab.release()
    assert lab.ended(first) == 0
    lab.goes_on()
    assert lab.statuses() == ["finished"]
    row.outcome = "the third is refused, the first goes on"


@pytest.mark.parametrize("decision", ["another plan", pytest.param("discarded", marks=pytest.mark.slow)])
def test_orphan_that_wants_to_publish_late(lab: Laboratory, row: Row, decision: str, repetition: int) -> None:
    """A job whose Snakemake is dead comes to its end after the study was changed: it publishes nothing."""
    row.fault = f"late orphan: meanwhile {decision}"
    row.how = "SIGKILL to Snakemake while the trainer waits at a pipe, then an edit of the study"
    if decision == "another plan":
        lab.plant("fast", "pause")
        first = lab.start(*COMMAND)
        job = parent(lab.caught()["trainer"])
        first.kill()
        lab.ended(first)
        lab.edit("config/studies/toy.toml", 'STUB_PATH = "fast" }', 'STUB_PATH = "fast", NEW = "1" }')
        lab.heal()
        second = lab.start(*COMMAND)
        lab.wait_until_told(f"held by pid {job}")
        lab.release()
        assert lab.ended(second) == 0, lab.told()
        expected = 2
    else:  # a forced rerun is under way when somebody takes the run out
        lab.goes_on(*COMMAND[2:])
        lab.plant("fast", "pause")
        first = lab.start(*COMMAND, "-f")
        lab.caught()
        first.kill()
        lab.ended(first)
        lab.release()
        lab.wait_until_closed()
        assert lab.tachograph("discard", "toy", "fast", "0", "--reason", "a trial").returncode == 0
        lab.heal()
        assert lab.ended(lab.start(*COMMAND)) == 0, lab.told()
        expected = 3
    lab.goes_on(*COMMAND[2:])
    assert facts_of(lab.path / "results/toy/runs/fast/seed0/run.json")["attempt"] == expected
    assert lab.statuses() == ["finished"] * expected
    row.outcome = f"its attempt is kept, attempt {expected} is published"


@pytest.mark.slow
def test_user_of_flock_holds_the_device(lab: Laboratory, row: Row) -> None:
    """The job waits, names the program, and the wait is on record."""
    row.fault, row.how = "flock(1) holds the device", "flock on the lock file of the device"
    (lab.path / "locks").mkdir(exist_ok=True)
    holder = flock_holder(lab.path / "locks/cpu-0.lock")
    snakemake = lab.start(*COMMAND)
    lab.wait_until_told(f"held by pid {holder.pid} (flock, user ")
    assert "fast" not in lab.journal()
    finish(holder)
    assert lab.ended(snakemake) == 0, lab.told()
    lab.goes_on(*COMMAND[2:])
    lease = facts_of(lab.path / "results/toy/runs/fast/seed0/run.json")["lease"]
    assert [one["program"] for one in lease["waited_for"]] == ["flock"]
    row.outcome = "the job waits, names it, and the record says so"


@pytest.mark.slow
def test_our_lease_keeps_flock_out(lab: Laboratory, row: Row) -> None:
    """The other direction: a program that knows only flock(1) finds the device taken for as long as the run lasts."""
    row.fault, row.how = "flock(1) wants the device during a run", "flock -n on the lock file of the device"
    lab.plant("fast", "pause")
    snakemake = lab.start(*COMMAND)
    trainer = lab.caught()["trainer"]
    command = ["flock", "-n", str(lab.path / "locks/cpu-0.lock"), "true"]
    assert subprocess.run(command, check=False).returncode == 1
    os.kill(trainer, signal.SIGKILL)
    assert lab.ended(snakemake) != 0
    assert subprocess.run(command, check=False).returncode == 0
    lab.goes_on()
    row.outcome = "kept out during the run, let in after it"


@pytest.mark.slow
def test_no_cap_on_the_command_line(lab: Laboratory, row: Row) -> None:
    """A bare `snakemake -c4` of both runs is serial by the lease, whatever the caps."""
    row.fault, row.how = (
        "no cap: snakemake -c4 with another --resources",
        "--resources mem_mb=1000 replaces the profile's",
    )
    lab.edit("config/studies/toy.toml", "seeds = [0]", "seeds = [0, 1, 2]")
    targets = [path.replace("seed0", f"seed{seed}") for seed in range(3) for path in (FAST, REFERENCE)]
    done = lab.snakemake(*targets, "--cores", "4", "--resources", "mem_mb=1000")
    assert done.returncode == 0, done.stdout
    assert "OVERLAP" not in lab.journal()
    assert lab.journal().count("alone") == 6
    row.outcome = "one after the other"
