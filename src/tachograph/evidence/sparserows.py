"""Rows that describe one iteration together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tachograph.evidence.findings import Findings, Kind
from tachograph.evidence.jsonl import Row


def merged(rows: Iterable[Row], iteration: str | None, findings: Findings) -> Iterator[Row]:
    """Join consecutive rows of the same iteration that fill different columns and contradict nowhere.

    PyTorch Lightning writes the training and the validation metrics of a step in separate rows, scripts in
    the manner of nanoGPT print them in separate lines. Equal rows stay apart: they are repeats.
    """
    held: Row | None = None
    for number, row in rows:
        if held is not None and iteration is not None and _complementary(held[1], row, iteration):
            held = held[0], {**held[1], **row}
            findings.add(Kind.SPARSE_ROWS, number, f"line {number} completes the iteration of line {held[0]}")
            continue
        if held is not None:
            yield held
        held = number, row
    if held is not None:
        yield held


def _complementary(row: Mapping[str, object], other: Mapping[str, object], iteration: str) -> bool:
    if iteration not in row or row.keys() == other.keys():
        return False
    return iteration in other and all(row[key] == other[key] for key in row.keys() & other.keys())
