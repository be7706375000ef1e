"""A history as it is read: every byte hashed and counted, its size bounded."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import BinaryIO

from tachograph.evidence.findings import Findings, HistoryError

MAX_BYTES = 1 << 30  # of one history; its columns are held in memory


class HashedFile:
    """What readers of lines and of records share.

    ``sha256`` and ``size`` (bytes) describe the original bytes once all are read; ``complete`` says whether the last
    part that was given is a whole one.
    """

    def __init__(self, stream: BinaryIO, path: Path, findings: Findings) -> None:
        self._stream = stream
        self._path = path
        self._findings = findings
        self._digest = hashlib.sha256()
        self.size = 0
        self.complete = True

    @property
    def sha256(self) -> str:
        return self._digest.hexdigest()

    def _read(self, count: int) -> bytes:
        """At most ``count`` bytes more. Raises :class:`HistoryError` for a file larger than ``MAX_BYTES``."""
        data = self._stream.read(count)
        self._digest.update(data)
        self.size += len(data)
        if self.size > MAX_BYTES:
            raise HistoryError(f"{self._path}: larger than {MAX_BYTES} bytes; expected the history of one run")
        return data
