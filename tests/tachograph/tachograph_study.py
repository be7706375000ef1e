"""Make a study of the stub trainer with the real engine: real processes, real lease, real ledger."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tachograph.analysis.names import figure_names, table_names
from tachograph.analysis.preflight import preflight
from tachograph.analysis.sealed import read_sealed
from tachograph.analysis.study import sections
from tachograph.analysis.tables import as_csv, table
from tachograph.execution.running import Host, RunFailedError, execute
from tachograph.figures import draw
from tachograph.files import read_json, write_json, write_text
from tachograph.host.device import Device
from tachograph.host.machine import machine_facts
from tachograph.models import Configuration
from tachograph.record.build import Written, write_record
from tachograph.study.layout import StudyFolder
from tachograph.study.opening import OpenedStudy, open_study
from tachograph.study.registration import register
from tachograph.study.state import read_state

STUB = Path(__file__).with_name("stub")
# A device of our own, so that tests neither wait for nor disturb other users of this machine.
DEVICE = Device(name="cpu", kind="cpu", physical_id=f"cpu-of-test-{os.getpid()}", description="CPU of a test")


def validators_python() -> Path:
    """The interpreter of the environment with other people's validators; the test is skipped where there is none."""
    python = Path(sys.prefix) / "validators" / "bin" / "python"
    if not python.exists():
        pytest.skip("the validators are not installed: envs/install.sh dev")
    return python


def one_arm(title: str, iterations: int, *seeds: int) -> str:
    """The smallest study file: one arm of the stub trainer, a run for each seed, nothing to compare."""
    return f"""
schema = "study/1"
name = "stub"
title = "{title}"
trainer = "stub"
device = "cpu"
threads = 1

[registration]
id = "0b5b7c52-5f0f-4f0b-9d0e-6f0f0c1f7a13"
date = 2026-11-29
question = "How fast is it?"
kind = "exploratory"

[arms.only]
title = "the only one"

[design]
reference = "only"
iterations = {iterations}
seeds = {list(seeds)}
"""


def lay_out(root: Path, edit: Callable[[str], str] = lambda text: text) -> None:
    """A working directory with the stub trainer and its study file, changed by ``edit``."""
    (root / "config/studies").mkdir(parents=True)
    (root / "config/trainers").mkdir()
    shutil.copy(STUB / "stub_trainer.py", root)
    shutil.copy(STUB / "trainer.toml", root / "config/trainers/stub.toml")
    (root / "config/studies/stub.toml").write_text(edit((STUB / "study.toml").read_text()))


def opened(root: Path) -> OpenedStudy:
    """The study of a working directory as the Snakefile would open it."""
    before = Path.cwd()
    os.chdir(root)
    try:
        return open_study("stub", Configuration(studies=["stub"], device="cpu"), root)
    finally:
        os.chdir(before)


def execute_study(root: Path, *, forced: str = "") -> StudyFolder:
    """Register the study and make all its runs that do not count yet; ``forced`` names one to make again."""
    one = opened(root)
    folder = StudyFolder(root / "results/stub")
    folder.path.mkdir(parents=True, exist_ok=True)
    register(folder, one.study, one.trainer, one.planned, read_state(folder), root)
    probe = root / "probe.py"
    probe.write_text("print('{}')")
    write_json(folder.machine, machine_facts(DEVICE, probe))
    host = Host(DEVICE, root / "lease", max_wait_seconds=5.0)
    for run in one.planned:
        write_json(folder.path / run.plan_file, run.as_dict())
        try:
            execute(run, folder, host, forced=run.key == forced, say=lambda _: None, root=root)
        except RunFailedError:
            continue
    return folder


def derive(folder: StudyFolder) -> None:
    """What the rules between runs and record write."""
    sealed = read_sealed(folder)
    write_json(folder.preflight, preflight(sealed))
    write_json(folder.analysis, sections(sealed))
    analysis = read_json(folder.analysis)
    for name in table_names(sealed.study, sealed.trainer):
        write_text(folder.path / f"tables/{name}.csv", as_csv(table(analysis, name)))
    (folder.path / "figures").mkdir(exist_ok=True)
    for name in figure_names(sealed.study, sealed.trainer):
        for kind in ("svg", "png"):
            draw(analysis, name).save(folder.path / f"figures/{name}.{kind}", kind)


def make(folder: StudyFolder) -> Written:
    """Tables, figures and the record of an executed study."""
    derive(folder)
    return write_record(folder, Path(__file__).parents[2])
