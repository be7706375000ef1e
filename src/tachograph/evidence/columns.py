"""Rows into typed columns: float64 values, and for each value that is missing the reason why."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachograph.evidence.findings import Findings, HistoryError, Kind
from tachograph.evidence.jsonl import Row

BATCH = 256  # rows of a batch stay in the processor's cache
_ABSENT = object()


class Missing(IntEnum):
    """Why a value is missing; its place in the column holds NaN."""

    PRESENT = 0
    ABSENT = 1  # the row lacks the column
    NULL = 2
    NAN = 3
    INFINITE = 4
    NOT_A_NUMBER = 5  # text, a list, a number beyond float64


class Column:
    """A growing column of numbers. 9 bytes a value, whatever the row was."""

    def __init__(self) -> None:
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
            value, kind = _typed(item)
            self._values.append(value)
            self._missing.append(kind)
            kinds.add(kind)
        return kinds - {Missing.PRESENT}

    def arrays(self) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
        return np.array(self._values, dtype=np.float64), np.array(self._missing, dtype=np.uint8)


def _typed(item: Any) -> tuple[float, Missing]:
    if item is _ABSENT:
        return np.nan, Missing.ABSENT
    if item is None:
        return np.nan, Missing.NULL
    if isinstance(item, bool):
        return float(item), Missing.PRESENT
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
    rows: Iterable[Row],
    wanted: Sequence[str],
    required: frozenset[str],
    aliases: Mapping[str, str],
    path: Path,
    findings: Findings,
) -> tuple[array[int], dict[str, Column]]:
    """Read all rows into the ``wanted`` columns. Returns (line number of each row, columns by name).

    ``aliases`` maps old names to canonical ones. A ``required`` column that a row lacks is a schema change:
    it is told with the keys that are new in that row, and never read as 0.
    Raises :class:`HistoryError` when a row holds a column and its alias with different values.
    """
    old_names = {name: tuple(old for old, new in aliases.items() if new == name) for name in wanted}
    columns = {name: Column() for name in wanted}
    lines = array("q")
    first_keys: set[str] = set()
    stream = iter(rows)
    while batch := list(islice(stream, BATCH)):
        if not lines:
            first_keys = set(batch[0][1])
        numbers = [number for number, _ in batch]
        for name, column in columns.items():
            raw = [row.get(name, _ABSENT) for _, row in batch]
            if old_names[name]:
                _join_aliases(raw, batch, name, old_names[name], path, findings)
            if kinds := column.extend(raw):
                _tell(kinds, raw, batch, name, name in required, first_keys, findings, len(lines))
        lines.extend(numbers)
    return lines, columns


def _join_aliases(
    raw: list[Any], batch: list[Row], name: str, old_names: tuple[str, ...], path: Path, findings: Findings
) -> None:
    for place, (number, row) in enumerate(batch):
        for old in old_names:
            if old not in row:
                continue
            if raw[place] is not _ABSENT and raw[place] != row[old]:
                raise HistoryError(
                    f"{path}, line {number}: {name!r} is {raw[place]} but its alias {old!r} is {row[old]}; "
                    "expected one of the two, or the same value"
                )
            raw[place] = row[old]
            if Kind.ALIAS not in findings.counts:
                findings.add(Kind.ALIAS, number, f"{old!r} is read as {name!r}, as the trainer file declares")


_TOLD = {
    Missing.NAN: Kind.NON_FINITE,
    Missing.INFINITE: Kind.NON_FINITE,
    Missing.NOT_A_NUMBER: Kind.NOT_A_NUMBER,
    Missing.NULL: Kind.NULL,
}


def _tell(
    kinds: set[Missing],
    raw: list[Any],
    batch: list[Row],
    name: str,
    required: bool,
    first_keys: set[str],
    findings: Findings,
    before: int,
) -> None:
    """Turn the missing values of one column of one batch into findings."""
    if kinds == {Missing.ABSENT} and not required:
        return
    for place, (number, row) in enumerate(batch):
        kind = _typed(raw[place])[1]
        if kind in _TOLD:
            sentence = f"{name!r} is {raw[place]!r:.60} in line {number}"
            findings.add(_TOLD[kind], number, sentence)
        elif kind is Missing.ABSENT and required:
            new = sorted(row.keys() - first_keys)
            news = f"; new in this row: {', '.join(map(repr, new[:6]))}" if new else ""
            sentence = f"schema change at row {before + place + 1} (line {number}): no {name!r}{news}"
            findings.add(Kind.SCHEMA_CHANGE, number, sentence)
