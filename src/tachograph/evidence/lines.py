"""The lines of a file, streamed: every byte hashed, the length of a line bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from tachograph.evidence.findings import Findings, HistoryError, Kind
from tachograph.evidence.hashed import HashedFile
from tachograph.wording import counted, share

CHUNK = 1 << 20
MAX_LINE = 1 << 20
BOM = b"\xef\xbb\xbf"


class HashedLines(HashedFile):
    """Iterates over ``(number, line)`` of a file, from 1, without line ends, byte-order mark and NUL padding.

    Blank lines are skipped. ``complete``: whether the last line given was ended by a newline.
    Raises :class:`HistoryError` for a line longer than ``MAX_LINE`` bytes, or a file that is too large.
    """

    def __init__(self, stream: BinaryIO, path: Path, findings: Findings) -> None:
        super().__init__(stream, path, findings)
        self._nuls: list[int] = []  # first line, number of bytes

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        number = blank = crlf = 0
        for number, (raw, ended) in enumerate(self._split(), 1):
            line = raw
            if number == 1 and line.startswith(BOM):
                line = line[len(BOM) :]
                self._findings.add(Kind.BYTE_ORDER_MARK, 1, "the file starts with a byte-order mark")
            if line.endswith(b"\r"):
                line = line[:-1]
                crlf += 1
            if line.startswith(b"\0") or line.endswith(b"\0"):
                bare = line.strip(b"\0").removesuffix(b"\r")
                self._note_nuls(number, len(line) - len(bare))
                line = bare
            if not line or line.isspace():
                blank += 1
                continue
            self.complete = ended
            yield number, line
        if blank and not (blank == 1 and self._nuls):
            self._findings.add(
                Kind.BLANK_LINES, None, f"{counted(blank, 'blank line was', 'blank lines were')} skipped", blank
            )
        if crlf:
            self._findings.add(Kind.CRLF, None, f"{share(crlf, number, 'line', 'ends', 'end')} in CRLF", crlf)
        if self._nuls:
            line_number, count = self._nuls
            self._findings.add(
                Kind.NUL_PADDING,
                line_number,
                f"{count} NUL bytes from line {line_number} on: the machine stopped while writing",
            )

    def _note_nuls(self, number: int, count: int) -> None:
        first, before = self._nuls or (number, 0)
        self._nuls = [first, before + count]

    def _split(self) -> Iterator[tuple[bytes, bool]]:
        """Pieces between newlines, and whether a newline ends them; only the last one may lack it."""
        rest, number = b"", 0
        while chunk := self._read(CHUNK):
            pieces = (rest + chunk).split(b"\n")
            rest = pieces.pop()
            for piece in pieces:
                number += 1
                self._check_length(piece, number)
                yield piece, True
            if len(rest) > MAX_LINE and rest.endswith(b"\0"):  # padding may be longer than any line
                bare = rest.rstrip(b"\0") + b"\0"
                self._note_nuls(number + 1, len(rest) - len(bare))
                rest = bare
            self._check_length(rest, number + 1)
        if rest:
            yield rest, False

    def _check_length(self, piece: bytes, number: int) -> None:
        if len(piece) > MAX_LINE:
            raise HistoryError(
                f"{self._path}, line {number}: longer than {MAX_LINE} bytes; expected one iteration per line"
            )
