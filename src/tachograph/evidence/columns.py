"""Rows into typed columns: float64 values, and for each value that is missing the reason why."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.findings import Findings, HistoryError, Kind
from tachograph.evidence.jsonl import Row
from tachograph.models.sentences import meant

SHOWN_KEYS = 20
BATCH = 256  # rows of a batch stay in the processor's cache
_ABSENT = object()


class Missing(IntEnum):
    """Why a value is missing; its place in the column holds NaN."""

    PRESENT = 0
    ABSENT = 1  # the row lacks the column
    NULL = 2
    NAN = 3
    INFINITE = 4
    NOT_A_NUMBER = 5  # text, a list, a truth value, a number beyond float64


@dataclass(frozen=True)
class Wanted:
    """A column to read. A row that lacks a ``required`` one is a schema change; only a ``flag`` takes true
    and false (as 1 and 0); ``old_names`` are the declared aliases under which it may stand."""

    name: str
    required: bool
    flag: bool
    old_names: tuple[str, ...]


class Column:
    """A growing column of numbers, 9 bytes a value."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self._values = array("d")
        self._missing = array("B")

    def extend(self, raw: Sequence[Any]) -> set[Missing]:
        """Append raw values (numbers, CSV text, None, _ABSENT). Returns the kinds of missing among them."""
        if set(map(type, raw)) <= {int, float}:
            try:
                values = np.array(raw, dtype=np.float64)
            except OverflowError:
                return self._extend_slowly(raw)
            if np.isfinite(values).all():
                self._values.frombytes(values.tobytes())
                self._missing.frombytes(bytes(len(raw)))
                return set()
        return self._extend_slowly(raw)

    def _extend_slowly(self, raw: Sequence[Any]) -> set[Missing]:
        kinds = set()
        for item in raw:
            value, kind = _typed(item, self.wanted.flag)
            self._values.append(value)
            self._missing.append(kind)
            kinds.add(kind)
        return kinds - {Missing.PRESENT}

    def everywhere(self, kind: Missing) -> bool:
        """Whether every value is missing for this reason."""
        return all(one == kind for one in self._missing)

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        return np.array(self._values, dtype=np.float64), np.array(self._missing, dtype=np.uint8)


def _typed(item: Any, flag: bool) -> tuple[float, Missing]:
    if item is _ABSENT:
        return np.nan, Missing.ABSENT
    if item is None:
        return np.nan, Missing.NULL
    if isinstance(item, bool):
        return (float(item), Missing.PRESENT) if flag else (np.nan, Missing.NOT_A_NUMBER)
    if isinstance(item, str) and "_" in item:  # float() reads 1_000, people do not
        return np.nan, Missing.NOT_A_NUMBER
    try:
        value = float(item)
    except (ValueError, TypeError, OverflowError):
        return np.nan, Missing.NOT_A_NUMBER
    if value != value:
        return np.nan, Missing.NAN
    if value in (np.inf, -np.inf):
        return np.nan, Missing.INFINITE
    return value, Missing.PRESENT


def collect(
    rows: Iterable[Row], wanted: Sequence[Wanted], path: Path, findings: Findings
) -> tuple[array[int], dict[str, Column]]:
    """Read all rows into the ``wanted`` columns. Returns (line number of each row, columns by name).

    A schema change is told with the keys that are new in its row; the missing value is never read as 0.
    Raises :class:`HistoryError` when a row holds a column and its alias with different values, or when no row at all
    has a required column: then its name is not the one that the trainer writes.
    """
    columns = [Column(each) for each in wanted]
    lines = array("q")
    first_keys: set[str] = set()
    stream = iter(rows)
    while batch := list(islice(stream, BATCH)):
        if not lines:
            first_keys = set(batch[0][1])
        for column in columns:
            name = column.wanted.name
            raw = [row.get(name, _ABSENT) for _, row in batch]
            if column.wanted.old_names:
                _join_aliases(raw, batch, column.wanted, path, findings)
            kinds = column.extend(raw)
            if kinds - {Missing.ABSENT}:
                _tell_missing(raw, batch, column.wanted, findings)
            if Missing.ABSENT in kinds and column.wanted.required:
                _tell_schema_change(raw, batch, name, first_keys, len(lines), findings)
        lines.extend(number for number, _ in batch)
    for column in columns:
        if lines and column.wanted.required and column.everywhere(Missing.ABSENT):
            found = ", ".join(sorted(first_keys)[:SHOWN_KEYS]) + (" …" if len(first_keys) > SHOWN_KEYS else "")
            raise HistoryError(
                f"{path}: no row has the column {column.wanted.name!r} that the trainer file names; the first row has: "
                f"{found or 'nothing'}{meant(column.wanted.name, first_keys)}; the way on: correct [history] in the "
                "trainer file (config/trainers), what was written is then read again"
            )
    return lines, {column.wanted.name: column for column in columns}


def _join_aliases(raw: list[Any], batch: list[Row], wanted: Wanted, path: Path, findings: Findings) -> None:
    for place, (number, row) in enumerate(batch):
        for old in wanted.old_names:
            if old not in row:
                continue
            if raw[place] is not _ABSENT and raw[place] != row[old]:
                raise HistoryError(
                    f"{path}, line {number}: {wanted.name!r} is {raw[place]} but its alias {old!r} is "
                    f"{row[old]}; expected one of the two, or the same value"
                )
            raw[place] = row[old]
            tell_alias(old, wanted.name, number, findings)


def tell_alias(old: str, name: str, number: int, findings: Findings) -> None:
    """Tell once per file that a declared alias was used."""
    if Kind.ALIAS not in findings.counts:
        findings.add(Kind.ALIAS, number, f"{old!r} is read as {name!r}, as the trainer file declares")


_TOLD = {
    Missing.NAN: Kind.NON_FINITE,
    Missing.INFINITE: Kind.NON_FINITE,
    Missing.NOT_A_NUMBER: Kind.NOT_A_NUMBER,
    Missing.NULL: Kind.NULL,
}


def _tell_missing(raw: list[Any], batch: list[Row], wanted: Wanted, findings: Findings) -> None:
    for item, (number, _) in zip(raw, batch, strict=True):
        kind = _typed(item, wanted.flag)[1]
        if kind in _TOLD:
            findings.add(_TOLD[kind], number, f"{wanted.name!r} is {item!r:.60} in line {number}")


def _tell_schema_change(
    raw: list[Any], batch: list[Row], name: str, first_keys: set[str], before: int, findings: Findings
) -> None:
    for place, (number, row) in enumerate(batch):
        if raw[place] is _ABSENT:
            new = sorted(row.keys() - first_keys)
            news = f"; new in this row: {', '.join(map(repr, new[:6]))}" if new else ""
            sentence = f"schema change at row {before + place + 1} (line {number}): no {name!r}{news}"
            findings.add(Kind.SCHEMA_CHANGE, number, sentence)
