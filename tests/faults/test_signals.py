"""Signals to every program of a run, and to all at once: what was made stays, and the same command goes on."""

from __future__ import annotations

import os
import signal

import pytest
from laboratory import FAST, Laboratory, parent, tree
from rows import Row

COMMAND = ("--cores", "2", FAST)
SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP", "SIGKILL"]
ALWAYS = {("job", "SIGKILL"), ("group", "SIGINT")}  # in `make test`; the others are slow


def cases(who: list[str]) -> list[object]:
    return [
        pytest.param(one, name, marks=[] if (one, name) in ALWAYS else pytest.mark.slow, id=f"{one}-{name}")
        for one in who
        for name in SIGNALS
    ]


@pytest.mark.parametrize(("who", "name"), cases(["trainer", "job", "group"]))
def test_signal_that_ends_the_trainer(lab: Laboratory, row: Row, who: str, name: str) -> None:
    """The attempt says how it ended, is kept, and the same command makes the run again."""
    what = {"trainer": "the trainer", "job": "the job (run.py)", "group": "the process group of Snakemake"}[who]
    row.fault, row.how = f"{name} to {what}", "kill(2) while the trainer waits at a pipe"
    lab.plant("fast", "pause")
    snakemake = lab.start(*COMMAND)
    trainer = lab.caught()["trainer"]
    number = signal.Signals[name]
    if who == "group":
        os.killpg(snakemake.pid, number)
    else:
        os.kill(trainer if who == "trainer" else parent(trainer), number)
    assert lab.ended(snakemake) != 0
    expected = "killed" if who == "trainer" else "interrupted"
    if (who, name) == ("group", "SIGHUP"):  # Snakemake is gone at once, the job ends the trainer by itself
        lab.wait_until_closed()
    assert f"{expected}" in next(line for line in lab.status().splitlines() if "run-fast-seed0" in line)
    lab.goes_on(*COMMAND[2:])
    assert lab.statuses() == [expected, "finished"]
    row.outcome = f"attempt 1 {expected}, attempt 2 counts"


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.slow
def test_polite_signal_to_snakemake_alone(lab: Laboratory, row: Row, name: str) -> None:
    """Snakemake waits for the job, so nothing is lost and nothing made twice."""
    row.fault, row.how = f"{name} to Snakemake", "kill(2) while the trainer waits at a pipe"
    lab.plant("fast", "pause")
    snakemake = lab.start(*COMMAND)
    lab.caught()
    snakemake.send_signal(signal.Signals[name])
    lab.release()
    assert lab.ended(snakemake) != 0
    lab.goes_on()
    assert lab.statuses() == ["finished"]
    row.outcome = "the run goes on to its end and counts"


@pytest.mark.parametrize("name", [pytest.param("SIGHUP", marks=pytest.mark.slow), "SIGKILL"])
def test_snakemake_alone_is_gone(lab: Laboratory, row: Row, name: str) -> None:
    """The job under the lease goes on; the next Snakemake waits for it, names it and takes its result over."""
    row.fault, row.how = f"{name} to Snakemake", "kill(2) while the trainer waits at a pipe; then snakemake again"
    lab.plant("fast", "pause")
    first = lab.start(*COMMAND)
    job = parent(lab.caught()["trainer"])
    first.send_signal(signal.Signals[name])
    assert lab.ended(first) != 0
    assert "running" in lab.status()
    second = lab.start(*COMMAND)
    lab.wait_until_told(f"held by pid {job}")
    lab.release()
    assert lab.ended(second) == 0, lab.told()
    lab.goes_on()
    assert lab.statuses() == ["finished"]
    row.outcome = "the second waits for the orphan and takes its result"


@pytest.mark.parametrize(
    "left", [pytest.param("nothing", marks=pytest.mark.slow), "child", pytest.param("worker", marks=pytest.mark.slow)]
)
def test_everything_is_killed(lab: Laboratory, row: Row, left: str) -> None:
    """SIGKILL of every program; what the trainer has left over still keeps the device from a second one."""
    words = {
        "nothing": "",
        "child": ", but a forked child in a session of its own",
        "worker": ", but a worker in a session of its own that did not inherit the lock",
    }
    row.fault, row.how = f"SIGKILL to everything{words[left]}", "kill(2), then snakemake again"
    lab.plant("fast", "pause" if left == "nothing" else left)
    first = lab.start(*COMMAND)
    said = lab.caught(1 if left == "nothing" else 2)
    for pid in tree(first.pid):
        if pid != said.get("child"):
            os.kill(pid, signal.SIGKILL)
    lab.ended(first)
    assert "interrupted" in lab.status()
    lab.heal()
    if left != "nothing":
        second = lab.start(*COMMAND)
        lab.wait_until_told(f"held by pid {said['child']}")
        assert lab.journal().count("fast") == 1
        lab.release()
        assert lab.ended(second) == 0, lab.told()
    lab.goes_on()
    assert lab.statuses() == ["interrupted", "finished"]
    row.outcome = "attempt 1 interrupted, attempt 2 counts" + ("" if left == "nothing" else " after waiting for it")


@pytest.mark.parametrize("who", ["trainer", "job", "snakemake", "group"])
@pytest.mark.slow
def test_stopped_program_goes_on(lab: Laboratory, row: Row, who: str) -> None:
    """SIGSTOP, then SIGCONT: it costs time and nothing else."""
    what = {"group": "process group of Snakemake, as Ctrl-Z and fg do"}.get(who, who)
    row.fault, row.how = f"SIGSTOP and SIGCONT of the {what}", "kill(2) while the trainer waits at a pipe"
    lab.plant("fast", "pause")
    snakemake = lab.start(*COMMAND)
    trainer = lab.caught()["trainer"]
    pid = {"trainer": trainer, "job": parent(trainer), "snakemake": snakemake.pid, "group": -snakemake.pid}[who]
    os.kill(pid, signal.SIGSTOP)
    if who == "group":  # somebody forgets that it is stopped
        second = lab.start(*COMMAND)
        assert lab.ended(second) != 0
        assert f"it is being executed or changed by process {snakemake.pid} of" in lab.told()
    lab.release()
    os.kill(pid, signal.SIGCONT)
    assert lab.ended(snakemake) == 0, lab.told()
    lab.goes_on()
    assert lab.statuses() == ["finished"]
    row.outcome = "the run counts"


@pytest.mark.parametrize("fault", ["stopped", pytest.param("deaf", marks=pytest.mark.slow)])
def test_hung_trainer(lab: Laboratory, row: Row, fault: str) -> None:
    """The registered limit ends it, stopped or deaf to signals, and the device is free."""
    row.fault = {"stopped": "hung trainer (SIGSTOP)", "deaf": "hung trainer that ignores SIGTERM"}[fault]
    row.how = "hold limit of 3 s"
    lab.edit("config/studies/toy.toml", "threads = 1", "threads = 1\nmax_hold_minutes = 0.05")
    lab.plant("fast", "pause" if fault == "stopped" else "deaf")
    snakemake = lab.start(*COMMAND)
    if fault == "stopped":
        os.kill(lab.caught()["trainer"], signal.SIGSTOP)
    assert lab.ended(snakemake) != 0
    assert "time_limit" in lab.status()
    lab.goes_on()
    assert lab.statuses() == ["time_limit", "finished"]
    row.outcome = "attempt 1 time_limit, attempt 2 counts"
