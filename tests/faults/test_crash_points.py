"""SIGKILL just before each change that our programs make to files: the next session goes on, by itself."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from crashing import killed_at, steps_of
from laboratory import FAST, Laboratory
from rows import Row

from study_project import REPOSITORY
from tachograph.execution.running import Host, execute
from tachograph.files import read_json, write_text
from tachograph.host.choice import choose_device
from tachograph.record.build import write_record
from tachograph.scripting import configuration
from tachograph.study import session
from tachograph.study.opening import OpenedStudy, open_studies
from tachograph.study.registration import register
from tachograph.study.state import counts, read_state


def opened(lab: Laboratory) -> OpenedStudy:
    """What the Snakefile does first: it refuses what is damaged."""
    return open_studies(configuration(), lab.path)[1]["toy"]


def begin(one: OpenedStudy, outputs: set[str]) -> None:
    """What Snakemake does before its first job; the lock goes with this process or at the end of the session."""
    session.begin([one], configuration(), {"gpu": 1, "host": 100}, [], outputs, {})


def end() -> None:
    """The end of the process that held the session."""
    while session._held:
        os.close(session._held.pop())


def make_fast(lab: Laboratory, one: OpenedStudy, forced: bool = False) -> None:
    """The job of the run ``fast``: the script run.py without its argument parser."""
    device = choose_device("cpu", "auto", "toy")
    host = Host(device, lab.path / "locks", 30.0)
    execute(one.find("run", "fast", 0), one.folder, host, forced=forced, say=lambda _: None, root=lab.path)


def sweep(
    lab: Laboratory, start: Path, crash: Callable[[], None], recover: Callable[[], None], stride: int, last: int = 0
) -> str:
    """Kill ``crash`` at each ``stride``-th step and at each of the ``last``, then ``recover`` and check.

    Returns how many of how many steps.
    """
    _begin_again(lab, start)
    steps = steps_of(crash)
    chosen = sorted({*range(1, steps + 1, stride), *range(max(1, steps + 1 - last), steps + 1)})
    for step in chosen:
        _begin_again(lab, start)
        killed_at(step, crash)  # or not, if an earlier step fell away
        try:
            recover()
        except BaseException as error:
            raise AssertionError(f"after SIGKILL at step {step}: {error}") from error
        left = [path for path in lab.folder.path.rglob(".*") if "attempts" not in path.parts]
        assert not left, f"after SIGKILL at step {step}: left over {left}"
        lab.check()
    return f"{len(chosen)} of {steps} steps"


def _begin_again(lab: Laboratory, start: Path) -> None:
    for name in ("results", "witness", "trained.log"):
        target = lab.path / name
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)
        if (start / name).is_dir():
            shutil.copytree(start / name, target)
        elif (start / name).exists():
            shutil.copy(start / name, target)


@pytest.fixture
def inside(lab: Laboratory, monkeypatch: pytest.MonkeyPatch) -> Laboratory:
    """The working directory and environment that Snakemake gives to its jobs."""
    monkeypatch.chdir(lab.path)
    monkeypatch.setenv("WITNESS", str(lab.witness))
    monkeypatch.setenv("PYTHONPATH", lab.environment["PYTHONPATH"])
    return lab


STRIDES = [pytest.param(9, id="some"), pytest.param(1, id="all", marks=pytest.mark.slow)]


@pytest.mark.parametrize("stride", STRIDES)
def test_crash_while_a_run_is_made(inside: Laboratory, row: Row, tmp_path: Path, stride: int) -> None:
    """Before, within and after the attempt, at its seal and at its publication: the run is made, once too often."""
    shutil.copytree(inside.path, tmp_path / "start", symlinks=True)

    def crash() -> None:
        one = opened(inside)
        begin(one, {FAST})
        make_fast(inside, one)

    def recover() -> None:
        one = opened(inside)
        begin(one, {FAST})
        make_fast(inside, one)
        end()
        number = counts(one.planned, read_state(one.folder))
        assert number["counted"] == 2
        assert number["running"] == 0

    steps = sweep(inside, tmp_path / "start", crash, recover, stride)
    row.fault, row.how = "crash while a run is made", "SIGKILL just before a change of files"
    row.outcome = f"{steps}: the next session makes the run or takes it over"


@pytest.mark.parametrize("stride", STRIDES)
def test_crash_while_a_run_is_forced(inside: Laboratory, row: Row, tmp_path: Path, stride: int) -> None:
    """With outputs already deleted by Snakemake: the first attempt is never lost, and counts until discarded."""
    one = opened(inside)
    make_fast(inside, one)
    shutil.copytree(inside.path, tmp_path / "start", symlinks=True)
    first = (inside.folder.path / "attempts/run-fast-seed0/001/history.jsonl").read_bytes()

    def crash() -> None:
        one = opened(inside)
        begin(one, {FAST})
        (inside.path / FAST).unlink()  # as Snakemake does before the job
        make_fast(inside, one, forced=True)

    def recover() -> None:
        one = opened(inside)
        begin(one, {FAST})
        make_fast(inside, one)
        end()
        assert counts(one.planned, read_state(one.folder))["counted"] == 2
        assert (inside.folder.path / "attempts/run-fast-seed0/001/history.jsonl").read_bytes() == first

    steps = sweep(inside, tmp_path / "start", crash, recover, stride)
    row.fault, row.how = (
        "crash while a run is forced",
        "SIGKILL just before a change of files",
    )
    row.outcome = f"{steps}: the first attempt is kept"


@pytest.mark.parametrize("what", ["registered", "amended"])
def test_crash_while_a_study_is_registered(inside: Laboratory, row: Row, tmp_path: Path, what: str) -> None:
    """The registration and its line in the ledger come apart at no step: the next session completes them."""
    if what == "registered":
        shutil.rmtree(inside.path / "results")
    else:
        inside.edit("config/studies/toy.toml", 'title = "fast"', 'title = "quick"')
    shutil.copytree(inside.path, tmp_path / "start", symlinks=True)

    def crash() -> None:
        one = opened(inside)
        register(one.folder, one.study, one.trainer, one.planned, read_state(one.folder), inside.path)

    def recover() -> None:
        crash()
        one = opened(inside)
        entries = read_json(one.folder.sealed_registration)
        lines = [event for event in read_state(one.folder).events if event["event"] in ("registered", "amended")]
        assert len(lines) == 1 + len(entries["amendments"])
        assert lines[-1]["event"] == what
        begin(one, set())
        end()

    steps = sweep(inside, tmp_path / "start", crash, recover, 1)
    row.fault, row.how = f"crash while a study is {what}", "SIGKILL just before a change of files"
    row.outcome = f"{steps}: file and ledger line agree afterwards"


@pytest.mark.slow
@pytest.mark.parametrize("standing", ["none", "another"])
def test_crash_while_a_record_is_written(inside: Laboratory, row: Row, tmp_path: Path, standing: str) -> None:
    """The record appears whole or not at all, the one that stood before is kept, and nothing half lies about."""
    done = inside.snakemake("--cores", "2")
    assert done.returncode == 0, done.stdout
    if standing == "another":  # the analysis comes to say something else
        inside.edit("config/studies/toy.toml", 'title = "fast"', 'title = "quick"')
        done = inside.snakemake("--cores", "2", "results/toy/tables/analysis.json", *pages(inside))
        assert done.returncode == 0, done.stdout
    else:
        shutil.rmtree(inside.folder.path / "record")
        assert inside.tachograph("restore", "toy").returncode == 0
    shutil.copytree(inside.path, tmp_path / "start", symlinks=True)
    before = standing == "another"

    def crash() -> None:
        written = write_record(inside.folder, REPOSITORY)
        write_text(inside.folder.record_seal, f"{written.manifest_sha256}  record/SHA256SUMS\n")

    def recover() -> None:
        one = opened(inside)
        begin(one, set())
        crash()
        end()
        opened(inside)
        sums = inside.folder.record / "SHA256SUMS"
        assert sums.exists()
        assert (inside.folder.records / "001").is_dir() is before

    steps = sweep(inside, tmp_path / "start", crash, recover, stride=40, last=30)
    row.fault = f"crash while a record is written, {standing} standing before"
    row.how = "SIGKILL just before a change of files"
    row.outcome = f"{steps}: whole or not there, the earlier one kept"


def pages(lab: Laboratory) -> list[str]:
    """The tables and figures that a record is made of."""
    folder = lab.folder.path
    return [str(p.relative_to(lab.path)) for kind in ("tables/*.csv", "figures/*") for p in sorted(folder.glob(kind))]
