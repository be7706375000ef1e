"""What a run shows on the terminal while it goes on: arm, seed, iteration, rate and time left."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from tachograph.evidence.eventfile import HashedRecords, parse_event
from tachograph.evidence.findings import Findings, HistoryError
from tachograph.files import nonblocking
from tachograph.models.trainer import HistoryFile
from tachograph.study.planning import PlannedRun

SAY_EVERY_SECONDS = 5.0


class Progress:
    """Follows the history of a run as it grows. Reading only: a row that cannot be read is left to the judge."""

    def __init__(self, planned: PlannedRun, history: HistoryFile, folder: Path, say: Callable[[str], None]) -> None:
        self.planned, self.history, self.folder, self.say = planned, history, folder, say
        self.offset = 0
        self.done = 0
        self.started = self.said = time.monotonic()
        self.first_row_at: float | None = None
        self.rate: float | None = None
        self.iteration = ""  # the last one that a log or an event spoke of

    def __call__(self) -> None:
        """Look once; say something if iterations were finished and the last word is some seconds old."""
        if not self._read():
            return
        now = time.monotonic()
        if now - self.said >= SAY_EVERY_SECONDS or self.done == self.planned.amount:
            self.said = now
            self.say(self.sentence(now))

    def sentence(self, now: float) -> str:
        run, left = self.planned, self.planned.amount - self.done
        text = f"{run.study}: {run.role} {run.arm} seed {run.seed}: iteration {self.done}/{run.amount}"
        if self.rate is not None:
            text += f", {self.rate:,.0f} {self.history.work.unit}/s ({self.history.stage.name})"
        if left and self.first_row_at is not None and self.done > 1:
            text += f", about {left * (now - self.first_row_at) / (self.done - 1):.0f} s left"
        return text

    def _read(self) -> bool:
        """Whether iterations were finished since the last look."""
        before = self.done
        try:
            path = self.history.path_in(self.folder)
            with open(path, "rb", opener=nonblocking) as stream:  # it may be anything, a pipe too
                stream.seek(self.offset)
                if self.history.format == "tensorboard":
                    self._events(stream)
                else:
                    self._lines(stream.read(1 << 20))
        except OSError:
            return False
        if self.done > 0 and self.first_row_at is None:
            self.first_row_at = time.monotonic()
        return self.done > before

    def _lines(self, new: bytes) -> None:
        """Count the iterations of the whole lines among the bytes that are new."""
        names = 1 if self.history.format == "csv" and self.offset == 0 else 0
        whole = new[: new.rfind(b"\n") + 1]
        self.offset += len(whole)
        rows = whole.splitlines()[names:]
        if not rows:
            return
        if self.history.format == "log":
            self.done += self._matching(rows)
            return
        self.done += len(rows)
        if self.history.format == "jsonl":
            self._rate(rows[-1])

    def _events(self, stream: BinaryIO) -> None:
        """Count the steps of the whole TensorBoard events that are new; of one the graph of a network may be large."""
        start, records = self.offset, HashedRecords(stream, self.folder, Findings())
        with contextlib.suppress(HistoryError, ValueError):
            for _, record in records:
                self.offset = start + records.size
                event = parse_event(record)
                if event.scalars and str(event.step) != self.iteration:
                    self.iteration = str(event.step)
                    self.done += 1

    def _matching(self, rows: list[bytes]) -> int:
        """How many iterations these lines of a log begin to speak of."""
        begun = 0
        for line in rows:
            texts = (re.search(pattern, line.decode(errors="replace")) for pattern in self.history.patterns)
            found = next((match for match in texts if match), None)
            if found and found[self.history.iteration] != self.iteration:
                self.iteration = found[self.history.iteration]
                begun += 1
        return begun

    def _rate(self, line: bytes) -> None:
        work, stage = self.history.work, self.history.stage
        try:
            row = json.loads(line)
            started = 0.0 if stage.start is None else row[stage.start]
            seconds = (row[stage.column] - started) * self.history.seconds_scale
            if not work.cumulative and not self.history.cumulative_seconds and seconds > 0:
                self.rate = (work.constant or row[work.column]) / seconds
        except (ValueError, KeyError, TypeError, ArithmeticError, RecursionError):
            self.rate = None
