"""``tachograph prune STUDY [--yes]``: make room by removing large files that nothing speaks of."""

from __future__ import annotations

import argparse

from tachograph.errors import TachographError
from tachograph.lease.processes import printable
from tachograph.study.opening import study_folder
from tachograph.study.pruning import in_words, prunable, prune
from tachograph.study.registration import current_study, read_registration
from tachograph.study.session import exclusive_session
from tachograph.study.state import read_state
from tachograph.wording import counted

MEBIBYTE = 1024 * 1024


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("prune", help="list large files of attempts that nothing speaks of; --yes removes")
    parser.add_argument("study")
    parser.add_argument("--yes", action="store_true", help="remove what is listed; without it nothing is removed")
    parser.add_argument("--at-least", type=int, default=1, metavar="MIB", help="size of a large file (default: 1 MiB)")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    folder = study_folder(arguments.study)
    registration = read_registration(folder)
    if registration is None:
        raise TachographError(f"{folder.path}: study {arguments.study} was never executed here")
    if arguments.at_least < 0:
        raise TachographError(f"--at-least: found {arguments.at_least}, expected a number of MiB from 0")
    _, trainer, planned = current_study(registration)
    with exclusive_session(folder):
        files = prunable(folder, trainer, planned, read_state(folder), arguments.at_least * MEBIBYTE)
        for one in files:
            print(f"{printable(str(one.path), 1000)}  {in_words(one.bytes)}")
        if not files:
            print(f"{arguments.study}: nothing may go: records, counted attempts and published targets are kept")
            return 0
        total = f"{counted(len(files), 'file')}, {in_words(sum(one.bytes for one in files))}"
        if not arguments.yes:
            print(f"{total} may go; nothing was removed. `tachograph prune {arguments.study} --yes` removes them")
            return 0
        prune(folder, files)
    print(f"{total} removed; the ledger says which")
    return 0
