"""``ro-crate-metadata.json``: the record as a Provenance Run Crate 0.5 on the context of RO-Crate 1.1.

Profiles: https://w3id.org/ro/wfrun/provenance/0.5 and those it builds on; https://w3id.org/ro/crate/1.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tachograph.files import pretty_json
from tachograph.record.exports.crateactions import actions
from tachograph.record.exports.cratetools import OPERATOR, WORKFLOW, moment, reference, tools
from tachograph.record.manifest import MANIFEST

Record = dict[str, Any]
CRATE = "ro-crate-metadata.json"
LICENCE = "#licence"
CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/provenance/0.5": ("Provenance Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
FORMATS = {
    ".csv": "text/csv",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".png": "image/png",
    ".py": "text/x-python",
    ".svg": "image/svg+xml",
    ".toml": "application/toml",
    ".yaml": "application/yaml",
}
EVENTS = "application/octet-stream"  # of TensorBoard, whose names end in numbers
ABOUT = {
    "record.md": "the page to read",
    "record.json": "every number of the page",
    "README.md": "what lies where, and how to check it",
    "ledger/registration.json": "the study as it was frozen before its first run, with all amendments",
    "ledger/ledger.jsonl": "one line per event of the study, chained by hashes",
    "machine.json": "facts of the machine",
}


@dataclass(frozen=True)
class Part:
    """A file of the record: SHA-256 (hex) and size in bytes."""

    sha256: str
    size: int


def parts_of(folder: Path, manifest: Mapping[str, str]) -> dict[str, Part]:
    """The files of a record folder with the hashes of its manifest; one that is gone is left out."""
    there = {name: folder / name for name in manifest if (folder / name).is_file()}
    return {name: Part(manifest[name], path.stat().st_size) for name, path in there.items()}


def crate_text(record: Record, parts: Mapping[str, Part]) -> str:
    """The crate of a record whose files are ``parts``, by path; the crate itself and the manifest are left out."""
    return pretty_json(crate(record, {name: parts[name] for name in parts if name not in (CRATE, MANIFEST)}))


def crate(record: Record, parts: Mapping[str, Part]) -> dict[str, Any]:
    """``{"@context", "@graph"}``, flat, one entity per ``@id``, sorted by it."""
    entities = [
        _descriptor(),
        *_profiles(),
        *(_file(name, parts[name]) for name in parts),
        *tools(record),
        *actions(record, parts),
        {"@id": MANIFEST, "@type": "File", "name": MANIFEST, "description": "the seal", "encodingFormat": "text/plain"},
        {
            "@id": LICENCE,
            "@type": "CreativeWork",
            "name": "no licence is stated",
            "description": "This record states no licence; its use is for those to decide who executed the study.",
        },
    ]
    graph: dict[str, dict[str, Any]] = {}
    for entity in entities:  # the main workflow is a file and a workflow
        graph[entity["@id"]] = {**graph.get(entity["@id"], {}), **entity}
    root = _root(record, [*parts, MANIFEST], [one for one in graph if "Action" in graph[one].get("@type", "")])
    return {"@context": CONTEXT, "@graph": [root, *(graph[name] for name in sorted(graph))]}


def _descriptor() -> dict[str, Any]:
    return {
        "@id": CRATE,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": reference("https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"),
    }


def _profiles() -> list[dict[str, Any]]:
    return [
        {"@id": uri, "@type": "CreativeWork", "name": name, "version": version}
        for uri, (name, version) in PROFILES.items()
    ]


def _root(record: Record, files: list[str], mentions: list[str]) -> dict[str, Any]:
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": record["study"]["title"],
        "description": f"Record {record['record_id']} of the study {record['study']['name']}: "
        f"{record['registration']['question']}",
        "identifier": f"urn:uuid:{record['record_id']}",
        "datePublished": moment(record["created"]),
        "license": reference(LICENCE),
        "author": reference(OPERATOR),
        "publisher": reference(OPERATOR),
        "conformsTo": reference(*PROFILES),
        "mainEntity": reference(WORKFLOW),
        "hasPart": reference(*files),
        "mentions": reference(*sorted(mentions)),
    }


def _file(name: str, part: Part) -> dict[str, Any]:
    suffix = name[name.rfind(".") :] if "." in name else ""
    entity: dict[str, Any] = {
        "@id": name,
        "@type": "File",
        "name": name,
        "sha256": part.sha256,
        "contentSize": str(part.size),
        "encodingFormat": EVENTS if ".tfevents." in name else FORMATS.get(suffix, "text/plain"),
    }
    if name in ABOUT:
        entity["description"] = ABOUT[name]
    if name == "README.md":
        entity["about"] = {"@id": "./"}
    return entity
