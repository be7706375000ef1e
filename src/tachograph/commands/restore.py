"""``tachograph restore STUDY``: bring published files back from the sealed attempts they were copied from."""

from __future__ import annotations

import argparse

from tachograph.errors import TachographError
from tachograph.execution.attempt import RUN
from tachograph.files import EMPTY_SHA256, publish_copy, read_json, write_text
from tachograph.record.manifest import manifest_findings
from tachograph.study.integrity import damage, damaged_files
from tachograph.study.layout import StudyFolder
from tachograph.study.opening import study_folder
from tachograph.study.recordkeeping import set_record_aside
from tachograph.study.session import exclusive_session
from tachograph.study.state import StudyState, read_state


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("restore", help="bring published files back from the sealed attempts")
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

    A damaged record is set aside as it is: the next snakemake writes a new one.
    """
    done = []
    registered = state.last("registered", "amended")
    if (
        registered
        and damage(folder.registration, registered["file_sha256"])
        and not damage(folder.sealed_registration, registered["file_sha256"])
    ):
        publish_copy(folder.sealed_registration, folder.registration)
        done.append(f"{folder.registration}: restored from {folder.sealed_registration}")
    for key, event in state.published.items():
        if key not in state.requested:
            done += _restore_target(folder, state, key, event)
    written = state.last("record_written", "record_set_aside")
    if written and written["event"] == "record_written":
        wrong = damage(folder.record / "SHA256SUMS", written["manifest_sha256"])
        if not wrong:
            wrong = "; ".join(manifest_findings(folder.record)) or None
        if wrong:
            set_record_aside(folder, f"it was damaged: {wrong}")
            done.append(f"{folder.record}: set aside, {wrong}; the next snakemake writes a new record")
    return done


def _restore_target(folder: StudyFolder, state: StudyState, key: str, event: dict[str, dict[str, str]]) -> list[str]:
    attempt = next(a for a in state.attempts[key] if a.number == event["attempt"])
    place = folder.path / attempt.folder
    done = []
    for name, sha in event["files"].items():
        if not damage(folder.path / name, sha):
            continue
        if sha == EMPTY_SHA256:
            write_text(folder.path / name, "")
            done.append(f"{folder.path / name}: restored, it is empty")
            continue
        source = place / (RUN if sha == attempt.files[RUN] else read_json(place / RUN)["result"])
        if damage(source, sha):
            continue  # told by damaged_files, with the way on
        publish_copy(source, folder.path / name)
        done.append(f"{folder.path / name}: restored from {source}")
    return done
