"""Which files of a record are made for other people's tools, each from ``record.json`` and from nothing else."""

from __future__ import annotations

from typing import Any

from tachograph.files import PLAIN_PATH, pretty_json
from tachograph.record.exports.intoto import statement
from tachograph.record.exports.mlperf import system_description
from tachograph.record.exports.throughput import benchmark_suites

STATEMENT = "provenance.intoto.json"
SYSTEM = "machine/mlperf_system.json"
RAW = "RAW.SHA256SUMS"


def views(record: dict[str, Any]) -> dict[str, str]:
    """``path -> text`` of every such file but the crate, which also lists the files of the record."""
    found = {STATEMENT: statement(record), SYSTEM: system_description(record)}
    found |= {f"tables/{name}.pyperf.json": suite for name, suite in benchmark_suites(record).items()}
    return {RAW: raw_manifest(record), **{name: pretty_json(content) for name, content in found.items()}}


def raw_manifest(record: dict[str, Any]) -> str:
    """All that all attempts left, in the format of sha256sum, with paths from the folder of the study.

    So the archive of a study can be checked where its large files are, which are in no record. A file whose name
    sha256sum would have to escape is in ``record.json`` alone.
    """
    hashes = {
        f"attempts/{one['run']}/{one['attempt']:03d}/{file}": sha
        for one in record["attempts"]
        for file, sha in one["files"].items()
    }
    names = sorted((name for name in hashes if PLAIN_PATH.fullmatch(name)), key=str.encode)
    return "".join(f"{hashes[name]}  {name}\n" for name in names)
