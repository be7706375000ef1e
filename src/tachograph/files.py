"""Bytes on disk: canonical JSON, hashes, strict reading, and files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import math
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError

EMPTY_SHA256 = hashlib.sha256(b"").hexdigest()
MAX_JSON_BYTES = 64 * 1024 * 1024
MOST_DIGITS = 308  # of a whole number that is a float64 too
HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
PARTIAL = re.compile(r"\..+\.[a-z0-9_]{8}\.part")  # the names that appearing() gives
PLAIN_PATH = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*")  # relative, without escapes


def canonical_json(value: Any) -> str:
    """``value`` as the one JSON text it has here: sorted keys, no spaces, UTF-8, no NaN (ValueError)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def pretty_json(value: Any) -> str:
    """``value`` as JSON for people, with the same strictness as :func:`canonical_json`."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def digest(value: Any) -> str:
    """SHA-256 (hex) of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def sha256_file(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def nonblocking(path: str, flags: int) -> int:
    """An opener for :func:`open` that does not wait for the other end of a pipe."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def read_bounded(path: Path, at_most: int) -> bytes:
    """The bytes of a file. Raises TachographError if it is larger or no file (a pipe would never end), and OSError."""
    with open(path, "rb", opener=nonblocking) as stream:
        facts = os.fstat(stream.fileno())
        if not stat.S_ISREG(facts.st_mode):
            raise TachographError(f"{path}: found a pipe, socket or device, expected a file")
        if facts.st_size > at_most:
            raise TachographError(f"{path}: {facts.st_size} bytes, expected at most {at_most}")
        return stream.read()


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"key {key!r} stands twice")
        found[key] = value
    return found


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:40]} is larger than any float64")
    return number


def _in_range(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits is larger than any float64")
    return int(digits)


def parse_json(text: str | bytes) -> Any:
    """Strict JSON, of which all that is read can be written again: no NaN or Infinity, also not as ``1e400``, no key
    twice, no half of a UTF-16 pair (``"\\ud800"``), which is no text. Raises ValueError.
    """
    try:
        found = json.loads(
            text,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_in_range,
            object_pairs_hook=_no_duplicates,
        )
        if HALF_PAIR.search(text.encode(errors="replace") if isinstance(text, str) else text):
            canonical_json(found).encode()  # whole pairs are read as one character
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return found


def read_json(path: Path) -> Any:
    """Read one of our own or a trainer's JSON files; TachographError if it is missing, oversized or damaged."""
    try:
        content = read_bounded(path, MAX_JSON_BYTES)
        if not content:
            raise TachographError(f"{path}: the file is empty, expected JSON")
        return parse_json(content)
    except FileNotFoundError:
        raise TachographError(f"{path}: the file is not there") from None
    except (OSError, ValueError) as error:
        raise TachographError(f"{path}: cannot be read as JSON: {error}") from None


@contextlib.contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; when the block succeeds it is synced and renamed to ``path``.

    The temporary file is locked meanwhile, so that :func:`remove_partial` knows the living from the dead.
    Raises TachographError if the file cannot be written, as on a full disk; ``path`` is then as it was.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):  # /dev/null would become a file
            raise TachographError(f"{path}: found a device, pipe or socket, expected a file or none")
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise TachographError(f"{path}: cannot be written: {error.strerror}") from error
    temporary = Path(name)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield temporary
        os.fsync(handle)
        temporary.chmod(0o644)
        temporary.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        raise TachographError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        temporary.unlink(missing_ok=True)
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Put the names in ``folder`` on disk: a renamed file has its new name after a power cut too."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def unlocked(path: Path) -> bool:
    """Whether no process has locked this file or folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True


def remove_partial(folder: Path) -> None:
    """Remove what a killed program has left of :func:`appearing` anywhere below ``folder``."""
    for path in folder.rglob(".*.part"):
        if PARTIAL.fullmatch(path.name) and path.is_file() and unlocked(path):
            path.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write ``text`` so that ``path`` holds either its old content or all of the new one."""
    with appearing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write ``value`` as readable strict JSON, whole or not at all."""
    write_text(path, pretty_json(value))


def publish_copy(source: Path, target: Path) -> None:
    """Copy ``source`` to ``target``, which appears by rename, complete or not at all."""
    with appearing(target) as temporary:
        shutil.copyfile(source, temporary)
