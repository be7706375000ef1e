"""Names, files and words that somebody has made up to do harm: refused by a sentence, or shown harmlessly."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path

import pytest

from study_project import STUDY, TRAINER
from tachograph.cli import main
from tachograph.errors import TachographError
from tachograph.evidence import hashed, lines
from tachograph.evidence.history import Counter, HistorySpec, read_history
from tachograph.files import parse_json, read_json, write_text
from tachograph.models import Study, Trainer
from tachograph.study import ledger as ledgers
from tachograph.study.integrity import refuse_links
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.loading import validate
from tachograph.study.opening import study_folder
from tachograph.study.state import read_state
from tachograph.study.status import status_page
from tachograph.tomlfile import read_toml
from tachograph.yamlfile import read_yaml

BAD_NAMES = ["toy\n", "../toy", "toy/..", "", ".", "-n", "a b", "tøy", "a" * 65, "$(touch x)", "{workflow}", "toy\x00"]
SPEC = HistorySpec(
    work=Counter(column="w"), work_unit="w", durations={"iteration": Counter(column="d")}, iteration="it"
)


@pytest.mark.parametrize("name", BAD_NAMES)
def test_name_of_a_study_is_matched_in_full(name: str) -> None:
    """A line end, a path, an option or a format string is no name, wherever one is taken."""
    with pytest.raises(TachographError, match="expected the name of a study"):
        study_folder(name)


@pytest.mark.parametrize("command", [["status"], ["restore"], ["prune"], ["discard"]])
def test_commands_stay_below_results(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A study's name cannot lead out of results/."""
    more = ["arm", "0", "--reason", "x"] if command == ["discard"] else []
    assert main([*command, "../elsewhere", *more]) == 2
    assert "expected the name of a study" in capsys.readouterr().err


@pytest.mark.parametrize("name", BAD_NAMES)
def test_ids_in_files_are_matched_in_full(name: str) -> None:
    """Names of studies and arms in the files that a person writes."""
    study = tomllib.loads(STUDY)
    validate(Study, study, "x.toml")
    with pytest.raises(TachographError, match=r"x\.toml: name: "):
        validate(Study, {**study, "name": name}, "x.toml")
    with pytest.raises(TachographError, match=r"x\.toml: arms\."):
        validate(Study, {**study, "arms": {**study["arms"], name: {"title": "t"}}}, "x.toml")


@pytest.mark.parametrize("path", ["../history.jsonl", "/etc/passwd", "a/../../b", "a//b", ".hidden", "a\nb", ""])
def test_history_stays_in_its_attempt(path: str) -> None:
    """The history of a trainer is a plain path below its folder."""
    trainer = tomllib.loads(TRAINER)
    validate(Trainer, trainer, "t.toml")
    with pytest.raises(TachographError, match=r"t\.toml: history\.file: "):
        validate(Trainer, {**trainer, "history": {**trainer["history"], "file": path}}, "t.toml")


def test_link_anywhere_in_the_results_is_refused(tmp_path: Path) -> None:
    """Snakemake would write behind it; a link inside of an attempt is what a trainer left, and followed by nobody."""
    folder = StudyFolder(tmp_path / "toy")
    inside = folder.attempts / "run-fast-seed0/001"
    inside.mkdir(parents=True)
    (inside / "latest").symlink_to("/etc")
    refuse_links(folder)
    for place in ("runs", "attempts/run-fast-seed1", "attempts/run-fast-seed0/002"):
        link = folder.path / place
        link.symlink_to(tmp_path)
        with pytest.raises(TachographError, match=f"{place}: found a symbolic link"):
            refuse_links(folder)
        link.unlink()
    whole = StudyFolder(tmp_path / "linked")
    whole.path.symlink_to(folder.path)
    with pytest.raises(TachographError, match="linked: found a symbolic link"):
        refuse_links(whole)


def test_deeply_nested_files_are_refused(tmp_path: Path) -> None:
    """A sentence and no traceback, for JSON and for TOML."""
    deep = "[" * 100_000
    (tmp_path / "deep.json").write_text(deep)
    with pytest.raises(TachographError, match="nested too deeply"):
        read_json(tmp_path / "deep.json")
    (tmp_path / "deep.toml").write_text(f"x = {deep}")
    with pytest.raises(TachographError, match=r"deep\.toml: cannot be read as TOML"):
        read_toml(tmp_path / "deep.toml")


def test_duplicate_keys_are_refused(tmp_path: Path) -> None:
    """The last one does not silently win."""
    with pytest.raises(ValueError, match="'a' stands twice"):
        parse_json('{"a": 1, "a": 2}')
    (tmp_path / "twice.toml").write_text("a = 1\na = 2\n")
    with pytest.raises(TachographError, match=r"twice\.toml"):
        read_toml(tmp_path / "twice.toml")
    path = tmp_path / "history.jsonl"
    path.write_text('{"it": 1, "w": 1, "d": 1, "d": 2}\n{"it": 2, "w": 1, "d": 1}\n')
    with pytest.raises(TachographError, match="line 1"):
        read_history(path, SPEC)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("seeds = [0, 1]", "seeds = [010]", "cannot be read as TOML"),  # 8 to YAML
        ("threads = 1", "threads = off", "cannot be read as TOML"),
        ("threads = 1", "threads = 1\nmax_hold_minutes = 12:30:00", "max_hold_minutes: found .*time"),
        ("threads = 1", "threads = 1e0", "threads: found 1.0"),
        ("threads = 1", "threads = true", "threads: found True"),
        ('trainer = "stub"', "trainer = 0x10", "trainer: found 16"),
    ],
)
def test_no_value_changes_its_type(tmp_path: Path, before: str, after: str, words: str) -> None:
    """A number is a number, a text a text; what could be either is an error."""
    assert before in STUDY
    (tmp_path / "x.toml").write_text(STUDY.replace(before, after))
    with pytest.raises(TachographError, match=words):
        validate(Study, read_toml(tmp_path / "x.toml"), "x.toml")


def test_small_number_is_a_number(tmp_path: Path) -> None:
    """1e-3 is 0.001 in a study file."""
    (tmp_path / "x.toml").write_text(STUDY.replace("threads = 1", "threads = 1\nmax_hold_minutes = 1e-3"))
    assert validate(Study, read_toml(tmp_path / "x.toml"), "x.toml").max_hold_minutes == 0.001


def test_oversized_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reader has a bound: history and its lines, ledger, study file."""
    path = tmp_path / "history.jsonl"
    path.write_text(json.dumps({"it": 1, "w": 1, "d": 1, "x": "y" * lines.MAX_LINE}) + "\n")
    with pytest.raises(TachographError, match="line 1: longer than"):
        read_history(path, SPEC)
    path.write_text('{"it": 1, "w": 1, "d": 1}\n' * 100)
    monkeypatch.setattr(hashed, "MAX_BYTES", 1000)
    with pytest.raises(TachographError, match="larger than 1000 bytes"):
        read_history(path, SPEC)
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append("x", text="y" * 1000)
    monkeypatch.setattr(ledgers, "MAX_BYTES", 1000)
    with pytest.raises(TachographError, match="at most 1000"):
        ledger.read()
    with (tmp_path / "large.toml").open("wb") as stream:
        stream.truncate(2 << 20)
    with pytest.raises(TachographError, match="expected at most"):
        read_toml(tmp_path / "large.toml")


@pytest.mark.parametrize(
    ("event", "values"),
    [
        ("started", {"run": "run-fast-seed0"}),
        ("started", {"run": "../../run-fast-seed0", "attempt": 1, "identity": "x", "process": {}}),
        ("ended", {"run": "run-fast-seed0", "attempt": 1}),
        ("published", {"run": "run-fast-seed0", "attempt": 1, "files": {"../../x": "0" * 64}}),
        ("published", {"run": "run-fast-seed0", "attempt": 1, "files": {"/etc/passwd": "0" * 64}}),
        ("pruned", {"run": 3, "attempt": 1, "files": {}}),
        ("published", {"run": "run-fast-seed0", "attempt": 1, "files": 7}),
    ],
)
def test_line_of_the_ledger_that_somebody_made_up(tmp_path: Path, event: str, values: dict[str, object]) -> None:
    """The chain can be made anew by anybody: a line that lacks something, or leads out of the study, is named."""
    folder = StudyFolder(tmp_path / "toy")
    Ledger(folder.ledger).append("registered")
    Ledger(folder.ledger).append(event, **values)
    with pytest.raises(TachographError, match=r"ledger\.jsonl: line 2: no event of a study"):
        read_state(folder)


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, kind: str) -> None:
    """A pipe in place of a file would keep its reader for ever."""
    path = tmp_path / "x"
    os.mkfifo(path) if kind == "pipe" else path.mkdir()
    ledger = Ledger(path)
    readers = [read_json, read_toml, read_yaml, lambda _: ledger.read(), lambda _: ledger.append("x")]
    for read in readers:
        with pytest.raises(TachographError, match=r"x: (found a pipe|cannot be (read|written))"):
            read(path)


def test_status_page_shows_words_and_no_markup(tmp_path: Path) -> None:
    """A title with tags, links and pipes is text in status.md."""
    folder = StudyFolder(tmp_path / "toy")
    page = status_page("<img src=x onerror=alert(1)> [x](javascript:y) | `z`", folder, [], read_state(folder))
    assert page.startswith(r"# \<img src=x onerror=alert(1)\> \[x\](javascript:y) \| \`z\`")


def test_file_with_an_impossible_name_is_not_written(tmp_path: Path) -> None:
    """Names have 255 bytes on Linux: one sentence, as for a full disk."""
    with pytest.raises(TachographError, match="cannot be written: File name too long"):
        write_text(tmp_path / ("n" * 300), "text")


@pytest.mark.parametrize("text", ['{"a": 1e400}', '{"a": -1e999}', f'{{"a": {"9" * 400}}}', '{"a": "\\ud800"}'])
def test_json_that_could_not_be_written_again(text: str, tmp_path: Path) -> None:
    """A number beyond float64 and half a character are damage where they are read, not where they are written."""
    path = tmp_path / "measured.json"
    path.write_text(text)
    with pytest.raises(TachographError, match=r"measured\.json: cannot be read as JSON: "):
        read_json(path)
    assert parse_json('["\\ud83d\\ude00", 1e300, -7]') == ["😀", 1e300, -7]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('a = "x\\u0000y"', "a: found 'x.x00y', expected a text without the character NUL"),
        ("a = [1, 9223372036854775808]", r"a\[1\]: found a whole number of more than 64 bits"),
        (f"a = {'9' * 5000}", "cannot be read as TOML"),
    ],
)
def test_toml_that_no_command_or_record_could_hold(line: str, words: str, tmp_path: Path) -> None:
    """TOML's whole numbers have 64 bits, and a NUL would cut a command short: refused before anything runs."""
    path = tmp_path / "study.toml"
    path.write_text(line)
    with pytest.raises(TachographError, match=words):
        read_toml(path)
