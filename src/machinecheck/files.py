"""Strict JSON files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from machinecheck.errors import UnwritableError


def to_json(data: Any) -> str:
    """Canonical text: sorted keys, UTF-8, LF at the end. ValueError on NaN or infinity."""
    return json.dumps(data, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write ``text`` beside ``path``, flush it to disk, then rename it into place. Raises UnwritableError."""
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise UnwritableError(f"{path}: found a device, pipe or socket, expected a file or none")
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)
        raise UnwritableError(f"{path}: cannot be written: {error.strerror}") from None


def write_json(path: Path, data: Any) -> None:
    """Write ``data`` as strict JSON; a NaN in it is refused before the file is touched."""
    write_text(path, to_json(data))
