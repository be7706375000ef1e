"""Rows of a CSV history: rewritten headers, sparse rows, a torn last line."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from tachograph.evidence.columns import tell_alias
from tachograph.evidence.findings import Findings, HistoryError, Kind
from tachograph.evidence.jsonl import Row
from tachograph.evidence.lines import HashedLines
from tachograph.wording import counted


def csv_rows(
    lines: HashedLines, path: Path, iteration: str | None, aliases: Mapping[str, str], findings: Findings
) -> Iterator[Row]:
    """Yield ``(line number, {column: cell text})``; an empty cell is an absent column.

    A header that stands again in the middle (a logger was restarted, perhaps with more columns) begins to
    count there. A last line with too few cells or without a newline is torn: unlike a JSON object, a cut
    number still reads as a number.
    Raises :class:`HistoryError`, naming the line, for any other row of the wrong width and for bad quoting.
    """
    table = _Table(path, iteration, aliases, findings)
    held: tuple[int, bytes] | None = None
    for line in lines:
        if held is not None and (row := table.row(*held)) is not None:
            yield held[0], row
        held = line
    if held is None:
        return
    number, raw = held
    if not lines.complete:
        findings.add(Kind.TORN_TAIL, number, f"line {number} is not ended by a newline and was left out")
    elif table.is_short(raw):
        findings.add(Kind.TORN_TAIL, number, f"line {number} has too few cells and was left out")
    elif (row := table.row(number, raw)) is not None:
        yield number, row


class _Table:
    """The header that holds at present, and rows read by it."""

    def __init__(self, path: Path, iteration: str | None, aliases: Mapping[str, str], findings: Findings) -> None:
        self._path = path
        self._iteration = iteration
        self._aliases = aliases
        self._findings = findings
        self._header: list[str] = []

    def row(self, number: int, raw: bytes) -> dict[str, str] | None:
        """The cells by column, or None for a header."""
        try:
            cells = _cells(raw)
        except (UnicodeDecodeError, csv.Error) as error:
            raise self._error(number, f"damaged ({error}); expected cells and commas") from None
        if not self._header or self._is_header(cells):
            if self._header:
                self._findings.add(Kind.HEADER_CHANGED, number, f"the header stands again in line {number}")
            self._header = self._checked(cells, number)
            return None
        if len(cells) != len(self._header):
            width = len(self._header)
            raise self._error(number, f"found {counted(len(cells), 'cell')}, expected {width} as the header has")
        return {name: cell for name, cell in zip(self._header, cells, strict=True) if cell != ""}

    def is_short(self, raw: bytes) -> bool:
        """Whether the line has fewer cells than the header, or a quote that is not closed."""
        try:
            return len(_cells(raw)) < len(self._header)
        except (UnicodeDecodeError, csv.Error):
            return True

    def _is_header(self, cells: list[str]) -> bool:
        """Whether the cell under the iteration's name is that name again."""
        if self._iteration not in self._header:
            return cells == self._header
        place = self._header.index(self._iteration)
        return len(cells) > place and self._aliases.get(cells[place], cells[place]) == self._iteration

    def _checked(self, cells: list[str], number: int) -> list[str]:
        names = [self._aliases.get(cell, cell) for cell in cells]
        for cell, name in zip(cells, names, strict=True):
            if cell != name:
                tell_alias(cell, name, number, self._findings)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise self._error(number, f"column {twice!r} stands twice in the header")
        if self._iteration is not None and self._iteration not in names:
            raise self._error(number, f"no column {self._iteration!r} in the header; found {', '.join(cells)}")
        return names

    def _error(self, number: int, what: str) -> HistoryError:
        return HistoryError(f"{self._path}, line {number}: {what}")


def _cells(raw: bytes) -> list[str]:
    text = raw.decode()
    return next(csv.reader([text], strict=True)) if '"' in text else text.split(",")
