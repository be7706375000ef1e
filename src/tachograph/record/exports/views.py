"""Which files of a record are made for other people's tools, each from ``record.json`` and from nothing else."""

from __future__ import annotations

from typing import Any

from tachograph.files import pretty_json
from tachograph.record.exports.intoto import statement
from tachograph.record.exports.mlperf import system_description
from tachograph.record.exports.throughput import benchmark_suites

STATEMENT = "provenance.intoto.json"
SYSTEM = "machine/mlperf_system.json"


def views(record: dict[str, Any]) -> dict[str, str]:
    """``path -> text`` of every such file but the crate, which also lists the files of the record."""
    found = {STATEMENT: statement(record), SYSTEM: system_description(record)}
    found |= {f"tables/{name}.pyperf.json": suite for name, suite in benchmark_suites(record).items()}
    return {name: pretty_json(content) for name, content in found.items()}
