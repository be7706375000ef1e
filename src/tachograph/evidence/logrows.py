"""Rows of a trainer that only prints: regular expressions over its log."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tachograph.evidence.findings import Findings, HistoryError, Kind
from tachograph.evidence.jsonl import Row
from tachograph.evidence.lines import HashedLines


def log_rows(lines: HashedLines, path: Path, patterns: Sequence[str], findings: Findings) -> Iterator[Row]:
    """Yield ``(line number, {group name: text})`` of each line in which one of ``patterns`` is found.

    The named groups of a pattern are the columns; the first pattern that is found counts. Other lines are
    passed over. A matching last line without a newline is torn: a cut number still reads as a number.
    Raises :class:`HistoryError` when no line matches, so that a changed wording cannot look like a short run.
    """
    compiled = [re.compile(pattern) for pattern in patterns]
    last: Row | None = None
    matched = 0
    for number, raw in lines:
        if last is not None:
            yield last
            last = None
        text = raw.decode(errors="replace")
        found = next((match for pattern in compiled if (match := pattern.search(text))), None)
        if found is None:
            continue
        matched += 1
        last = number, {name: value for name, value in found.groupdict().items() if value is not None}
    if last is not None and lines.complete:
        yield last
    elif last is not None:
        findings.add(Kind.TORN_TAIL, last[0], f"line {last[0]} is not ended by a newline and was left out")
    if matched == 0:
        raise HistoryError(f"{path}: no line matches {' or '.join(map(repr, patterns))}")
