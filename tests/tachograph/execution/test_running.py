"""A run is made of the code that was planned, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from tachograph_study import DEVICE, lay_out, opened

from tachograph.errors import TachographError
from tachograph.execution.running import Host, execute
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.registration import register
from tachograph.study.state import read_state


def test_code_edited_after_the_plan_is_not_run(tmp_path: Path) -> None:
    """An edit of the trainer while its study is executed: the next run says so, and nothing is started."""
    lay_out(tmp_path)
    one, folder = opened(tmp_path), StudyFolder(tmp_path / "results/stub")
    folder.path.mkdir(parents=True)
    register(folder, one.study, one.trainer, one.planned, read_state(folder), tmp_path)
    run = one.find("baseline", "reference", None)
    host = Host(DEVICE, tmp_path / "lease", max_wait_seconds=5.0)
    trainer = tmp_path / "stub_trainer.py"
    before = trainer.read_text()

    def make(forced: bool = False) -> None:
        execute(run, folder, host, forced=forced, say=lambda _: None, root=tmp_path)

    def events() -> list[str]:
        return [event["event"] for event in Ledger(folder.ledger).read()]

    trainer.write_text(before + "# edited\n")
    with pytest.raises(TachographError, match=r"baseline-reference-seed0 is not started: the code of trainer stub was"):
        make()
    assert events() == ["registered", "requested"]
    assert not folder.attempts.exists()
    trainer.write_text(before)
    make()
    assert read_state(folder).counted(run)
    trainer.write_text(before + "# edited\n")
    make()  # the result is there: it is published again and nothing has to be started
    with pytest.raises(TachographError, match="start snakemake again"):
        make(forced=True)
    assert read_state(folder).counted(run), "the standing result was given up for a run that was not started"
