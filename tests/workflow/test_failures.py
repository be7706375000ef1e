"""Runs that fail, files that are tampered with; signals and several instances are in tests/faults."""

from __future__ import annotations

import json
import shutil

import pytest


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        pytest.param("exit", "failed", "exit code 1", marks=pytest.mark.slow),
        ("kill", "killed", "SIGKILL"),
    ],
)
def test_failed_run_keeps_its_files_and_the_others_go_on(project, fault, status, words):
    """The status says what happened, no option draws a timed run again by itself, and a plain snakemake goes on."""
    project.plant("fast", fault)
    done = project.snakemake("-c2", "--retries", "2")
    assert done.returncode != 0
    assert sorted(project.trained()) == ["fast 0 6", "fast 1 6", "reference 0 6", "reference 1 6"]
    ended = {line["run"]: line for line in project.ledger("ended")}
    assert ended["run-fast-seed0"]["status"] == status
    assert ended["run-fast-seed0"]["validity"] == "invalid"
    assert ended["run-reference-seed1"]["validity"] == "valid"
    page = project.results("status.md").read_text()
    assert words in page
    assert "4 planned = 2 counted + 2 invalid + 0 missing" in page
    assert project.results("attempts/run-fast-seed0/001/history.jsonl").exists()
    assert not project.results("runs/fast/seed0/history.jsonl").exists()
    assert not project.results("record").exists()
    project.heal()
    again = project.snakemake("-c2")
    assert again.returncode == 0, again.stdout
    assert project.trained().count("reference 0 6") == 1
    assert project.trained().count("fast 0 6") == 2
    assert project.results("attempts/run-fast-seed0/001/history.jsonl").exists()
    assert "4 planned = 4 counted + 0 invalid + 0 missing" in project.results("status.md").read_text()


@pytest.mark.parametrize(
    ("file", "how"),
    [
        ("runs/fast/seed1/history.jsonl", "altered"),
        ("runs/fast/seed1/history.jsonl", "deleted"),
        ("runs/fast/seed1/run.json", "altered"),
        ("runs/fast/seed1/run.json", "deleted"),
        ("registration.json", "altered"),  # the register rule publishes a deleted one again
        ("attempts/run-fast-seed1/001/history.jsonl", "altered"),
        ("attempts/run-fast-seed1/001/history.jsonl", "deleted"),
        ("attempts/run-fast-seed1/001/trainer.log", "altered"),  # an empty file needs no copy
        ("ledger/registration.json", "altered"),
        ("ledger/registration.json", "deleted"),
    ],
)
def test_tampered_sealed_file_is_named_and_never_rebuilt(executed, file, how):
    """An error before any job names the file; restore brings it back, as there is a copy of each."""
    path = executed.results(file)
    if how == "altered":
        content = path.read_bytes()
        path.write_bytes(bytes([content[0] ^ 1]) + content[1:] if content else b"x")
    else:
        path.unlink()
    done = executed.snakemake("-c2")
    assert done.returncode != 0
    assert file in done.stdout
    restored = executed.tachograph("restore", "toy")
    assert restored.returncode == 0, restored.stdout
    assert executed.snakemake("-c2").returncode == 0
    assert len(executed.trained()) == 4


def test_altered_ledger_line_is_named(executed):
    """The chain shows which line no longer fits."""
    path = executed.results("ledger/ledger.jsonl")
    lines = path.read_text().splitlines()
    event = json.loads(lines[2])
    event["at"] = "2020-01-01T00:00:00.000Z"
    lines[2] = json.dumps(event)
    path.write_text("\n".join(lines) + "\n")
    done = executed.snakemake("-c2")
    assert done.returncode != 0
    assert "line 4" in done.stdout


def test_discarded_run_is_made_again(executed):
    """A discard needs a reason, is on the ledger, and costs exactly that run."""
    done = executed.tachograph("discard", "toy", "fast", "1", "--reason", "the fan was blocked")
    assert done.returncode == 0, done.stdout
    assert executed.snakemake("-c2").returncode == 0
    assert executed.trained()[4:] == ["fast 1 6"]
    [line] = executed.ledger("discarded")
    assert line["reason"] == "the fan was blocked"
    assert (line["numbers_known"], line["in_record"]) == (True, True)
    assert "the fan was blocked; a record had told its numbers" in executed.results("record/record.md").read_text()


@pytest.mark.parametrize("damage", ["deleted", "altered page"])
def test_damaged_record_is_told_and_written_again(executed, damage):
    """Snakemake refuses, restore sets the record aside, and the next call writes a new one without training."""
    if damage == "deleted":
        shutil.rmtree(executed.results("record"))
    else:
        with executed.results("record/record.md").open("a") as page:
            page.write("x")
    refused = executed.snakemake("-c2")
    assert refused.returncode != 0
    assert "tachograph restore toy" in refused.stdout
    assert executed.tachograph("restore", "toy").returncode == 0
    done = executed.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    assert executed.tachograph("verify", "results/toy/record").returncode == 0
    assert len(executed.trained()) == 4


@pytest.mark.slow
def test_damaged_original_can_be_discarded(executed):
    """The documented way on leads to a new run and a record that lists the damaged attempt."""
    with executed.results("attempts/run-fast-seed1/001/history.jsonl").open("a") as history:
        history.write("x\n")
    assert executed.snakemake("-c2").returncode != 0
    assert executed.tachograph("discard", "toy", "fast", "1", "--reason", "its file was damaged").returncode == 0
    done = executed.snakemake("-c2")
    assert done.returncode == 0, done.stdout
    assert executed.trained()[4:] == ["fast 1 6"]
    assert "no longer as it was sealed" in executed.results("record/record.md").read_text()
    verified = executed.tachograph("verify", "results/toy/record")
    assert verified.returncode == 0, verified.stdout


@pytest.mark.parametrize("loss", ["folder", "emptied", "last line"])
def test_lost_ledger_is_refused(executed, loss):
    """Results of which no ledger tells are never taken for a new study."""
    ledger = executed.results("ledger/ledger.jsonl")
    if loss == "folder":
        shutil.rmtree(ledger.parent)
    elif loss == "emptied":
        ledger.write_text("")
    else:
        ledger.write_text("".join(ledger.read_text().splitlines(keepends=True)[:-1]))
    done = executed.snakemake("-c2")
    assert done.returncode != 0
    assert "cp results/toy/record/ledger/ledger.jsonl" in done.stdout


def test_torn_last_line_of_the_ledger_is_no_event(executed):
    """What a crash leaves behind in the middle of a write stops nothing."""
    with executed.results("ledger/ledger.jsonl").open("a") as ledger:
        ledger.write('{"at":"2026')
    assert "Nothing to be done" in executed.snakemake("-c2").stdout
    done = executed.tachograph("discard", "toy", "fast", "1", "--reason", "to append a line")
    assert done.returncode == 0, done.stdout
    assert executed.ledger("discarded")


def test_removed_table_is_made_again(executed):
    """Tables and figures follow from sealed files; one that is gone comes back without training."""
    executed.results("tables/runs.csv").unlink()
    assert executed.snakemake("-c2").returncode == 0
    assert executed.results("tables/runs.csv").exists()
    assert len(executed.trained()) == 4
