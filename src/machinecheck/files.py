"""Strict JSON files that appear whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from machinecheck.errors import MachineCheckError


def to_json(data: Any) -> str:
    """Canonical text: sorted keys, UTF-8, LF at the end. ValueError on NaN or infinity."""
    return json.dumps(data, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_text(path: Path, text: str) -> None:
    """Write ``text`` beside ``path``, flush it to disk, then rename it into place."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def write_json(path: Path, data: Any) -> None:
    """Write ``data`` as strict JSON; a NaN in it is refused before the file is touched."""
    write_text(path, to_json(data))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def read_json(path: Path) -> Any:
    """Read strict JSON. MachineCheckError naming the file and the place if it is not there or not JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
    except FileNotFoundError:
        raise MachineCheckError(f"{path}: no such file") from None
    except ValueError as error:
        raise MachineCheckError(f"{path}: expected strict JSON, found {error}") from None
