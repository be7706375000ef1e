"""The ledger: one line per event, each holding the SHA-256 of the line before. It is only ever appended to."""

from __future__ import annotations

import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.files import canonical_json, parse_json, read_bounded

GENESIS = "0" * 64
MAX_BYTES = 256 * 1024 * 1024  # a record comes from anywhere


def utc_now() -> str:
    """The time of day as RFC 3339 in UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Ledger:
    """The ledger of one study. Every event is a JSON object with ``event``, ``at``, ``previous`` and its own keys."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, event: str, **values: Any) -> dict[str, Any]:
        """Append one event and sync it to disk. Raises TachographError if that is not possible."""
        with self._locked() as descriptor:
            lines = self._lines(descriptor)
            os.ftruncate(descriptor, sum(map(len, lines)))
            entry = {"event": event, "at": utc_now(), "previous": _hash(lines[-1]) if lines else GENESIS, **values}
            line = canonical_json(entry).encode() + b"\n"
            before = os.fstat(descriptor).st_size
            try:
                rest = memoryview(line)
                while rest:  # a full disk takes a part, and says why with the next
                    rest = rest[os.write(descriptor, rest) :]
                os.fsync(descriptor)
            except OSError as error:
                os.ftruncate(descriptor, before)  # a full disk must not leave half a line behind
                raise TachographError(f"{self.path}: cannot be written: {error.strerror}") from None
        return entry

    def read(self) -> list[dict[str, Any]]:
        """All events, oldest first; the chain is checked. An absent ledger is empty."""
        if not self.path.exists():
            return []
        try:
            content = read_bounded(self.path, MAX_BYTES)
        except OSError as error:
            raise TachographError(f"{self.path}: cannot be read: {error.strerror}") from None
        entries = []
        previous = GENESIS
        for number, line in enumerate(_whole_lines(content), start=1):
            entry = self._parse(line, number)
            if entry.get("previous") != previous:
                raise TachographError(
                    f"{self.path}: line {number}: found previous {str(entry.get('previous'))[:12]}…, expected "
                    f"{previous[:12]}…: an earlier line was altered, removed or added"
                )
            previous = _hash(line)
            entries.append(entry)
        return entries

    def _parse(self, line: bytes, number: int) -> dict[str, Any]:
        try:
            entry = parse_json(line)
            if not isinstance(entry, dict) or "event" not in entry:
                raise ValueError("not an event")
        except ValueError as error:
            raise TachographError(f"{self.path}: line {number}: damaged: {error}") from None
        return entry

    @contextmanager
    def _locked(self) -> Iterator[int]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise TachographError(f"{self.path}: cannot be written: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise TachographError(f"{self.path}: found a pipe, socket or device, expected a file")
            fcntl.flock(descriptor, fcntl.LOCK_EX)  # two jobs may append at once
            yield descriptor
        finally:
            os.close(descriptor)

    @staticmethod
    def _lines(descriptor: int) -> list[bytes]:
        os.lseek(descriptor, 0, os.SEEK_SET)
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            return _whole_lines(stream.read())


def _whole_lines(content: bytes) -> list[bytes]:
    """All lines that end. A torn last one is no event: its writer was cut off before it acted on it."""
    return content[: content.rfind(b"\n") + 1].splitlines(keepends=True)


def _hash(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()
