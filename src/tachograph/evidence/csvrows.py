"""Rows of a CSV history: rewritten headers, sparse rows, a torn last line."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from tachograph.evidence.findings import Findings, HistoryError, Kind
from tachograph.evidence.jsonl import Row
from tachograph.evidence.lines import HashedLines


def csv_rows(lines: HashedLines, path: Path, iteration: str | None, findings: Findings) -> Iterator[Row]:
    """Yield ``(line number, {column: cell text})``; an empty cell is an absent column.

    A header that stands again in the middle (a logger was restarted, perhaps with more columns) begins to
    count there. Consecutive rows of the same iteration that fill different columns (as PyTorch Lightning
    writes them) are one iteration. A last line with too few cells or without a newline is torn: unlike a JSON
    object, a cut number still reads as a number.
    Raises :class:`HistoryError`, naming the line, for any other row of the wrong width and for bad quoting.
    """
    held: Row | None = None
    for number, row in _whole_rows(lines, path, iteration, findings):
        if held is not None and iteration in row and _complementary(held[1], row, iteration):
            held[1].update(row)
            findings.add(Kind.SPARSE_ROWS, number, f"line {number} completes the iteration of line {held[0]}")
            continue
        if held is not None:
            yield held
        held = number, row
    if held is not None:
        yield held


def _complementary(row: dict[str, str], other: dict[str, str], iteration: str | None) -> bool:
    if iteration is None or row.get(iteration) != other.get(iteration):
        return False
    shared = row.keys() & other.keys()
    return all(row[key] == other[key] for key in shared) and (row.keys() != other.keys())


def _whole_rows(
    lines: HashedLines, path: Path, iteration: str | None, findings: Findings
) -> Iterator[tuple[int, dict[str, str]]]:
    header: list[str] | None = None
    odd: tuple[int, int] | None = None
    last: tuple[int, dict[str, str]] | None = None
    for number, raw in lines:
        if odd is not None:
            raise _wrong_width(path, *odd, header or [])
        cells = _cells(raw, path, number)
        if header is None or (iteration in header and cells[header.index(iteration) :][:1] == [iteration]):
            if header is not None:
                findings.add(Kind.HEADER_CHANGED, number, f"the header stands again in line {number}")
            header = _checked_header(cells, path, number, iteration)
            continue
        if last is not None:
            yield last
            last = None
        if len(cells) != len(header):
            odd = number, len(cells)
            continue
        last = number, {name: cell for name, cell in zip(header, cells, strict=True) if cell != ""}
    torn = last if odd is None and not lines.complete else None
    if odd is not None and odd[1] < len(header or []):
        findings.add(Kind.TORN_TAIL, odd[0], f"line {odd[0]} has only {odd[1]} cells and was left out")
    elif odd is not None:
        raise _wrong_width(path, *odd, header or [])
    if torn is not None:
        findings.add(Kind.TORN_TAIL, torn[0], f"line {torn[0]} is not ended by a newline and was left out")
    elif last is not None:
        yield last


def _cells(raw: bytes, path: Path, number: int) -> list[str]:
    try:
        text = raw.decode()
        return next(csv.reader([text], strict=True)) if '"' in text else text.split(",")
    except (UnicodeDecodeError, csv.Error) as error:
        raise HistoryError(f"{path}, line {number}: damaged ({error}); expected cells and commas") from None


def _checked_header(cells: list[str], path: Path, number: int, iteration: str | None) -> list[str]:
    twice = next((name for name in cells if cells.count(name) > 1), None)
    if twice is not None:
        raise HistoryError(f"{path}, line {number}: column {twice!r} stands twice in the header")
    if iteration is not None and iteration not in cells:
        raise HistoryError(
            f"{path}, line {number}: no column {iteration!r} in the header; found {', '.join(cells)}"
        )
    return cells


def _wrong_width(path: Path, number: int, found: int, header: list[str]) -> HistoryError:
    return HistoryError(
        f"{path}, line {number}: found {found} cells, expected {len(header)} as the header has"
    )
