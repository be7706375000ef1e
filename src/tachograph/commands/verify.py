"""``tachograph verify DIR``: is a record what was sealed, and do its numbers follow from its raw files?"""

from __future__ import annotations

import argparse
from pathlib import Path

from tachograph.errors import TachographError


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("verify", help="check a record and recompute its numbers from its raw files")
    parser.add_argument("folder", type=Path, help="a record, or the folder of a study with a record in it")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 0 only if everything holds; else 1, with one line for each thing that does not."""
    from tachograph.record.manifest import MANIFEST
    from tachograph.record.verify import verify

    folder = arguments.folder
    if not (folder / MANIFEST).exists() and (folder / "record" / MANIFEST).exists():
        folder = folder / "record"
    if not folder.is_dir():
        raise TachographError(f"{folder}: it is not there, expected the folder of a record")
    findings = verify(folder)
    for finding in findings:
        print(f"{folder}: {finding}")
    if not findings:
        print(f"{folder}: every file is as it was sealed, and every number follows from the raw files.")
    return 1 if findings else 0
