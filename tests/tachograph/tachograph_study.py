"""Make a study of the stub trainer with the real engine: real processes, real lease, real ledger."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from tachograph.device import Device
from tachograph.files import write_json
from tachograph.layout import StudyFolder
from tachograph.machine import machine_facts
from tachograph.models import Configuration
from tachograph.opening import OpenedStudy, open_study
from tachograph.registration import register
from tachograph.running import Host, RunFailedError, execute
from tachograph.state import read_state

STUB = Path(__file__).with_name("stub")
# A device of our own, so that tests neither wait for nor disturb other users of this machine.
DEVICE = Device(name="cpu", kind="cpu", physical_id=f"cpu-of-test-{os.getpid()}", description="CPU of a test")


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
