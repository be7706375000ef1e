"""What the folder of an attempt holds: its seal, and what no attempt may leave behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tachograph.errors import in_one_line
from tachograph.files import sha256_file


def seal(place: Path) -> dict[str, str]:
    """SHA-256 of every file of the attempt, by relative path; what :func:`stray` names is left out."""
    return {path.relative_to(place).as_posix(): sha256_file(path) for path, wrong in _entries(place) if wrong is None}


def stray(place: Path) -> str | None:
    """A sentence about the first thing among the results that cannot be sealed, or None.

    A link could point anywhere, a pipe has no content, a name that is no text can be written into no JSON, and a
    file that we may not read has no hash.
    """
    for path, wrong in _entries(place):
        if wrong:
            return f"{in_one_line(str(path))}: found {wrong} among the results, expected files"
    return None


def put_back(place: Path) -> str | None:
    """Make ``place`` a folder again if the program has removed or replaced it; a sentence about that, or None.

    Behind a link that stands there now we would write into somebody else's folder.
    """
    if place.is_dir() and not place.is_symlink():
        return None
    place.unlink(missing_ok=True)
    place.mkdir(parents=True)
    return f"{place}: the program removed or replaced the folder that it was to write into"


def _entries(place: Path) -> Iterator[tuple[Path, str | None]]:
    """Every file below ``place``, and with a reason what is no file, or none that can be sealed."""
    for path in sorted(place.rglob("*")):
        if path.is_symlink():
            yield path, "a symbolic link"
        elif path.is_dir():
            if not os.access(path, os.R_OK | os.X_OK):
                yield path, "a folder that cannot be read"
        elif not path.is_file():
            yield path, "a pipe, socket or device"
        elif not _is_text(str(path)):
            yield path, "a name that is not UTF-8"
        elif not os.access(path, os.R_OK):
            yield path, "a file that cannot be read"
        else:
            yield path, None


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
