"""Rows of a trainer that writes TensorBoard events: the scalars of each step."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tachograph.evidence.eventfile import HashedRecords, parse_event
from tachograph.evidence.findings import HistoryError
from tachograph.evidence.jsonl import Row
from tachograph.models.trainer import EVENT_STEP as STEP

WALL_TIME, ELAPSED = "wall_time", "elapsed"


def event_rows(records: HashedRecords, path: Path) -> Iterator[Row]:
    """Yield ``(record number, row)`` for each step: its tags, and three columns that events have themselves.

    ``step``; ``wall_time``, the Unix time of the last event of the step; ``elapsed``, the seconds from the first event
    of the file, which a writer makes as it opens it. Events of one step that follow each other are one row, unless a
    tag comes again. The step of a torn last record is left out, as more of it may have been to come.
    Raises :class:`HistoryError`, naming the record, for one that is no event, or a tag with the name of such a column.
    """
    begun: float | None = None
    held: Row | None = None
    for number, record in records:
        try:
            event = parse_event(record)
        except ValueError as error:
            raise HistoryError(f"{path}, record {number}: found {error}, expected a TensorBoard event") from None
        begun = event.wall_time if begun is None else begun
        for tag, value in event.scalars:
            if tag in (STEP, WALL_TIME, ELAPSED):
                raise HistoryError(f"{path}, record {number}: found the tag {tag!r}, which is what every event has")
            if held is not None and (held[1][STEP] != event.step or tag in held[1]):
                yield held
                held = None
            if held is None:
                held = number, {STEP: event.step}
            held[1].update({tag: value, WALL_TIME: event.wall_time, ELAPSED: event.wall_time - begun})
    if held is not None and records.complete:
        yield held
