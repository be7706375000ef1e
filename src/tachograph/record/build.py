"""A record is built in a folder beside, sealed there, and appears by one rename; nothing in it changes afterwards."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tachograph.analysis.sealed import read_sealed
from tachograph.analysis.study import sections
from tachograph.analysis.tables import as_csv, table
from tachograph.errors import TachographError
from tachograph.files import canonical_json, parse_json, publish_copy, read_json, sha256_file, write_json, write_text
from tachograph.models import AnyStudy, Program
from tachograph.record.document import document, identity_of, new_identity, sealed_files
from tachograph.record.exports.crate import CRATE, crate_text, parts_of
from tachograph.record.exports.views import views
from tachograph.record.manifest import MANIFEST, manifest_findings, manifest_of, read_manifest, write_manifest
from tachograph.record.outcome import OUTCOME, outcome
from tachograph.record.page import page
from tachograph.record.readme import readme
from tachograph.record.surroundings import copy_surroundings, keep_surroundings
from tachograph.study.layout import BEGUN_RECORD, StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.recordkeeping import next_record_folder, set_record_aside
from tachograph.study.registration import differences
from tachograph.study.state import read_state

LEDGER = "ledger/ledger.jsonl"


@dataclass(frozen=True)
class Written:
    """The standing record after :func:`write_record`. ``kept``: its content was there already."""

    folder: Path
    manifest_sha256: str
    kept: bool


def write_record(folder: StudyFolder, repository: Path) -> Written:
    """Make the record of a study from its sealed files, or keep the standing one if it says the same.

    ``repository`` is the folder of the Snakefile, whose git state stands for the workflow. Raises TachographError if
    a sealed file, the analysis or the standing record is not what it should be; then nothing has changed.
    """
    with _folder_beside(folder.record) as place:
        material = _gather(folder, place)
        standing = identity_of(folder.record)
        changed: list[str] = []
        if standing is not None:
            _refuse_damaged(folder.record)
            changed = _changed(place, material, standing, folder.record)
            if not changed:
                return _keep(folder)
        config = folder.path.parents[1] / "config"
        around = copy_surroundings(place, repository, config, material.study, material.program)
        _fill(place, material, new_identity(_superseded(folder), repository, around))
        sha = _seal(place)
        if standing is not None:
            shown = ", ".join(changed[:3]) + (f" and {len(changed) - 3} more" if len(changed) > 3 else "")
            set_record_aside(folder, f"a new record differs in {shown}")
        place.rename(folder.record)
    _sync(folder.path)
    return _announce(folder, sha, kept=False)


@dataclass(frozen=True)
class _Material:
    """What a record is made of, but for its identity."""

    analysis: dict[str, Any]
    study: AnyStudy
    program: Program
    external: list[dict[str, Any]]
    ledger: bytes


def _gather(folder: StudyFolder, place: Path) -> _Material:
    """Copy the sealed files to ``place`` and analyse the copies."""
    attempts = [
        {"run": key, "attempt": one.number, "files": one.files, "pruned": one.pruned}
        for key, tries in read_state(folder).attempts.items()
        for one in tries
    ]
    inside, external = sealed_files(folder, attempts)
    for name in ("ledger/registration.json", LEDGER, "machine.json", "preflight.json", *inside):
        _copy(folder.path / name, place / name)
    sealed = read_sealed(StudyFolder(place))
    for run in sealed.planned:
        _copy(folder.path / run.plan_file, place / run.plan_file)
    analysis: dict[str, Any] = parse_json(canonical_json(sections(sealed)))
    _refuse_stale(folder, analysis)
    material = _Material(analysis, sealed.study, sealed.program, external, (place / LEDGER).read_bytes())
    names = document(analysis, {}, sealed.study, sealed.program, external)
    for name in names["tables"]:
        write_text(place / name, as_csv(table(analysis, Path(name).stem)))
    for name in names["figures"]:
        _copy(folder.path / name, place / name)
    return material


def _refuse_stale(folder: StudyFolder, analysis: dict[str, Any]) -> None:
    """The analysis that tables and figures were made of must be the one that follows from the sealed files."""
    for path, found, expected in (
        (folder.analysis, read_json(folder.analysis), analysis),
        (folder.preflight, read_json(folder.preflight), analysis["preflight"]),
    ):
        differing = differences(found, expected)
        if differing:
            raise TachographError(
                f"{path}: {differing[0]['key']}: it does not follow from the sealed files; remove the file and start "
                "snakemake again"
            )


def _fill(place: Path, material: _Material, identity: dict[str, Any]) -> None:
    """Everything that follows from the content; the crate last, as it lists the other files."""
    content = document(material.analysis, identity, material.study, material.program, material.external)
    (place / LEDGER).write_bytes(material.ledger)
    write_json(place / "record.json", content)
    write_text(place / "record.md", page(content))
    write_text(place / OUTCOME, outcome(content))
    write_text(place / "README.md", readme(content))
    for name, text in views(content).items():
        write_text(place / name, text)
    write_text(place / CRATE, crate_text(content, parts_of(place, manifest_of(place))))


def _changed(place: Path, material: _Material, standing: dict[str, Any], record: Path) -> list[str]:
    """Files in which a new record would differ from the standing one.

    For that the new one takes over what is no content: the identity, the surroundings, and the ledger, which grows
    without a change of content.
    """
    keep_surroundings(place, record)
    _fill(place, replace(material, ledger=(record / LEDGER).read_bytes()), standing)
    new, old = manifest_of(place), read_manifest(record)
    return sorted(name for name in new.keys() | old.keys() if new.get(name) != old.get(name))


def _refuse_damaged(record: Path) -> None:
    found = manifest_findings(record)
    if found:
        raise TachographError(
            f"{record}: {found[0]}; a sealed record is not built over: restore it, or move it out of the study's folder"
        )


def _superseded(folder: StudyFolder) -> dict[str, Any] | None:
    """The record that stood before: the standing one, which is about to be set aside, or the last that was."""
    number = next_record_folder(folder)
    standing = folder.record.is_dir()
    before = folder.record if standing else folder.records / f"{number - 1:03d}"
    if not (before / "record.json").is_file():
        return None
    event = None if standing else read_state(folder).last("record_set_aside")
    return {
        "record_id": read_json(before / "record.json")["record_id"],
        "folder": f"records/{number if standing else number - 1:03d}",
        "manifest_sha256": sha256_file(before / MANIFEST),
        "why": event["reason"] if event else "its content is no longer what the sealed files and the code give",
    }


def _seal(place: Path) -> str:
    for path in place.rglob("*"):
        if path.is_file():
            path.chmod(0o644)
            _sync(path)
    return write_manifest(place)


def _keep(folder: StudyFolder) -> Written:
    return _announce(folder, sha256_file(folder.record / MANIFEST), kept=True)


def _announce(folder: StudyFolder, sha: str, *, kept: bool) -> Written:
    """The outcome beside the record, and the ledger's line, unless it is there already (a killed job may have come
    as far as the rename)."""
    publish_copy(folder.record / OUTCOME, folder.outcome)
    last = read_state(folder).last("record_written", "record_set_aside")
    if last is None or last["event"] != "record_written" or last["manifest_sha256"] != sha:
        Ledger(folder.ledger).append("record_written", manifest_sha256=sha)
    return Written(folder.record, sha, kept)


@contextmanager
def _folder_beside(record: Path) -> Iterator[Path]:
    place = Path(tempfile.mkdtemp(dir=record.parent, prefix=BEGUN_RECORD))
    descriptor = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # a new session removes what nobody has locked
        place.chmod(0o755)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(descriptor)


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink() or not source.is_file():
        raise TachographError(f"{source}: the file is not there, the record needs a copy of it")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
