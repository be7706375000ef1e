"""Sealed files that are gone or altered: noticed before any job starts, and named."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.files import EMPTY_SHA256, sha256_file
from tachograph.record.manifest import manifest_findings
from tachograph.study.layout import StudyFolder
from tachograph.study.registration import read_registration, unfinished
from tachograph.study.state import StudyState

HASHED_AT_START = 64 * 1024 * 1024  # larger files are compared by `tachograph verify`, not at every start


def run_command(command: str, study: str, key: str) -> str:
    """The command line of ``tachograph discard`` or ``settle`` for the run ``key``."""
    role, _, rest = key.partition("-")
    arm, _, seed = rest.rpartition("-seed")
    named = "" if role == "run" else f" --role {role}"
    return f'tachograph {command} {study} {arm} {seed}{named} --reason "…"'


def damage(path: Path, expected: str, *, whole: bool = False) -> str | None:
    """What is wrong with a sealed file, in words, or None. Large files are hashed only if ``whole``."""
    if not path.is_file() or path.is_symlink():
        return "it is gone"
    if not whole and path.stat().st_size > HASHED_AT_START:
        return None
    found = sha256_file(path)
    return None if found == expected else f"it was altered (SHA-256 {found[:16]}…, sealed as {expected[:16]}…)"


def sealed_now(folder: StudyFolder, state: StudyState) -> Iterator[tuple[Path, str, str | None]]:
    """Every file outside of the record that must be as the ledger says: path, SHA-256, and its run if it has one.

    Originals come before the copies made of them. A published target that Snakemake removed on behalf of a job is
    not among them: that job has left a ``requested`` line in the ledger.
    """
    registered = state.last("registered", "amended")
    if registered and not _amendment_begun(folder, registered):
        yield folder.sealed_registration, registered["file_sha256"], None
        yield folder.registration, registered["file_sha256"], None
    for key, tries in state.attempts.items():
        for attempt in tries:
            if attempt.stands:
                for file, sha in attempt.files.items():
                    if file not in attempt.pruned:
                        yield folder.path / attempt.folder / file, sha, key
    for key, event in state.published.items():
        if key not in state.requested:
            for file, sha in event["files"].items():
                yield folder.path / file, sha, key


def sound_copy(folder: StudyFolder, state: StudyState, sha: str) -> Path | None:
    """A file with this SHA-256 where the study or one of its records keeps such a sealed file, or None."""
    names = {path.relative_to(folder.path) for path, held, _ in sealed_now(folder, state) if held == sha}
    places = [folder.path, folder.record, *sorted(folder.records.glob("[0-9]*"), reverse=True)]
    copies = (place / name for place in places for name in sorted(names))
    return next((copy for copy in copies if damage(copy, sha, whole=True) is None), None)


def damaged_files(folder: StudyFolder, state: StudyState, *, whole: bool = False) -> list[tuple[Path, str, str]]:
    """Every sealed file that is not as the ledger says: path, what is wrong, and the way on."""
    found: list[tuple[Path, str, str]] = []
    name = folder.path.name
    for path, sha, key in sealed_now(folder, state):
        if path == folder.registration and (not path.exists() or _published_before(folder, state)):
            continue  # a program was killed before it published this one
        wrong = damage(path, sha, whole=whole)
        if wrong:
            there = sha == EMPTY_SHA256 or sound_copy(folder, state, sha)
            way_on = f"tachograph restore {name}" if there else "bring it back from a backup"
            found.append((path, wrong, f"{way_on}, or: {run_command('discard', name, key)}" if key else way_on))
    _check_against_ledger(folder, state, found)
    written = state.last("record_written", "record_set_aside")
    if written and written["event"] == "record_written":
        before = len(found)
        wrong = damage(folder.record / "SHA256SUMS", written["manifest_sha256"], whole=whole)
        if wrong:
            found.append((folder.record / "SHA256SUMS", wrong, f"tachograph restore {name}"))
        if len(found) == before:
            _check_record(folder, found)
    return found


def _published_before(folder: StudyFolder, state: StudyState) -> bool:
    """Whether the published registration is a former one: the program that amended it was killed before the copy."""
    former = {event["file_sha256"] for event in state.events if event["event"] in ("registered", "amended")}
    return sha256_file(folder.registration) in former


def _amendment_begun(folder: StudyFolder, registered: dict[str, Any]) -> bool:
    """Whether a program was killed between the file of an amendment and its line, which the register rule mends."""
    path = folder.sealed_registration
    if not path.is_file() or damage(path, registered["file_sha256"]) is None:
        return False
    try:
        registration = read_registration(folder)
        return registration is not None and unfinished(registration, registered)
    except (TachographError, KeyError, TypeError, AttributeError, IndexError):
        return False  # damaged: told by its hash


def _check_against_ledger(folder: StudyFolder, state: StudyState, found: list[tuple[Path, str, str]]) -> None:
    """Results of which the ledger knows nothing: its last lines, or all of it, were removed."""
    copy = f"bring it back from a backup or a record: cp {folder.path}/record/ledger/ledger.jsonl {folder.ledger}"
    there = [path for path in (folder.attempts, folder.record, folder.records) if path.is_dir() and any(path.iterdir())]
    if there and not state.events:
        found.append((folder.ledger, f"it is gone or empty, but {there[0]} is there", copy))
        return
    for place in sorted(folder.attempts.glob("*/[0-9]*")):
        if place.name.isdecimal() and not any(
            attempt.number == int(place.name) for attempt in state.attempts.get(place.parent.name, [])
        ):
            found.append((folder.ledger, f"it does not tell of {place}", copy))
    written = state.last("record_written", "record_set_aside")
    if folder.record_seal.exists() and (written is None or written["event"] != "record_written"):
        found.append((folder.ledger, f"it does not tell of the record that {folder.record_seal} seals", copy))


def _check_record(folder: StudyFolder, found: list[tuple[Path, str, str]]) -> None:
    """Every file of the standing record against its manifest."""
    way_on = f"tachograph restore {folder.path.name} sets the record aside, the next snakemake writes a new one"
    found += [(folder.record, sentence, way_on) for sentence in manifest_findings(folder.record)]


def refuse_links(folder: StudyFolder) -> None:
    """Raise TachographError for a symbolic link in the study's folder: Snakemake would delete and write behind it.

    What a trainer has left inside of its attempt is evidence, and followed by nobody.
    """
    if folder.path.is_symlink():
        raise TachographError(f"{folder.path}: found a symbolic link, expected a folder; move the results here")
    for place, folders, files in os.walk(folder.path):
        for name in [*folders, *files]:
            path = Path(place, name)
            if path.is_symlink():
                raise TachographError(f"{path}: found a symbolic link among the results, expected none; remove it")
        if Path(place).parent == folder.attempts:
            folders.clear()


def refuse_damage(folder: StudyFolder, state: StudyState) -> None:
    """Raise TachographError for the first damaged sealed file, with the way on."""
    found = damaged_files(folder, state)
    if found:
        path, wrong, way_on = found[0]
        more = f" ({len(found) - 1} more like it)" if len(found) > 1 else ""
        raise TachographError(f"{path}: {wrong}{more}; the way on: {way_on}")
