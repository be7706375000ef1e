"""What `tachograph plan` and `tachograph status` say to a user who has edited, lost or settled something."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tachograph.cli import main
from tachograph.commands.amend import change_told
from tachograph.commands.plan import limit_told
from tachograph.models import Configuration
from tachograph.study.opening import open_study
from tachograph.study.planning import PlannedRun, identified

REPOSITORY = Path(__file__).parents[3]
RECORDS = [REPOSITORY / "docs/example-record", *sorted((REPOSITORY / "tests/data/records").iterdir())]
Say = Callable[..., str]


@pytest.fixture
def say(workshop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Say:
    """Run `tachograph` in a copy of an executed study, and return what it prints."""
    (workshop / "config/config.yaml").write_text(f"studies: [stub]\ndevice: cpu\nlease_folder: {workshop / 'lease'}\n")
    monkeypatch.chdir(workshop)

    def command(*arguments: str) -> str:
        capsys.readouterr()
        assert main(list(arguments)) == 0
        return capsys.readouterr().out

    return command


def edit(file: str, before: str, after: str) -> None:
    text = Path(file).read_text()
    assert before in text
    Path(file).write_text(text.replace(before, after))


@pytest.mark.parametrize("record", RECORDS, ids=lambda path: path.name)
def test_identity_of_a_recorded_run_follows_from_its_plan(record: Path) -> None:
    """What determines a run is the same as in the versions that made these records, or all would be made again."""
    plans = [PlannedRun.from_dict(json.loads(file.read_text())) for file in (record / "plan").glob("run-*.json")]
    assert len(plans) == 4
    assert [identified(plan).identity for plan in plans] == [plan.identity for plan in plans]


def test_unedited_study_is_told_as_it_is(say: Say) -> None:
    """Neither plan nor status speaks of an edit where there is none; everything has been made."""
    assert "differ from the registration" not in say("plan", "stub") + say("status", "stub")
    assert "Nothing is left to run." in say("plan", "stub")


def test_edit_is_told_before_it_is_executed(say: Say) -> None:
    """Status speaks of what is registered; it says so where the files are others by now, and plan what is lost."""
    edit("config/studies/stub.toml", 'STUB_PATH = "fast" }', 'STUB_PATH = "fast", MORE = "1" }')
    told = "The files differ from the registration in study.arms.fast.environment.MORE: the next execution chains"
    assert told in say("status", "stub")
    page = say("plan", "stub")
    assert told in page
    assert "to be made again: changed since it was made: environment" in page


def test_edited_confirmatory_study_names_the_way_on(say: Say) -> None:
    """Snakemake would refuse it, so plan and status say that, with the command that puts it on record."""
    edit("config/studies/stub.toml", '"exploratory"', '"confirmatory"')
    edit("config/studies/stub.toml", "seeds = [0, 1]", "seeds = [0, 1, 2, 3]")
    amended = say("amend", "stub", "--reason", "confirmatory from here on")
    assert """Next: snakemake --cores all --resources gpu=1 --config studies='["stub"]'""" in amended
    assert "differ from the registration" not in say("status", "stub")
    edit("config/studies/stub.toml", "margin = 0.02", "margin = 0.03")
    for command in ("plan", "status"):
        page = say(command, "stub")
        assert "The files differ from the registration in study.curves: snakemake refuses it" in page
        assert '`tachograph amend stub --reason "…"`' in page


def test_status_tells_of_a_study_file_that_cannot_be_read(say: Say) -> None:
    """The page of the registered study stays, and the sentence about the file stands below it."""
    edit("config/studies/stub.toml", 'title = "A stub', 'titel = "A stub')
    page = say("status", "stub")
    assert "planned = " in page
    assert "The study cannot be executed as its files are now: config/studies/stub.toml: titel: unknown key" in page


def test_status_says_which_attempt_counts(say: Say) -> None:
    """After an edit that is undone the first attempt counts, whatever came of the ones in between."""
    edit("config/studies/stub.toml", "seeds = [0, 1]", "seeds = [0]")
    edit("config/studies/stub.toml", 'STUB_PATH = "fast" }', 'STUB_PATH = "fast", MORE = "1" }')
    say("amend", "stub", "--reason", "another environment")
    row = next(line for line in say("status", "stub").splitlines() if "run-fast-seed0" in line)
    assert "| missing |" in row
    assert "finished (made of an earlier version of the study)" in row


def test_plan_names_the_cheapest_design_and_what_decisions_follow_from(say: Say) -> None:
    """Two exploratory blocks: what is out of reach, what would reach it, and that equal bytes need no statistics."""
    page = say("plan", "stub")
    assert "- The cheapest design that can has 4 blocks (4 runs of each arm)" in page
    assert "| REJECT      | yes         | NO GAIN " in page
    assert "Whatever the number of seeds, the curves are IDENTICAL" in page


def test_plan_counts_the_registered_cool_down(say: Say) -> None:
    """A run of a block may wait for a minute before the minute of its own; the burn-in waits for nothing."""
    edit("config/studies/stub.toml", "[design]", "[design]\ncool_down = { degrees = 3, max_minutes = 1 }")
    shutil.rmtree("results")
    limits = {row.split("|")[2].strip(): row.split("|")[5].strip() for row in say("plan", "stub").splitlines()
              if "at most" in row and row.startswith("|")}  # fmt: skip
    assert (limits["run-fast-seed0"], limits["burnin-reference-seed0"]) == ("at most 120 s", "at most 60 s")


def test_plan_of_a_machine_study_counts_the_limit_of_all_cells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cells of `machine` may take 90 minutes together, and not the sum of their limits."""
    monkeypatch.chdir(REPOSITORY)
    one = open_study("machine", Configuration(studies=["machine"], device="cpu"), REPOSITORY)
    assert sum(run.max_hold_seconds for run in one.planned) > 5400
    main(["plan", "machine"])
    assert ", and 90 min for all cells together." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0.2, "1 s"), (30, "30 s"), (119.5, "120 s"), (150, "3 min"), (5400, "90 min"), (5401, "91 min")],
)
def test_a_limit_is_never_told_too_short(seconds: float, told: str) -> None:
    """What may take half a minute does not take 0 minutes, and 150 s are more than 2."""
    assert limit_told(seconds) == told


def test_an_amended_list_is_told_by_what_it_loses_and_gains() -> None:
    """One cell more among a hundred is one line, whatever the order of its keys in the file and in the registration."""
    before = [{"name": "a", "kind": "soak"}, {"name": "b"}]
    after = [{"kind": "soak", "name": "a"}, {"name": "c"}]
    assert change_told("study.cells", before, after) == ['study.cells: - {"name":"b"}', 'study.cells: + {"name":"c"}']
    assert change_told("study.title", "x", "y") == ["study.title: 'x' -> 'y'"]
    assert change_told("study.curves", [1, 2], [2, 1]) == ["study.curves: another order"]
    assert change_told("arm.arguments", ["-v", "-v"], ["-v"]) == ['arm.arguments: - "-v"']
