"""Result files: writable before the work starts, complete or not there after it."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lost_cities.errors import LostCitiesError


def check_writable(path: Path) -> None:
    """Raise :class:`LostCitiesError` now rather than after the measurement if ``path`` cannot be written.

    Asked by writing, as permissions alone do not tell of a read-only disk; nothing stays behind. A missing folder is
    made with the file, so its nearest parent is asked.
    """
    if path.exists() and not path.is_file():  # a file that is renamed to the place of /dev/null would stay there
        found = "a folder" if path.is_dir() else "a device, pipe or socket"
        raise LostCitiesError(f"{path} cannot be written: it is {found}, expected a file")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise LostCitiesError(f"{path} cannot be written: {folder} takes no file ({error.strerror})") from None


@contextmanager
def taken(folder: Path) -> Iterator[None]:
    """Inside, no other training writes into ``folder``. :class:`LostCitiesError` if one does already."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the kernel takes it back however the process ends
        except BlockingIOError:
            raise LostCitiesError(
                f"{folder} is in use by a training that still runs, expected one that has ended"
            ) from None
        yield
    finally:
        os.close(descriptor)


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write strict JSON, complete or not at all. :class:`LostCitiesError` if the disk refuses it."""
    temporary = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(content, allow_nan=False, indent=1) + "\n")
        os.replace(temporary, path)
    except OSError as error:
        raise LostCitiesError(f"{path} cannot be written: {error.strerror}") from None
