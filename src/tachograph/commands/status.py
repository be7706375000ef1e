"""``tachograph status [STUDY …]``: what is planned, what counts, what failed and why, what to do next."""

from __future__ import annotations

import argparse
from pathlib import Path

from tachograph.commands.plan import edit_told
from tachograph.errors import TachographError
from tachograph.lease.processes import printable
from tachograph.scripting import configuration
from tachograph.study.integrity import damaged_files
from tachograph.study.layout import StudyFolder
from tachograph.study.opening import open_study, study_folder
from tachograph.study.pruning import disk_use, in_words
from tachograph.study.recovery import as_seen_now
from tachograph.study.registration import current_study, read_registration
from tachograph.study.state import StudyState, read_state
from tachograph.study.status import status_page


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("status", help="what is planned, what counts, what failed and why")
    parser.add_argument("study", nargs="*", help="all configured studies unless named")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    for name in arguments.study or configuration().studies:
        folder = study_folder(name)
        state = read_state(folder)
        broken = damaged_files(folder, state)
        if any(path == folder.sealed_registration for path, _, _ in broken):  # nothing says what is planned
            _tell_damage(broken)
            continue
        registration = read_registration(folder)
        if registration is None:
            if arguments.study:
                raise TachographError(f"{folder.path}: study {name} was never executed here")
            print(f"Study `{name}` was never executed here; `tachograph plan {name}` shows what it would do.\n")
            continue
        study, _, planned = current_study(registration)
        state = as_seen_now(state)
        print(status_page(study.title, folder, planned, state, _on_terminal))
        _tell_edits(name, state)
        print(_disk(folder, state))
        _tell_damage(broken)
    return 0


def _tell_edits(name: str, state: StudyState) -> None:
    """Say where the files of the study are no longer what is registered, which the page above speaks of."""
    try:
        told = edit_told(open_study(name, configuration(), Path.cwd()), state)
    except TachographError as error:
        told = f"The study cannot be executed as its files are now: {_on_terminal(str(error))}"
    if told:
        print(f"{told}\n")


def _tell_damage(broken: list[tuple[Path, str, str]]) -> None:
    for path, wrong, way_on in broken:
        print(f"**Damaged**: {_on_terminal(str(path))}: {wrong}; the way on: {way_on}\n")


def _on_terminal(words: str) -> str:
    """In one line and without control characters, which could drive the terminal."""
    return printable(words, 1000)


def _disk(folder: StudyFolder, state: StudyState) -> str:
    """What the study takes on disk, and what was pruned of it."""
    parts = ", ".join(f"{name} {in_words(size)}" for name, size in disk_use(folder).items())
    lines = [f"On disk: {parts}."]
    attempts = [attempt for tries in state.attempts.values() for attempt in tries]
    for one in attempts:
        lines += [
            f"* {one.folder}/{_on_terminal(name)}: {in_words(gone.bytes)}, {gone.words}"
            for name, gone in one.pruned.items()
        ]
    return "\n".join([*lines, ""])
