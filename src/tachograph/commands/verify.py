"""``tachograph verify RECORD …``: re-hash a record both ways and recompute every number of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.record.manifest import MANIFEST
from tachograph.record.verify import verify
from tachograph.study.layout import StudyFolder


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("verify", help="re-hash a record both ways and recompute every number of it")
    parser.add_argument("record", nargs="+", type=Path, help="a record folder, or the folder of its study")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    wrong = 0
    for given in arguments.record:
        place = record_folder(given)
        found = verify(place)
        for sentence in found:
            print(f"{place}: {sentence}")
        if not found:
            print(f"{place}: every file is as it was sealed, and every number follows from the raw files")
        wrong += bool(found)
    return 1 if wrong else 0


def record_folder(given: Path) -> Path:
    """The record that is meant by its folder, by that of its study, or by one of its files. Raises TachographError."""
    if given.is_dir():
        record = StudyFolder(given).record
        return record if record.is_dir() else given
    if given.is_file() and (given.parent / MANIFEST).is_file():
        return given.parent
    found = "a file that is in no record" if given.exists() else "nothing there"
    raise TachographError(
        f"{given}: found {found}, expected the folder of a record, such as results/STUDY/record, or that of its study"
    )
