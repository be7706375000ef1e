"""What a trainer may use of Tachograph: a history writer and synchronised stage timers.

Standard library only, so that a trainer pays nothing for importing it.
"""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REMAINDER = "python remainder"


class NonFiniteError(ValueError):
    """A number of a history row is NaN or infinite; the message names its key."""


class HistoryWriter:
    """Appends one strict-JSON object per iteration to ``path``, each line in a single write.

    Two keys are added to every row: ``monotonic`` (``CLOCK_MONOTONIC``, seconds) and ``wall`` (Unix time,
    seconds), so that a reader can tell a step of the wall clock from a slow iteration.
    """

    def __init__(self, path: str | os.PathLike[str], *, resume: bool = False) -> None:
        """Open ``path`` for appending; FileExistsError if it exists, unless ``resume`` is set."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        if not resume:
            flags |= os.O_EXCL
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(path, flags, 0o644)

    def write(self, row: Mapping[str, Any]) -> None:
        """Write one iteration. Raises :class:`NonFiniteError` if a number in it is NaN or infinite."""
        for key, value in row.items():
            if isinstance(value, float) and not math.isfinite(value):
                raise NonFiniteError(f"history key {key!r} is {value}")
        stamped = {**row, "monotonic": time.monotonic(), "wall": time.time()}
        line = json.dumps(stamped, allow_nan=False, ensure_ascii=False).encode() + b"\n"
        written = os.write(self._fd, line)
        if written != len(line):  # a full disk can cut a line short
            raise OSError(f"history line cut short: {written} of {len(line)} bytes written")

    def close(self) -> None:
        os.close(self._fd)

    def __enter__(self) -> HistoryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass
class _Stage:
    seconds: float = 0.0
    calls: int = 0
    group: str | None = None


class StageTimer:
    """Times the stages of a step, with the device synchronised at both ends of every bracket.

    Without the synchronisation a stage that only queues work on a device would look free, and the first
    stage that waits for a result would be charged for it (pytorch/pytorch#23910 and many others).

    ``synchronize`` blocks until the device is idle (``torch.cuda.synchronize``); the default does nothing,
    which is right for a CPU. ``clock`` returns seconds and never steps back.
    """

    def __init__(
        self, synchronize: Callable[[], None] = lambda: None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._synchronize = synchronize
        self._clock = clock
        self._stages: dict[str, _Stage] = {}
        self.total_seconds = 0.0
        self.steps = 0

    @contextmanager
    def stage(self, name: str, group: str | None = None) -> Iterator[None]:
        """Time one call of stage ``name``. The bracket closes on exceptions too. Stages must not nest."""
        self._synchronize()
        start = self._clock()
        try:
            yield
        finally:
            self._synchronize()
            stage = self._stages.setdefault(name, _Stage(group=group))
            stage.seconds += self._clock() - start
            stage.calls += 1

    @contextmanager
    def step(self) -> Iterator[None]:
        """Time one whole step, the stages inside it included."""
        self._synchronize()
        start = self._clock()
        try:
            yield
        finally:
            self._synchronize()
            self.total_seconds += self._clock() - start
            self.steps += 1

    def stages(self, remainder_group: str | None = None) -> list[dict[str, Any]]:
        """All stages as ``{"name", "seconds", "calls", "parent", "group"}``, closed by the remainder row."""
        rows: list[dict[str, Any]] = [
            {"name": name, "seconds": s.seconds, "calls": s.calls, "parent": None, "group": s.group}
            for name, s in self._stages.items()
        ]
        rest = self.total_seconds - sum(row["seconds"] for row in rows)
        rows.append(
            {
                "name": REMAINDER,
                "seconds": rest,
                "calls": self.steps,
                "parent": None,
                "group": remainder_group,
            }
        )
        return rows
