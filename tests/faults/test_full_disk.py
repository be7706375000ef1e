"""A disk without room for one more page, at every place where that can hurt: nothing half stays, the way on is one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from laboratory import FAST, Laboratory
from rows import Row
from small_disk import SmallDisk, SmallDiskLaboratory

COMMAND = ("--cores", "2", FAST)
ALL_PAGES = [pytest.param(pages, marks=[] if pages == 2 else pytest.mark.slow) for pages in range(13)]


@pytest.fixture
def small(prepared_once: Laboratory, tmp_path: Path, row: Row) -> Iterator[SmallDiskLaboratory]:
    """The prepared study on a disk of 16 MB."""
    row.fault = "disk full"
    row.how = "a tmpfs of 16 MB, filled up"
    disk = SmallDisk(tmp_path / "disk", 16)
    if disk.reason:
        disk.close()
        pytest.skip(disk.reason)
    lab = disk.with_copy_of(prepared_once, tmp_path)
    yield lab
    lab.end_everything()
    disk.close()


@pytest.mark.slow
@pytest.mark.parametrize("pages", [0, 1, 4])
def test_disk_full_in_the_trainer(small: SmallDiskLaboratory, row: Row, pages: int) -> None:
    """A checkpoint does not fit: the run fails, what was written before is kept, and with room it is made again."""
    row.fault, row.how = "disk full in the trainer", f"tmpfs, {pages} pages left when it writes a checkpoint"
    small.plant("fast", f"full {pages}")
    snakemake = small.start(*COMMAND)
    assert small.ended(snakemake) != 0
    small.check()
    assert small.status()
    small.make_room()
    small.goes_on(*COMMAND[2:])
    first, second = small.statuses()
    assert second == "finished"
    assert first in ("failed", "interrupted")
    row.outcome = f"attempt 1 {first}, attempt 2 counts"


@pytest.mark.parametrize("pages", ALL_PAGES)
def test_disk_full_when_the_run_has_ended(small: SmallDiskLaboratory, row: Row, pages: int) -> None:
    """At the seal, in the ledger or at publication: a target is whole or not there."""
    row.fault, row.how = "disk full at seal, ledger, publication", f"tmpfs, {pages} pages left as the trainer ends"
    small.plant("fast", f"fill {pages}")
    snakemake = small.start(*COMMAND)
    small.ended(snakemake)
    small.check()
    assert "Traceback" not in small.told(), small.told()
    small.make_room()
    small.goes_on(*COMMAND[2:])
    assert small.statuses()[-1] == "finished"
    row.outcome = f"attempts {', '.join(map(str, small.statuses()))}"


@pytest.mark.slow
@pytest.mark.parametrize("pages", [0, 2, 8, 20, 60])
def test_disk_full_in_the_record(small: SmallDiskLaboratory, row: Row, pages: int) -> None:
    """The record is whole or not there."""
    row.fault, row.how = "disk full in the record", f"tmpfs, {pages} pages left when the record is to be written"
    done = small.snakemake("--cores", "2")
    assert done.returncode == 0, done.stdout
    shutil.rmtree(small.folder.path / "record")
    assert small.tachograph("restore", "toy").returncode == 0
    small.fill(pages)
    failed = small.snakemake("--cores", "2")
    record = small.folder.record
    assert not record.exists() or small.tachograph("verify", "results/toy/record").returncode == 0
    small.make_room()
    done = small.snakemake("--cores", "2")
    assert done.returncode == 0, done.stdout
    small.check()
    verified = small.tachograph("verify", "results/toy/record")
    assert verified.returncode == 0, verified.stdout
    row.outcome = "refused, then written whole" if failed.returncode else "there was room"


@pytest.mark.slow
def test_ledger_line_that_does_not_fit(small: SmallDiskLaboratory, row: Row) -> None:
    """The line is refused whole: the ledger before is as it was, to the byte."""
    row.fault, row.how = "disk full in the ledger", "tmpfs filled, a line longer than what is left of its page"
    ledger = small.folder.ledger
    before = ledger.read_bytes()
    small.fill(0)
    code = (
        "from pathlib import Path; from tachograph.study.ledger import Ledger; "
        "Ledger(Path('results/toy/ledger/ledger.jsonl')).append('discarded', reason='x' * 20000)"
    )
    done = small.run_python(code)
    assert "No space left on device" in done.stdout
    assert ledger.read_bytes() == before
    small.make_room()
    small.goes_on(*COMMAND[2:])
    row.outcome = "refused, the ledger is unchanged"
