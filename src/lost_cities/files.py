"""Result files: writable before the work starts, complete or not there after it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lost_cities.errors import LostCitiesError


def check_writable(path: Path) -> None:
    """Raise :class:`LostCitiesError` now rather than after the measurement if ``path`` cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LostCitiesError(f"{path.parent} cannot be made: {error.strerror}") from None
    if path.is_dir() or not os.access(path.parent, os.W_OK):
        raise LostCitiesError(f"{path} cannot be written, expected a file in a writable folder")


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write strict JSON, complete or not at all."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(json.dumps(content, allow_nan=False, indent=1) + "\n")
    os.replace(temporary, path)
