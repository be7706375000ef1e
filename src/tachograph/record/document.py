"""``record.json``: who made the record and when, around the sections of the analysis."""

from __future__ import annotations

import os
import time
import uuid
from pathlib import Path
from typing import Any

from tachograph import __version__
from tachograph.analysis.names import figure_names, table_names
from tachograph.execution.attempt import RUN
from tachograph.files import read_json
from tachograph.models import AnyStudy, MachineStudy, Program
from tachograph.study.gitstate import git_state
from tachograph.study.integrity import damage
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import utc_now

SCHEMA = "throughput-record/1"
MACHINE_SCHEMA = "machine-record/1"
IDENTITY = ("record_id", "created", "supersedes", "generator", "workflow")
OWN_KEYS = ("schema", "manifest", "tables", "figures", "external", *IDENTITY)


def uuid7() -> str:
    """A UUID of version 7 (RFC 9562): milliseconds since 1970, then random bits, so that records sort by time."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10))
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return str(uuid.UUID(int=value))


def new_identity(supersedes: dict[str, Any] | None, repository: Path, workflow_files: dict[str, str]) -> dict[str, Any]:
    """What tells this record from another one with the same content.

    ``workflow_files``: SHA-256 by path of the copies of what stood around the study, see
    :mod:`tachograph.record.surroundings`.
    """
    return {
        "record_id": uuid7(),
        "created": utc_now(),
        "supersedes": supersedes,
        "generator": {"name": "tachograph", "version": __version__, "git": git_state(repository)},
        "workflow": {"engine": "snakemake", "files": workflow_files},
    }


def identity_of(record: Path) -> dict[str, Any] | None:
    """The identity of the record in this folder, or None if there is none."""
    path = record / "record.json"
    if not path.is_file():
        return None
    held = read_json(path)
    known = {"workflow": {"engine": "snakemake", "files": {}}, **held}  # records before 0.2.0 name no workflow files
    return {key: known[key] for key in IDENTITY}


def document(
    analysis: dict[str, Any],
    identity: dict[str, Any],
    study: AnyStudy,
    program: Program,
    external: list[dict[str, Any]],
) -> dict[str, Any]:
    """The content of ``record.json``. ``external`` names the sealed files that stay outside, by their hashes."""
    return {
        **{key: value for key, value in analysis.items() if key != "schema"},
        **identity,
        "schema": MACHINE_SCHEMA if isinstance(study, MachineStudy) else SCHEMA,
        "manifest": {"file": "SHA256SUMS"},
        "tables": [f"tables/{name}.csv" for name in table_names(study, program)],
        "figures": [f"figures/{name}.{kind}" for name in figure_names(study, program) for kind in ("svg", "png")],
        "external": external,
    }


def analysis_in(record: dict[str, Any]) -> dict[str, Any]:
    """The analysis that a record holds, as :func:`tachograph.analysis.study.analyse` would give it again."""
    return {"schema": "analysis/1", **{key: value for key, value in record.items() if key not in OWN_KEYS}}


def sealed_files(folder: StudyFolder, attempts: list[dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]]]:
    """Paths of attempt files that go into a record, and the files that stay outside with hash, size and reason.

    Inside: each attempt's run.json and its result (history, profile, …; of runs in turn every history). The
    trainer's own log may hold anything, and checkpoints are large: they are named by their hashes, as is a file
    that is no longer as it was sealed, or that was pruned.
    """
    inside: list[str] = []
    outside: list[dict[str, Any]] = []
    for one in attempts:
        place = f"attempts/{one['run']}/{one['attempt']:03d}"
        sound = {file for file, sha in one["files"].items() if not damage(folder.path / place / file, sha, whole=True)}
        facts = read_json(folder.path / place / RUN) if RUN in sound else {}
        wanted = {RUN, facts.get("result"), *facts.get("evidence", [])}
        for file, sha in one["files"].items():
            if file in one["pruned"]:
                gone = one["pruned"][file]
                outside.append({"path": f"{place}/{file}", "sha256": sha, "bytes": gone.bytes, "storage": gone.words})
                continue
            path = folder.path / place / file
            if file in sound and file in wanted:
                inside.append(f"{place}/{file}")
            else:
                size = path.stat().st_size if path.is_file() else None
                outside.append({"path": f"{place}/{file}", "sha256": sha, "bytes": size, "storage": "external"})
    return inside, outside
