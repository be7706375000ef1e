"""A run is made of the code that was planned, and its study says meanwhile that it is made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tachograph_study import DEVICE, lay_out, opened

from tachograph.errors import TachographError
from tachograph.execution.running import Host, execute
from tachograph.execution.unchanged import refuse_edited_code
from tachograph.models import Configuration
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.opening import open_study
from tachograph.study.planning import PlannedRun
from tachograph.study.registration import register
from tachograph.study.state import read_state

REPOSITORY = Path(__file__).parents[3]


@dataclass
class Bench:
    """A registered study of which nothing was executed, and its baseline run."""

    root: Path
    folder: StudyFolder
    run: PlannedRun

    def make(self, *, forced: bool = False, say: Callable[[str], None] = lambda _: None) -> None:
        host = Host(DEVICE, self.root / "lease", max_wait_seconds=5.0)
        execute(self.run, self.folder, host, forced=forced, say=say, root=self.root)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    lay_out(tmp_path)
    one, folder = opened(tmp_path), StudyFolder(tmp_path / "results/stub")
    folder.path.mkdir(parents=True)
    register(folder, one.study, one.trainer, one.planned, read_state(folder), tmp_path)
    return Bench(tmp_path, folder, one.find("baseline", "reference", None))


def test_code_edited_after_the_plan_is_not_run(bench: Bench) -> None:
    """An edit of the trainer while its study is executed: the next run says so, and nothing is started."""
    trainer = bench.root / "stub_trainer.py"
    before = trainer.read_text()
    trainer.write_text(before + "# edited\n")
    with pytest.raises(TachographError, match=r"baseline-reference-seed0 is not started: the code of trainer stub was"):
        bench.make()
    assert [event["event"] for event in Ledger(bench.folder.ledger).read()] == ["registered", "requested"]
    assert not bench.folder.attempts.exists()
    trainer.write_text(before)
    bench.make()
    assert read_state(bench.folder).counted(bench.run)
    trainer.write_text(before + "# edited\n")
    bench.make()  # the result is there: it is published again and nothing has to be started
    with pytest.raises(TachographError, match="start snakemake again"):
        bench.make(forced=True)
    assert read_state(bench.folder).counted(bench.run), (
        "the standing result was given up for a run that was not started"
    )


def test_cell_of_a_preflight_is_made_of_its_checker(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a training study a cell is held against the checker's code, which is not that of the trainer."""
    monkeypatch.chdir(REPOSITORY)
    one = open_study("lost-cities-cpu", Configuration(studies=["lost-cities-cpu"], device="cpu"), REPOSITORY)
    cell = next(run for run in one.planned if run.role == "cell")
    run = next(run for run in one.planned if run.role == "run")
    assert cell.code != run.code
    for planned in (cell, run):
        refuse_edited_code(planned, one.study, one.trainer, REPOSITORY)
    with pytest.raises(TachographError, match="the code of checker machinecheck was edited"):
        refuse_edited_code(replace(cell, code=run.code), one.study, one.trainer, REPOSITORY)


def test_status_page_is_current_while_a_run_goes_on(bench: Bench) -> None:
    """status.md names the run that is being made, before its end is known."""
    pages = []

    def say(sentence: str) -> None:
        if "iteration" in sentence:  # the run's own progress
            pages.append(bench.folder.status.read_text())

    bench.make(say=say)
    assert pages, "the run told no progress"
    assert "+ 1 running; 0 discarded" in pages[0]
    row = next(line for line in pages[0].splitlines() if line.startswith("| baseline-reference-seed0"))
    assert "running since" in row
