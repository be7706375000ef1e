"""docs/recovery.md, followed to the letter after a SIGKILL of everything."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from laboratory import FAST, Laboratory, tree
from rows import Row

from study_project import REPOSITORY
from tachograph.cli import build_parser

DOCUMENT = REPOSITORY / "docs/recovery.md"
NAMES = {"STUDY": "toy", "ARM": "fast", "SEED": "0", "seedN": "seed0"}


def filled_in(command: str) -> str:
    """A command of the document with the study's own names."""
    return re.sub("|".join(NAMES), lambda match: NAMES[match[0]], command)


def commands(section: str) -> list[str]:
    """The indented lines of the section with this heading, or of the text before the first one."""
    text = DOCUMENT.read_text(encoding="utf-8")
    part = text.split("\n## ")[0] if not section else text.split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [filled_in(line.strip()) for line in part.splitlines() if line.startswith("    ")]


RECOVERY = ["", "Making room", "Doing a run again on purpose", "Taking a run out"]
HOPELESS = "A run that fails whatever you do"


def sections() -> list[str]:
    """The headings under which the document gives commands; empty for what stands before the first one."""
    return ["", *re.findall(r"^## (.*)$", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)]


@pytest.fixture
def terminal(lab: Laboratory) -> Path:
    """The programs that the document names, first on PATH, and the study's folder as a checkout has it."""
    for name in ("Snakefile", "profiles", "envs"):
        (lab.path / name).symlink_to(REPOSITORY / name)
    programs = lab.path / "bin"
    programs.mkdir()
    for name, module in (("snakemake", "snakemake"), ("tachograph", "tachograph.cli")):
        (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable} -m {module} "$@"\n')
        (programs / name).chmod(0o755)
    return programs


def typed(lab: Laboratory, programs: Path, command: str) -> subprocess.CompletedProcess[str]:
    """What a user gets who types this."""
    return subprocess.run(
        ["bash", "-c", command],
        cwd=lab.path,
        env={**lab.environment, "PATH": f"{programs}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=200,
        check=False,
    )


def test_document_after_sigkill_of_everything(lab: Laboratory, row: Row, terminal: Path) -> None:
    """Every command of the document is typed as it stands, and the study ends with a record that verifies."""
    row.fault, row.how = "SIGKILL to everything, then the document", "the commands of docs/recovery.md, as they stand"
    lab.plant("fast", "pause")
    first = lab.start("--cores", "2", FAST)
    lab.caught()
    for pid in tree(first.pid):
        os.kill(pid, signal.SIGKILL)
    lab.ended(first)
    lab.heal()
    outputs = {}
    for command in [line for section in RECOVERY for line in commands(section)]:
        done = typed(lab, terminal, command)
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        outputs.setdefault(command, done.stdout)
    assert "interrupted" in outputs["tachograph status toy"]
    assert "every number follows from the raw files" in outputs["tachograph verify results/toy/record"]
    assert lab.statuses() == ["interrupted", "finished", "finished", "finished"]
    assert [line["reason"] for line in lab.ledger("discarded")] == ["forced rerun", "a backup ran beside it"]
    lab.check()
    row.outcome = "the study is finished, its record verifies"


@pytest.mark.slow
def test_document_about_a_hopeless_run(lab: Laboratory, row: Row, terminal: Path) -> None:
    """A run that fails each time is settled by the command of the document, and the study has its record."""
    row.fault, row.how = "a run that fails each time, then the document", "tachograph settle, as it stands there"
    lab.plant("fast", "exit no memory")
    assert typed(lab, terminal, commands("")[1]).returncode != 0
    for command in [*commands(HOPELESS), *commands("")]:
        done = typed(lab, terminal, command)
        assert done.returncode == 0, f"{command}\n{done.stdout}"
    assert "no memory" in (lab.folder.record / "record.md").read_text()
    assert lab.statuses() == ["failed"]
    row.outcome = "it stands as invalid, the record verifies"


def test_every_section_is_followed() -> None:
    """No command stands in the document that is typed by no test."""
    assert [name for name in sections() if commands(name)] == [RECOVERY[0], HOPELESS, *RECOVERY[1:]]


def test_every_command_of_the_document_exists() -> None:
    """Each `tachograph …` in the text is one that the program takes."""
    text = DOCUMENT.read_text(encoding="utf-8")
    named = re.findall(r"`(tachograph [^`]*)`", text)
    assert len(named) >= 8
    for command in named:
        words = shlex.split(filled_in(command))[1:]
        if words not in (["status"], ["lease", "--status"]):
            build_parser().parse_args(words)
