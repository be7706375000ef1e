"""Writing a result: refused before the work if it cannot be written, complete or not at all after it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from armies.errors import ArmiesError


def part_of(path: Path) -> Path:
    """Where ``path`` is written before it is complete."""
    return path.with_name(path.name + ".part")


def check_writable(path: Path) -> None:
    """Raise :class:`ArmiesError` now rather than after the measurement if ``path`` cannot be written.

    Asked by writing: permissions alone do not tell of a read-only disk. Nothing of it stays, no folder either: what is
    asked for can still turn out to make no sense.
    """
    missing: list[Path] = []
    try:
        if path.exists() and not path.is_file():  # a file that is renamed to the place of /dev/null would stay there
            found = "a folder" if path.is_dir() else "a device, pipe or socket"
            raise ArmiesError(f"{path} cannot be written: it is {found}, expected a file")
        missing += [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
        part_of(path).touch()
        part_of(path).unlink()
    except FileExistsError:
        raise ArmiesError(f"{path} cannot be written: {path.parent} is not a folder, expected one") from None
    except OSError as error:
        raise ArmiesError(f"{path} cannot be written: {error.strerror}, expected a file in a writable folder") from None
    finally:
        for folder in missing:
            with suppress(OSError):  # it was never made, or somebody else has put something into it
                folder.rmdir()


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write strict JSON, complete or not at all, into a folder that is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part_of(path).write_text(json.dumps(content, allow_nan=False, indent=1) + "\n")
    os.replace(part_of(path), path)
