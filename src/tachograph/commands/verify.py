"""``tachograph verify RECORD …``: re-hash a record both ways and recompute every number of it."""

from __future__ import annotations

import argparse
from pathlib import Path

from tachograph.layout import StudyFolder
from tachograph.record.verify import verify


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("verify", help="re-hash a record both ways and recompute every number of it")
    parser.add_argument("record", nargs="+", type=Path, help="a record folder, or the folder of its study")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    wrong = 0
    for folder in arguments.record:
        record = StudyFolder(folder).record
        place = record if record.is_dir() else folder
        found = verify(place)
        for sentence in found:
            print(f"{place}: {sentence}")
        if not found:
            print(f"{place}: every file is as it was sealed, and every number follows from the raw files")
        wrong += bool(found)
    return 1 if wrong else 0
