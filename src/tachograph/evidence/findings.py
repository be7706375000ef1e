"""What was noticed while reading a history, and the error that refuses one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tachograph.errors import TachographError

SHOWN_PER_KIND = 5


class HistoryError(TachographError):
    """A history that must not be used; the sentence names the file and the line."""


class Kind(StrEnum):
    """The fixed vocabulary of findings."""

    TORN_TAIL = "torn tail"
    NO_FINAL_NEWLINE = "no final newline"
    BYTE_ORDER_MARK = "byte-order mark"
    CRLF = "CRLF line ends"
    NUL_PADDING = "NUL padding"
    BLANK_LINES = "blank lines"
    HEADER_CHANGED = "header changed"
    SPARSE_ROWS = "sparse rows merged"
    NON_FINITE = "non-finite value"
    NOT_A_NUMBER = "not a number"
    NULL = "null value"
    ALIAS = "alias used"
    SCHEMA_CHANGE = "schema change"
    REPEATED = "repeated iterations"
    CONFLICT = "conflicting repeats"
    SESSION = "session reset"
    MISSING = "missing iterations"
    INVALID_CLOCK = "invalid clock"
    WALL_CLOCK = "wall-clock source"
    CLOCK_STEP = "clock step"
    COARSE_CLOCK = "coarse clock"


@dataclass(frozen=True)
class Finding:
    """One thing noticed: its kind, the line where it starts (None: the whole file), a sentence."""

    kind: Kind
    line: int | None
    sentence: str


class Findings:
    """Collects findings; of each kind the first few are kept in words and all are counted."""

    def __init__(self) -> None:
        self.kept: list[Finding] = []
        self.counts: dict[Kind, int] = {}

    def add(self, kind: Kind, line: int | None, sentence: str, times: int = 1) -> None:
        seen = self.counts.get(kind, 0)
        self.counts[kind] = seen + times
        if seen < SHOWN_PER_KIND:
            self.kept.append(Finding(kind, line, sentence))

    def finish(self) -> tuple[Finding, ...]:
        """All findings, with a closing one for each kind of which not every occurrence is told."""
        told = {kind: sum(f.kind is kind for f in self.kept) for kind in self.counts}
        more = [
            Finding(kind, None, f"{kind}: {total} in all, the first {told[kind]} are listed")
            for kind, total in self.counts.items()
            if total > SHOWN_PER_KIND
        ]
        return (*self.kept, *more)
