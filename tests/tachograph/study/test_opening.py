"""What is told when a study is planned: words in braces, programs, studies that are not there, what has changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from study_project import Project, make_project
from tachograph.commands.plan import run_state
from tachograph.commands.verify import record_folder
from tachograph.errors import TachographError
from tachograph.files import write_json
from tachograph.models import Configuration
from tachograph.study.ledger import Ledger
from tachograph.study.opening import OpenedStudy, is_dry_run, open_study, refuse_unplanned
from tachograph.study.session import obstacle
from tachograph.study.state import read_state

STUDY, TRAINER = "config/studies/toy.toml", "config/trainers/stub.toml"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    found = make_project(tmp_path / "project")
    monkeypatch.chdir(found.path)
    return found


def opened(**configuration: str) -> OpenedStudy:
    return open_study("toy", Configuration(studies=["toy"], **configuration), Path.cwd())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        (STUDY, 'title = "fast"', 'title = "fast"\narguments = ["--x", "{sed}"]',
         [f"{STUDY}: arms.fast.arguments[1]: found {{sed}}", "{scale}", "(did you mean 'seed'?)"]),
        (STUDY, 'title = "fast"', 'title = "fast"\narguments = ["{calls}"]', ["arms.fast.arguments[0]: found {calls}"]),
        (TRAINER, '"{scale}"', '"{Scale}"', [f"{TRAINER}: command[9]: found {{Scale}}", "(did you mean 'scale'?)"]),
        (TRAINER, '"{python}"', '"pyhton"', [f"{TRAINER}: command[0]: found 'pyhton', which is not on PATH"]),
        (TRAINER, '"{python}"', '"bin/run"', ["command[0]: found 'bin/run', which is not an executable file"]),
        (TRAINER, '"{python}"', '"stub/stub_trainer.py"', ["'stub/stub_trainer.py', which is not an executable file"]),
        (STUDY, 'trainer = "stub"', 'trainer = "stb"', ["config/trainers/stb.toml: the file is not there"]),
    ],
)  # fmt: skip
def test_plan_refuses(project: Project, file: str, before: str, after: str, words: list[str]) -> None:
    """A word in braces that means nothing, or a program that is not there, is told before anything runs."""
    opened()
    (project.path / "stub/stub_trainer.py").chmod(0o644)
    project.edit(file, before, after)
    with pytest.raises(TachographError) as caught:
        opened()
    for word in words:
        assert word in str(caught.value)


def test_setting_with_a_word_in_braces(project: Project) -> None:
    """A setting's value is filled with what is decided when a run starts, and with nothing else."""
    project.edit(TRAINER, 'type = "number"\ndefault = 1.0', 'type = "string"\ndefault = "1"')
    project.edit(STUDY, "[design]", '[settings]\nscale = "{out}/x"\n[design]')
    assert "{out}/x" in opened().planned[0].command
    project.edit(STUDY, "{out}/x", "{oot}/x")
    with pytest.raises(TachographError, match=r"toy\.toml: settings\.scale: found \{oot\}, .*did you mean 'out'"):
        opened()


def test_program_on_the_path_of_an_arm(project: Project) -> None:
    """A program may be on the PATH that the arm sets, and must be on that of every arm."""
    program = project.path / "bin/own-trainer"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    project.edit(TRAINER, '"{python}"', '"own-trainer"')
    project.edit(STUDY, 'STUB_PATH = "fast"', f'STUB_PATH = "fast", PATH = "{program.parent}"')
    with pytest.raises(TachographError, match="for run-reference-seed0"):
        opened()
    project.edit(STUDY, 'STUB_PATH = "reference"', f'STUB_PATH = "reference", PATH = "{program.parent}"')
    assert opened().planned[0].command[0] == "own-trainer"


@pytest.mark.parametrize("name", ["config/studies/toy.toml", "config/trainers/stub.toml"])
def test_empty_file(project: Project, name: str) -> None:
    """A file of 0 bytes is said to be empty, whatever it should hold."""
    (project.path / name).write_text("")
    with pytest.raises(TachographError, match=rf"{name}: the file is empty, expected a (study|trainer)"):
        opened()


def test_target_of_a_study_that_is_not_there(project: Project) -> None:
    """The studies that there are are named; a path that belongs to an option is no target."""
    studies = {"toy": opened()}
    with pytest.raises(TachographError, match=r"found no study 'toi', expected one of: toy \(did you mean 'toy'\?\)"):
        refuse_unplanned(studies, ["-n", "results/toi/record.sha256"])
    refuse_unplanned(studies, ["results/toy/record.sha256", "--report", "results/other/report.html"])


def test_what_stands_against_executing_here(project: Project) -> None:
    """A device that is not there and a lease folder that cannot be used are told, and nothing is made."""
    folder = project.path / "locks"
    assert obstacle(opened(lease_folder=str(folder)), Configuration(studies=["toy"], lease_folder=str(folder))) is None
    assert not folder.exists()
    folder.write_text("a file")
    settings = Configuration(studies=["toy"], lease_folder=str(folder))
    assert "is not a folder" in (obstacle(opened(), settings) or "")
    inside = Configuration(studies=["toy"], lease_folder=str(folder / "deeper"))
    assert f"{folder} is no folder that this user may write to" in (obstacle(opened(), inside) or "")
    project.edit(STUDY, 'device = "cpu"', 'device = "any"')
    card = "cuda:999"
    assert f"device {card} is not there" in (
        obstacle(opened(device=card), Configuration(studies=["toy"], device=card)) or ""
    )


@pytest.mark.parametrize(
    ("arguments", "dry"),
    [(["-n"], True), (["-np"], True), (["--dry-run"], True), (["--dryrun"], True), (["-c2"], False)],
)
def test_dry_run(arguments: list[str], dry: bool) -> None:
    """Only a plan looks for what stands against executing; an execution finds it by itself."""
    assert is_dry_run(["results/toy/record.sha256", *arguments]) is dry


def test_run_of_other_code_is_to_be_made_again(project: Project) -> None:
    """A run that counted under an earlier plan is not called counted; the plan says what has changed since."""
    one = opened()
    run = one.planned[0]
    write_json(one.folder.path / run.plan_file, run.as_dict())
    ledger = Ledger(one.folder.ledger)
    ledger.append("started", run=run.key, attempt=1, identity=run.identity, process={})
    ledger.append("ended", run=run.key, attempt=1, status="finished", validity="valid", reason=None, files={},
                  hold_seconds=1.0)  # fmt: skip
    assert run_state(run, read_state(one.folder), one.folder) == "counted"
    trainer = project.path / "stub/stub_trainer.py"
    trainer.write_text(trainer.read_text() + "# edited\n")
    project.edit(STUDY, "threads = 1", "threads = 2")
    changed = opened().planned[0]
    told = run_state(changed, read_state(one.folder), one.folder)
    assert told == "to be made again: changed since it was made: code, threads"


def test_record_named_by_one_of_its_files(tmp_path: Path) -> None:
    """`tachograph verify` takes the page as well; what is in no record is told what to name."""
    record = tmp_path / "study/record"
    record.mkdir(parents=True)
    for name in ("SHA256SUMS", "record.md"):
        (record / name).touch()
    assert record_folder(tmp_path / "study") == record_folder(record) == record_folder(record / "record.md") == record
    (tmp_path / "page.md").touch()
    for wrong, found in (("page.md", "a file that is in no record"), ("nothing", "nothing there")):
        with pytest.raises(TachographError, match=f"{wrong}: found {found}, expected the folder of a record"):
            record_folder(tmp_path / wrong)
