"""``tachograph restore STUDY``: bring sealed files back from intact copies of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.files import EMPTY_SHA256, publish_copy, write_text
from tachograph.record.manifest import manifest_findings
from tachograph.study.integrity import damage, damaged_files, sealed_now, sound_copy
from tachograph.study.layout import StudyFolder
from tachograph.study.opening import study_folder
from tachograph.study.recordkeeping import set_record_aside
from tachograph.study.session import exclusive_session
from tachograph.study.state import StudyState, read_state


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("restore", help="bring sealed files back from intact copies")
    parser.add_argument("study")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    folder = study_folder(arguments.study)
    if not folder.ledger.exists():
        raise TachographError(f"{folder.path}: study {arguments.study} was never executed here")
    with exclusive_session(folder):
        restored = restore(folder, read_state(folder))
        left = damaged_files(folder, read_state(folder), whole=True)
    for line in restored:
        print(line)
    for path, wrong, way_on in left:
        print(f"{path}: {wrong}; the way on: {way_on}")
    if not restored and not left:
        print("Every sealed file is as it was.")
    return 1 if left else 0


def restore(folder: StudyFolder, state: StudyState) -> list[str]:
    """Mend what can be mended from sealed copies; returns what was done, a sentence each.

    A copy is any file of the study, its record or an earlier record that has the very bytes which the ledger names.
    A damaged record is set aside as it is: the next snakemake writes a new one. Raises TachographError.
    """
    done = []
    for path, sha, _ in sealed_now(folder, state):
        if not damage(path, sha, whole=True):
            continue
        _refuse_linked_folder(folder, path)
        if sha == EMPTY_SHA256:
            write_text(path, "")
            done.append(f"{path}: restored, it is empty")
        elif source := sound_copy(folder, state, sha):
            publish_copy(source, path)
            done.append(f"{path}: restored from {source}")
    written = state.last("record_written", "record_set_aside")
    if written and written["event"] == "record_written":
        wrong = damage(folder.record / "SHA256SUMS", written["manifest_sha256"])
        if not wrong:
            wrong = "; ".join(manifest_findings(folder.record)) or None
        if wrong:
            set_record_aside(folder, f"it was damaged: {wrong}")
            done.append(f"{folder.record}: set aside, {wrong}; the next snakemake writes a new record")
    return done


def _refuse_linked_folder(folder: StudyFolder, path: Path) -> None:
    """Raise TachographError if the file would be written behind a symbolic link."""
    for place in reversed(path.relative_to(folder.path).parents):
        if (folder.path / place).is_symlink():
            raise TachographError(f"{folder.path / place}: found a symbolic link among the results, expected a folder")
