"""What is told of a run while its history grows, in each format."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import google_crc32c
import pytest

from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence.eventfile import masked
from tachograph.execution.progress import Progress
from tachograph.models.trainer import HistoryFile

COMMON = {
    "file": "history",
    "work": {"constant": 1, "unit": "samples"},
    "iteration_seconds": "seconds",
    "stage": {"name": "training", "column": "seconds"},
}
FORMATS: dict[str, dict[str, Any]] = {
    "jsonl": {"iteration": "iteration"},
    "csv": {"iteration": "iteration"},
    "log": {"iteration": "iteration", "patterns": [r"iteration (?P<iteration>\d+): (?P<seconds>\S+) s"]},
    "tensorboard": {"iteration": "step"},
}


def frame(record: bytes) -> bytes:
    """A record as TFRecord frames it."""
    length = struct.pack("<Q", len(record))
    checks = [struct.pack("<I", masked(google_crc32c.value(part))) for part in (length, record)]
    return length + checks[0] + record + checks[1]


def scalar(step: int) -> bytes:
    """An event with the scalar `x` of one step: field 2 of Event, and field 5 with a Summary of one Value."""
    value = b"\x0a\x01x\x15" + struct.pack("<f", 0.5)
    summary = b"\x0a" + bytes([len(value)]) + value
    return frame(b"\x10" + bytes([step]) + b"\x2a" + bytes([len(summary)]) + summary)


GRAPH = frame(b"\x22\x80\x80\xc0\x01" + bytes(3 << 20))  # field 4 of Event, 3 MiB
BEGUN = {"jsonl": b"", "csv": b"iteration,seconds\n", "log": b"loading the data\n", "tensorboard": GRAPH}


def row(format: str, number: int) -> bytes:
    """One iteration in this format."""
    return {
        "jsonl": b'{"iteration": %d, "seconds": 0.5}\n' % number,
        "csv": b"%d,0.5\n" % number,
        "log": b"iteration %d: 0.5 s\n" % number,
        "tensorboard": scalar(number),
    }[format]


@pytest.mark.parametrize("format", FORMATS)
def test_first_iteration_is_the_first_one_finished(format: str, sealed: SealedStudy, tmp_path: Path) -> None:
    """Names of columns, words at the start and the graph of a network are no iteration; each one counts once."""
    history = HistoryFile.model_validate({**COMMON, "format": format, **FORMATS[format]})
    said: list[str] = []
    planned = next(run for run in sealed.planned if run.trains)
    progress = Progress(planned, history, tmp_path, said.append)
    (tmp_path / "history").write_bytes(BEGUN[format])
    progress()
    assert progress.first_row_at is None
    for number in range(1, planned.amount + 1):
        with (tmp_path / "history").open("ab") as stream:
            stream.write(row(format, number))
        progress()
        assert progress.done == number
        assert progress.first_row_at is not None
    progress()  # nothing is new, so nothing is said
    assert len(said) == 1
    assert f"iteration {planned.amount}/{planned.amount}" in said[0]
