"""A machine study executed by real Snakemake: a crash costs one cell, a kill costs nothing that was measured."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import jsonschema
import pytest

SCHEMA = Path(__file__).parents[2] / "workflow/schemas/machine-record.schema.json"
STUB = Path(__file__).with_name("stub_checker.py")

CHECKER = """
schema = "checker/1"
name = "stub"
title = "A stub"
about = "Measures nothing."
cell = ["{python}", "stub_checker.py", "{kind}-{operation}", "--device={device}", "--out={out}"]
probe = ["{python}", "stub_checker.py", "probe", "--out={out}"]
clear_environment = ["STUB_*"]
code = { paths = ["stub_checker.py"] }
operations.correctness.matmul = ["end", "library"]
settings.library = { type = "text", choices = ["torch", "numpy", "scipy"] }

[faults."wrong"]
environment = { STUB_FAULT = "wrong" }
about = "three elements are said to be wrong"
caught = "FAIL"

[faults."never planted"]
environment = { STUB_FAULT = "never" }
caught = "FAIL"
"""

STUDY = """
schema = "machine/1"
name = "box"
title = "The box"
checker = "stub"
device = "cpu"
threads = 1
cell_seconds = 20

[registration]
id = "5f0f7c52-0b5b-4f0b-9d0e-6f0f0c1f7a12"
date = 2026-11-29
question = "Is it right?"
kind = "exploratory"

[[cells]]
name = "good"
kind = "correctness"
operation = "matmul"

[[cells]]
name = "plant"
kind = "correctness"
operation = "matmul"
faults = ["wrong"]
"""

ENDINGS = """
[[cells]]
name = "ends"
kind = "correctness"
operation = "matmul"
settings = { end = ["crash", "kernel", "hang"] }
seconds = 2
"""

STRANGE = """
[[cells]]
name = "ends"
kind = "correctness"
operation = "matmul"
settings = { end = ["garbage", "boasts", "chatters"] }
"""

WORKAROUND = """
[[cells]]
name = "ends"
kind = "correctness"
operation = "matmul"
settings = { end = "needs" }

[arms.as-installed]
title = "as installed"

[arms.preloaded]
title = "the system's copy of one library preloaded"
environment = { LD_PRELOAD = "libm.so.6" }
"""

SLOW = """
[[cells]]
name = "slow"
kind = "correctness"
operation = "matmul"
settings = { end = "slow", library = ["torch", "numpy"] }
"""

RECORD = "results/box/record.sha256"


def lay_out(project, more="", edit=lambda text: text):
    """The study ``box``, which is not among the configured ones, with ``more`` cells."""
    (project.path / "config/checkers").mkdir()
    (project.path / "config/checkers/stub.toml").write_text(CHECKER)
    (project.path / "config/studies/box.toml").write_text(edit(STUDY) + more)
    shutil.copy(STUB, project.path)
    return project.path / "results/box"


def ledger(folder, event):
    """Events of one kind, oldest first."""
    lines = map(json.loads, (folder / "ledger/ledger.jsonl").read_text().splitlines())
    return [line for line in lines if line["event"] == event]


def measured(project):
    """Which cells the checker itself says it was started for, in order."""
    return (project.path / "measured.log").read_text().split()


def numbers(form, text):
    """The numbers of the first place that ``form`` describes."""
    found = re.search(form, text)
    assert found is not None, form
    return [int(number) for number in found.groups()]


def assert_counts_add_up(record, page):
    """Whatever the page counts adds up: cells over kinds and arms, rows of tables, planned runs, checks, faults."""
    rows = record["rows"]["cells"]
    clean = [row for row in rows if row["fault"] is None and row["kind"] != "probe"]
    norm = [row for row in clean if row["arm"] == record["registration"]["norm"]]
    done, planned = numbers(r"\*\*Verdict: \w+\. (\d+) of (\d+) cells? (?:was|were) measured", page)
    assert (done, planned) == (sum(row["outcome"] == "done" for row in clean), len(clean))
    sentences = re.findall(r"^- (?:Right|Repeats|Fast|Lasts): (\d+) of (\d+) \w+ cells? (.*)$", page, re.MULTILINE)
    assert sum(int(of) for _, of, _ in sentences) == len(norm)
    for passed, of, rest in sentences:
        others = re.findall(r"; (\d+) (?:held back|with a warning|wrong|undecided|not measured)", rest)
        assert int(passed) + sum(map(int, others)) == int(of)
    if len(norm) < len(clean):
        first, others = numbers(r"These are (\d+) cells? .*, and (\d+) of “", page)
        assert (first, first + others) == (len(norm), len(clean))
    for name, place in (("correctness", "## Is it right"), ("repeatability", "## Does it repeat")):
        if record["rows"][name]:
            lines, cells = numbers(r"(\d+) rows? of (\d+) cells?", page.partition(place)[2])
            assert (lines, cells) == (len(record["rows"][name]), len({row["cell"] for row in record["rows"][name]}))
    cells, faults = numbers(r"One run each for the probe, (\d+) cells? and (\d+) cells? with a planted", page)
    (runs,) = numbers(r"(\d+) runs? planned", page)
    assert (cells, 1 + cells + faults) == (len(clean), runs)
    asked, right, repeat, neither = numbers(
        r"(\d+) cells? (?:was|were) asked: (\d+) (?:is|are) right, (\d+) repeats?, (\d+) shows? neither", page
    )
    assert asked == right + repeat + neither == sum(row["kind"] in ("correctness", "repeatability") for row in clean)
    caught, of = numbers(r"Self-test: (\d+) of (\d+) planted", page)
    assert of == faults == sum(row["planted"] for row in record["selftest"]["rows"])
    assert caught == sum(row["caught"] for row in record["selftest"]["rows"])


def test_every_ending_is_a_result_and_the_record_holds(project):
    """D28: SIGSEGV, a hang and a kernel that cannot be built each cost one cell; the verdict is INCOMPLETE, exit 3."""
    folder = lay_out(project, ENDINGS)
    done = project.snakemake("-c2", RECORD)
    assert done.returncode == 0, done.stdout
    record = json.loads((folder / "record/record.json").read_text())
    jsonschema.validate(record, json.loads(SCHEMA.read_text()), cls=jsonschema.Draft202012Validator)
    cells = {row["cell"]: row for row in record["rows"]["cells"]}
    assert (cells["ends-crash"]["outcome"], cells["ends-crash"]["signal"]) == ("crashed", "SIGSEGV")
    assert cells["ends-crash"]["reasons"] == ["crashed(SIGSEGV)"]
    assert (cells["ends-kernel"]["outcome"], cells["ends-kernel"]["verdict"]) == ("kernel failure", "WARN")
    assert cells["ends-kernel"]["reasons"] == ["RuntimeError: miopenStatusUnknownError"]
    assert (cells["ends-hang"]["outcome"], cells["ends-hang"]["verdict"]) == ("time limit", "INCOMPLETE")
    assert cells["good"]["verdict"] == "PASS"
    assert record["summary"]["verdict"] == "INCOMPLETE"
    assert record["selftest"]["verdict"] == "PASS"
    assert record["status"] == "complete"
    page = (folder / "record/record.md").read_text()
    assert "**Verdict: INCOMPLETE. 1 of 4 cells was measured.**" in page
    assert "never planted" in next(line for line in page.splitlines() if line.startswith("- Self-test: 1 of 1"))
    assert "three elements are said to be wrong" in page
    assert_counts_add_up(record, page)
    verified = project.tachograph("verify", "results/box")
    assert verified.returncode == 0, verified.stdout
    assert project.snakemake("-c1", "results/box/verdict.txt").returncode != 0
    assert not (folder / "verdict.txt").exists()
    assert measured(project).count("cell-good-seed0") == 1


@pytest.mark.slow
def test_what_a_checker_leaves_is_judged_and_not_believed(project):
    """Broken JSON and a claim without numbers are unreadable and no pass; 24 MB of chatter harm nothing."""
    folder = lay_out(project, STRANGE)
    done = project.snakemake("-c2", RECORD)
    assert done.returncode == 0, done.stdout
    record = json.loads((folder / "record/record.json").read_text())
    cells = {row["cell"]: row for row in record["rows"]["cells"]}
    assert {name: (cells[f"ends-{name}"]["outcome"], cells[f"ends-{name}"]["verdict"]) for name in
            ("garbage", "boasts", "chatters")} == {
        "garbage": ("unreadable", "INCOMPLETE"), "boasts": ("unreadable", "INCOMPLETE"), "chatters": ("done", "PASS"),
    }  # fmt: skip
    assert cells["ends-boasts"]["reasons"] == ["measured.reference: field required"]
    assert "measured.json" in cells["ends-garbage"]["reasons"][0]
    assert record["summary"]["verdict"] == "INCOMPLETE"


@pytest.mark.slow
def test_a_workaround_is_an_arm(project):
    """What crashes as installed and is right with a library preloaded is told for both; the verdict is the norm's."""
    folder = lay_out(project, WORKAROUND)
    done = project.snakemake("-c2", RECORD)
    assert done.returncode == 0, done.stdout
    record = json.loads((folder / "record/record.json").read_text())
    found = {(row["cell"], row["arm"]): (row["outcome"], row["signal"], row["verdict"]) for row in
             record["rows"]["workarounds"]}  # fmt: skip
    assert found["ends", "as-installed"] == ("crashed", "SIGSEGV", "INCOMPLETE")
    assert found["ends", "preloaded"] == ("done", None, "PASS")
    assert record["summary"]["by_arm"] == {"as-installed": "INCOMPLETE", "preloaded": "PASS"}
    page = (folder / "record/record.md").read_text()
    assert "Environment “preloaded”: PASS; it changes ends (1 alike)." in page
    assert "| `ends` | INCOMPLETE (SIGSEGV)" in " ".join(page.split())
    assert_counts_add_up(record, page)


@pytest.mark.slow
def test_tampering_with_a_cell_is_found(project):
    """A number changed in a sealed cell, and a verdict changed on the page, are both named by verify."""
    folder = lay_out(project)
    assert project.snakemake("-c2", RECORD).returncode == 0
    assert project.snakemake("-c1", "results/box/verdict.txt").returncode == 0
    assert (folder / "verdict.txt").read_text() == "PASS\n"
    cell = folder / "record/attempts/cell-good-seed0/001/good.json"
    cell.write_text(cell.read_text().replace('"ratio": 0.5', '"ratio": 0.4'))
    found = project.tachograph("verify", "results/box/record")
    assert found.returncode == 1
    assert "good.json" in found.stdout


@pytest.mark.slow
def test_a_kill_costs_one_cell(project):
    """SIGKILL to the workflow in the middle of a sweep: what was measured is kept, the rest is made, nothing twice."""
    folder = lay_out(project, SLOW)
    process = subprocess.Popen(
        project.command("-c1", RECORD),
        cwd=project.path,
        env=project.environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    log, end = project.path / "measured.log", time.monotonic() + 60
    while not log.exists() or "cell-slow-torch-seed0" not in log.read_text():
        assert time.monotonic() < end
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    done = project.snakemake("-c2", RECORD)
    assert done.returncode == 0, done.stdout
    started = measured(project)
    assert {name: started.count(name) for name in set(started)} == {
        "cell-probe-seed0": 1, "cell-good-seed0": 1, "cell-plant-wrong-seed0": 1,
        "cell-slow-torch-seed0": 2, "cell-slow-numpy-seed0": 1,
    }  # fmt: skip
    ends = [(line["run"], line["status"]) for line in ledger(folder, "ended") if line["run"] == "cell-slow-torch-seed0"]
    assert ends == [("cell-slow-torch-seed0", "interrupted"), ("cell-slow-torch-seed0", "finished")]


@pytest.mark.slow
def test_time_for_all_gives_partial_results(project):
    """One cell gets what is left of the registered time; the rest is recorded as not run: INCOMPLETE."""
    more = SLOW.replace('"numpy"', '"numpy", "scipy"')
    folder = lay_out(project, more, lambda text: text.replace("cell_seconds", "total_seconds = 5\ncell_seconds"))
    done = project.snakemake("-c2", RECORD)
    assert done.returncode == 0, done.stdout
    record = json.loads((folder / "record/record.json").read_text())
    slow = [row for row in record["rows"]["cells"] if row["cell"].startswith("slow")]
    cut = next(row for row in slow if row["outcome"] != "done")
    assert cut["outcome"] == "time limit"
    assert "all that was left of the time for all cells (its own limit is 20 s)" in cut["reasons"][0]
    assert cut["seconds"] < 5
    assert [row["outcome"] for row in slow[slow.index(cut) + 1 :]] == ["not run"] * (len(slow) - slow.index(cut) - 1)
    assert slow[-1]["outcome"] == "not run"
    assert record["summary"]["verdict"] == "INCOMPLETE"
    assert "cell-slow-scipy-seed0" not in measured(project)
    forced = project.snakemake("-c1", "results/box/cells/slow-scipy.json", "-f")
    assert forced.returncode == 0, forced.stdout
    assert "cell-slow-scipy-seed0" in measured(project)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ('operation = "matmul"', 'operation = "mm"', "cells[0]: operation: found 'mm', expected one of: matmul"),
        ('faults = ["wrong"]', 'faults = ["worng"]', "cells[1]: faults: found 'worng', expected one of: wrong"),
        ('name = "plant"', 'name = "good"\nsettings = { sise = 1 }', "settings.sise: unknown setting"),
        (
            'name = "plant"',
            'name = "plant"\nsettings = { library = "blis" }',
            "settings.library: found 'blis', expected",
        ),
        ("cell_seconds = 20", "cell_seconds = -1", "cell_seconds: found -1"),
        ('checker = "stub"', 'checker = "other"', "config/checkers/other.toml: the file is not there"),
        ('faults = ["wrong"]', "", "found two cells called"),
    ],
)
def test_bad_study_files(project, before, after, words):
    """A wrong study is one sentence with file, place, found and expected, before anything is written."""

    def edit(text):
        text = text.replace(before, after)
        return text if "two cells" not in words else text.replace('name = "plant"', 'name = "good"')

    folder = lay_out(project, edit=edit)
    done = project.snakemake("-c1", "-n", RECORD)
    assert done.returncode != 0
    assert words in done.stdout
    assert not folder.exists()
