"""The rows of a history in whichever format it was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

from tachograph.evidence.csvrows import csv_rows
from tachograph.evidence.eventfile import HashedRecords
from tachograph.evidence.eventrows import event_rows
from tachograph.evidence.findings import Findings
from tachograph.evidence.hashed import HashedFile
from tachograph.evidence.jsonl import Row, json_rows
from tachograph.evidence.lines import HashedLines
from tachograph.evidence.logrows import log_rows

Format = Literal["jsonl", "csv", "log", "tensorboard"]


class Described(Protocol):
    """How a history was written."""

    @property
    def format(self) -> Format: ...
    @property
    def iteration(self) -> str | None: ...
    @property
    def aliases(self) -> Mapping[str, str]: ...
    @property
    def patterns(self) -> Sequence[str]: ...


def open_rows(
    stream: BinaryIO, path: Path, described: Described, findings: Findings
) -> tuple[HashedFile, Iterator[Row]]:
    """What hashes the bytes of ``stream`` as they are read, and the rows in them; a further format is one more case."""
    if described.format == "tensorboard":
        records = HashedRecords(stream, path, findings)
        return records, event_rows(records, path)
    lines = HashedLines(stream, path, findings)
    match described.format:
        case "csv":
            return lines, csv_rows(lines, path, described.iteration, described.aliases, findings)
        case "log":
            return lines, log_rows(lines, path, described.patterns, findings)
        case "jsonl":
            return lines, json_rows(lines, path, findings)
