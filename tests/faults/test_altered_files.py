"""Hands in the results: what was sealed is never silently rebuilt, and only what must costs the device again."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from laboratory import FAST, REFERENCE, Laboratory
from rows import Row

COMMAND = ("--cores", "2", FAST, REFERENCE)
ATTEMPT = "attempts/run-fast-seed0/001"


@pytest.fixture
def made(lab: Laboratory) -> Laboratory:
    """Both runs are made."""
    done = lab.snakemake(*COMMAND)
    assert done.returncode == 0, done.stdout
    return lab


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def append(path: Path) -> None:
    with path.open("ab") as stream:
        stream.write(b"\n")


def link(path: Path) -> None:
    copy = path.with_suffix(".moved")
    path.rename(copy)
    path.symlink_to(copy.name)


@pytest.mark.slow
@pytest.mark.parametrize("how", [flip, append, Path.unlink, link], ids=["flipped", "appended", "deleted", "linked"])
@pytest.mark.parametrize(
    ("file", "way_on"),
    [
        ("runs/fast/seed0/history.jsonl", ["restore", "toy"]),
        ("runs/fast/seed0/run.json", ["restore", "toy"]),
        (f"{ATTEMPT}/history.jsonl", ["restore", "toy"]),
        ("ledger/registration.json", ["restore", "toy"]),
        (f"{ATTEMPT}/trainer.log", ["discard", "toy", "fast", "0", "--reason", "its file was damaged"]),
    ],
)
def test_sealed_file(made: Laboratory, row: Row, file: str, way_on: list[str], how: Callable[[Path], None]) -> None:
    """An error before any job names the file and the way on, which leads on."""
    row.fault, row.how = f"hand in {file.split('/')[0]}/…/{Path(file).name}", f"{how.__name__} one sealed file"
    path = made.folder.path / file
    how(path)
    refused = made.snakemake(*COMMAND)
    assert refused.returncode != 0
    assert file in refused.stdout
    assert f"tachograph {way_on[0]} toy" in refused.stdout
    assert made.journal().count("fast") == 1
    assert "Damaged" in made.status()
    assert made.tachograph(*way_on).returncode == 0
    done = made.snakemake(*COMMAND)
    assert done.returncode == 0, done.stdout
    assert made.journal().count("fast") == (1 if way_on[0] == "restore" else 2)
    if way_on[0] == "restore":
        made.check()
    row.outcome = f"refused by name; tachograph {way_on[0]} leads on"


def swap_values(lab: Laboratory) -> None:
    lab.edit("config/studies/toy.toml", 'STUB_PATH = "fast" }', 'STUB_PATH = "fast", A = "2", B = "1" }')


def edit_module(lab: Laboratory) -> None:
    lab.edit("stub/stub_trainer.py", "0.01 * generator", "0.02 * generator")


def edit_documentation(lab: Laboratory) -> None:
    lab.edit("config/studies/toy.toml", "[design]", "# how many\n[design]")


def touch_everything(lab: Laboratory) -> None:
    later = time.time() + 100
    for path in lab.path.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (later, later))


def clone(lab: Laboratory) -> None:
    shutil.rmtree(lab.path / ".snakemake")
    touch_everything(lab)


def delete_run(lab: Laboratory) -> None:
    shutil.rmtree(lab.folder.path / "runs/fast")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "before", "fast", "reference"),
    [
        (touch_everything, "", 1, 1),
        (clone, "", 1, 1),
        (edit_documentation, "", 1, 1),
        (swap_values, 'A = "1", B = "2"', 2, 1),
        (edit_module, "", 2, 2),
    ],
    ids=["touched", "cloned", "comment", "swapped", "module"],
)
def test_what_costs_device_time(
    lab: Laboratory, row: Row, change: Callable[[Laboratory], None], before: str, fast: int, reference: int
) -> None:
    """Only what determines a run makes it again, and that always."""
    row.fault = change.__name__.replace("_", " ")
    row.how = "between two calls of snakemake; an exploratory study"
    if before:
        lab.edit("config/studies/toy.toml", 'STUB_PATH = "fast" }', f'STUB_PATH = "fast", {before} }}')
    assert lab.snakemake(*COMMAND).returncode == 0
    if before:
        lab.edit("config/studies/toy.toml", before, "")
        lab.edit("config/studies/toy.toml", 'STUB_PATH = "fast",  }', 'STUB_PATH = "fast" }')
    change(lab)
    lab.goes_on()
    assert (lab.journal().count("fast"), lab.journal().count("reference")) == (fast, reference)
    row.outcome = f"device used for {fast + reference - 2} runs more"


@pytest.mark.slow
def test_copy_in_a_record(lab: Laboratory, row: Row) -> None:
    """Original and target are both gone: the file comes back from the record, standing or set aside."""
    row.fault, row.how = "original and copy of a history deleted", "rm of both; one copy is left, in a record"
    assert lab.snakemake("--cores", "2").returncode == 0
    shutil.move(lab.folder.record, lab.folder.records / "007")
    original = lab.folder.path / ATTEMPT / "history.jsonl"
    before = original.read_bytes()
    original.unlink()
    (lab.path / FAST).unlink()
    assert "tachograph restore toy" in lab.snakemake(*COMMAND).stdout
    done = lab.tachograph("restore", "toy")
    assert f"restored from results/toy/records/007/{ATTEMPT}/history.jsonl" in done.stdout
    assert original.read_bytes() == (lab.path / FAST).read_bytes() == before
    lab.goes_on()
    assert lab.journal().count("fast") == 1
    row.outcome = "refused by name; tachograph restore finds the copy by its hash"


@pytest.mark.slow
def test_linked_folder_is_not_written_through(made: Laboratory, row: Row, tmp_path: Path) -> None:
    """A link in place of the folder of a damaged file: restore names it, and writes nothing behind it."""
    row.fault, row.how = "linked folder among the results", "a link to an empty folder in place of runs/fast"
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    delete_run(made)
    (made.folder.path / "runs/fast").symlink_to(elsewhere)
    assert made.snakemake(*COMMAND).returncode != 0
    done = made.tachograph("restore", "toy")
    assert done.returncode == 2
    assert "runs/fast: found a symbolic link" in done.stdout
    assert not list(elsewhere.iterdir())
    (made.folder.path / "runs/fast").unlink()
    assert made.tachograph("restore", "toy").returncode == 0
    made.goes_on()
    assert made.journal().count("fast") == 1
    row.outcome = "refused by name; without the link restore leads on"


@pytest.mark.slow
def test_deleted_run(made: Laboratory, row: Row) -> None:
    """The folder of a run is gone: told by name, restored from the sealed attempt, nothing trained."""
    row.fault, row.how = "deleted run", "rm -r of the published run"
    delete_run(made)
    refused = made.snakemake(*COMMAND)
    assert refused.returncode != 0
    assert "runs/fast/seed0" in refused.stdout
    assert made.tachograph("restore", "toy").returncode == 0
    made.goes_on()
    assert made.journal().count("fast") == 1
    row.outcome = "refused by name; tachograph restore leads on"


@pytest.mark.slow
def test_torn_ledger_line(made: Laboratory, row: Row) -> None:
    """The half line that a power cut leaves is no event, and the next line takes its place."""
    row.fault, row.how = "power cut in the middle of a ledger line", "half a line at the end of the ledger"
    whole = made.folder.ledger.read_bytes()
    with made.folder.ledger.open("ab") as ledger:
        ledger.write(b'{"at":"2026-11-30T00:0')
    made.goes_on()
    assert made.tachograph("discard", "toy", "fast", "0", "--reason", "a trial").returncode == 0
    assert made.folder.ledger.read_bytes().startswith(whole + b'{"at":"')
    assert made.ledger("discarded")
    made.goes_on()
    row.outcome = "it is no event; the study goes on"


@pytest.mark.slow
def test_read_only_results(made: Laboratory, row: Row) -> None:
    """Results that may not be written are refused with a sentence, and nothing in them changes."""
    row.fault, row.how = "read-only results", "chmod -R a-w as a user without capabilities"
    user = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--"] if os.getuid() == 0 else []
    made.edit("config/studies/toy.toml", 'STUB_PATH = "fast" }', 'STUB_PATH = "fast", A = "2" }')
    before = {path: path.read_bytes() for path in made.folder.path.rglob("*") if path.is_file()}
    for path in [made.folder.path, *made.folder.path.rglob("*")]:
        path.chmod(path.stat().st_mode & ~0o222)
    done = made.run_as(user, *COMMAND)
    for path in [made.folder.path, *made.folder.path.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)
    if done.returncode == 0:
        pytest.skip("this user can write everywhere")
    assert "Permission denied" in done.stdout or "Write-protected output files" in done.stdout, done.stdout
    assert "results/toy/" in done.stdout
    assert "Traceback" not in done.stdout
    assert all(path.read_bytes() == content for path, content in before.items())
    made.goes_on()
    row.outcome = "refused; with permission the study goes on"


@pytest.mark.slow
def test_clock_step(lab: Laboratory, row: Row) -> None:
    """The clock is set back by an hour within a run: durations are those of the monotonic clock, and it is told."""
    row.fault, row.how = "clock set back by an hour", "the trainer's time.time() from its third iteration on"
    lab.plant("fast", "clock -3600")
    assert lab.ended(lab.start("--cores", "2", FAST)) == 0, lab.told()
    lab.goes_on()
    facts = (lab.folder.path / "runs/fast/seed0/run.json").read_text()
    assert "clock" in facts
    assert lab.statuses() == ["finished"]
    row.outcome = "the run counts, the step is told"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("link", "a symbolic link"),
        pytest.param("pipe", "a pipe, socket or device", marks=pytest.mark.slow),
        pytest.param("name", "a name that is not UTF-8", marks=pytest.mark.slow),
        pytest.param("another folder", "removed or replaced the folder", marks=pytest.mark.slow),
    ],
)
def test_what_is_no_file_among_the_results(lab: Laboratory, row: Row, what: str, words: str) -> None:
    """It could point anywhere, wait for ever or be written nowhere: the attempt does not count, nothing follows it."""
    row.fault, row.how = f"{what} among the results", "the trainer leaves it in, or in place of, its folder"
    lab.plant("fast", f"leave {what}")
    assert lab.ended(lab.start("--cores", "2", FAST)) != 0
    assert "Traceback" not in lab.told()
    assert not (lab.path / FAST).exists()
    assert words in lab.status()
    assert {path.name for path in lab.witness.iterdir()} == {"device", "journal"}
    lab.goes_on()
    assert lab.statuses()[-1] == "finished"
    row.outcome = f"attempt 1 {lab.statuses()[0]}, attempt 2 counts"


@pytest.mark.slow
def test_odd_names_among_the_results(lab: Laboratory, row: Row) -> None:
    """Names that look like options, lines, markup or commands are names: the run counts, its record verifies."""
    row.fault, row.how = "odd names among the results", "the trainer leaves -rf, a line feed, <script>, $(…)"
    lab.plant("fast", "leave odd names")
    done = lab.snakemake("--cores", "2")
    assert done.returncode == 0, done.stdout
    assert not (lab.path / "run").exists()
    verified = lab.tachograph("verify", "results/toy/record")
    assert verified.returncode == 0, verified.stdout
    assert "<script>" not in (lab.folder.record / "record.md").read_text()
    lab.goes_on()
    assert lab.statuses() == ["finished"]
    row.outcome = "the run counts, the record verifies"
