"""A TensorBoard event file, streamed: every byte hashed, every checksum compared, each event taken apart.

Frames are those of TFRecord (``tensorflow/core/lib/io/record_writer.h``): length, masked CRC-32C of the length, bytes,
masked CRC-32C of the bytes; numbers are little-endian. Messages are ``Event``, ``Summary`` and ``TensorProto`` of
``tensorflow/core/util/event.proto``, ``framework/summary.proto`` and ``framework/tensor.proto``, of which only what a
scalar needs is read (encoding: protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import google_crc32c

from tachograph.evidence.findings import HistoryError, Kind
from tachograph.evidence.hashed import HashedFile

MAX_EVENT = 1 << 26  # images and graphs of networks are events too
HEADER, FOOTER = 12, 4
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5  # wire types of protobuf
FLOAT, DOUBLE = 1, 2  # values of DataType in types.proto

Field = tuple[int, int, int | bytes]
"""Number, wire type and value of a field of a message."""


def masked(crc: int) -> int:
    """As the frames hold it, so that a CRC over bytes that hold CRCs is no special case."""
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


class HashedRecords(HashedFile):
    """Iterates over ``(number, bytes)`` of the records of a file, from 1.

    ``complete``: whether the file ends with a whole record. Raises :class:`HistoryError` for a checksum that does not
    fit, a record larger than ``MAX_EVENT`` bytes, or a file that is too large.
    """

    def __iter__(self) -> Iterator[tuple[int, bytes]]:
        number = 0
        while header := self._read(HEADER):
            number += 1
            if len(header) < HEADER:
                self._tear(number, len(header))
                return
            length, check = struct.unpack("<QI", header)
            if masked(google_crc32c.value(header[:8])) != check:
                self._end_in_padding(number, header)
                return
            if length > MAX_EVENT:
                raise self._error(number, f"{length} bytes, expected at most {MAX_EVENT}")
            body = self._read(length + FOOTER)
            if len(body) < length + FOOTER:
                self._tear(number, HEADER + len(body))
                return
            if masked(google_crc32c.value(body[:length])) != struct.unpack("<I", body[length:])[0]:
                raise self._error(number, "damaged (its checksum does not fit)")
            yield number, body[:length]

    def _tear(self, number: int, found: int) -> None:
        self.complete = False
        sentence = f"record {number} is cut off after {found} bytes and was left out, with its step"
        self._findings.add(Kind.TORN_TAIL, number, sentence)

    def _end_in_padding(self, number: int, header: bytes) -> None:
        """NUL bytes up to the end of the file; anything else is damage."""
        count = 0
        rest = header
        while rest:
            if rest.strip(b"\0"):
                raise self._error(number, "damaged (the checksum of its length does not fit), or no event file")
            count += len(rest)
            rest = self._read(1 << 20)
        self.complete = False
        sentence = f"{count} NUL bytes in place of record {number}: the machine stopped while writing"
        self._findings.add(Kind.NUL_PADDING, number, sentence)

    def _error(self, number: int, what: str) -> HistoryError:
        return HistoryError(f"{self._path}, record {number}: {what}; expected a TensorBoard event")


@dataclass(frozen=True)
class Event:
    """When it was written (Unix time, seconds), of which step, and its scalars by tag."""

    wall_time: float
    step: int
    scalars: list[tuple[str, float]]


def parse_event(record: bytes) -> Event:
    """Raises ValueError for bytes that are no message; what is no scalar (text, images, histograms) is passed over."""
    wall_time, step = 0.0, 0
    scalars: list[tuple[str, float]] = []
    for number, wire, value in _fields(record):
        if (number, wire) == (1, FIXED64):
            wall_time = struct.unpack("<d", _bytes(value))[0]
        elif (number, wire) == (2, VARINT):
            step = _signed(value)
        elif (number, wire) == (5, BYTES):
            scalars += _scalars(_bytes(value))
    return Event(wall_time, step, scalars)


def _scalars(summary: bytes) -> Iterator[tuple[str, float]]:
    for number, wire, value in _fields(summary):
        if (number, wire) != (1, BYTES):
            continue
        tag, found = "", None
        for inner, kind, part in _fields(_bytes(value)):
            if (inner, kind) == (1, BYTES):
                tag = _bytes(part).decode()
            elif (inner, kind) == (2, FIXED32):
                found = struct.unpack("<f", _bytes(part))[0]
            elif (inner, kind) == (8, BYTES):
                found = _one_number(_bytes(part))
        if found is not None:
            yield tag, found


def _one_number(tensor: bytes) -> float | None:
    """The number that a tensor of one float or double holds, else None."""
    kind, content, values = 0, b"", list[float]()
    for number, wire, value in _fields(tensor):
        if (number, wire) == (1, VARINT):
            kind = _signed(value)
        elif (number, wire) == (4, BYTES):
            content = _bytes(value)
        elif (number, wire) in ((5, BYTES), (5, FIXED32)):
            values += _numbers("f", _bytes(value))
        elif (number, wire) in ((6, BYTES), (6, FIXED64)):
            values += _numbers("d", _bytes(value))
    if kind not in (FLOAT, DOUBLE):
        return None
    values = values or _numbers("f" if kind == FLOAT else "d", content)
    return values[0] if len(values) == 1 else None


def _numbers(code: str, data: bytes) -> list[float]:
    count, rest = divmod(len(data), struct.calcsize(f"<{code}"))
    if rest:
        raise ValueError(f"{len(data)} bytes of numbers")
    return list(struct.unpack(f"<{count}{code}", data))


def _fields(message: bytes) -> Iterator[Field]:
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            whole, place = _varint(message, place)
            yield number, wire, whole
            continue
        if wire == BYTES:
            length, place = _varint(message, place)
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise ValueError(f"wire type {wire}")
        end = place + length
        if end > len(message):
            raise ValueError(f"a field of {length} bytes of which {len(message) - place} are there")
        yield number, wire, message[place:end]
        place = end


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message) and shift < 70:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place += 1
        shift += 7
        if byte < 0x80:
            return value, place
    raise ValueError("a whole number without an end")


def _signed(value: int | bytes) -> int:
    """A varint as int64."""
    assert isinstance(value, int)
    return value - (1 << 64) if value >= 1 << 63 else value


def _bytes(value: int | bytes) -> bytes:
    assert isinstance(value, bytes)
    return value
