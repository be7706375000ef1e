"""Reading one fact from a file or a program, or saying why it could not be read."""

from __future__ import annotations

import math
import re
import shutil
import subprocess
from pathlib import Path

from machinecheck.unknown import Unknown


def text(path: Path) -> str | Unknown:
    """The file's text, stripped; otherwise the reason (missing, permission denied, …)."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError as error:
        return Unknown(f"{path}: {error.strerror or error}")


def as_number(found: str, place: object, scale: float = 1.0) -> float | Unknown:
    """``found`` as a finite number, times ``scale``; a driver's "nan" is none. ``place`` is where it was read."""
    try:
        value = float(found) * scale
    except ValueError:
        value = math.nan
    return value if math.isfinite(value) else Unknown(f"{place}: expected a number, found {found[:40]!r}")


def as_whole(found: str, place: object) -> int | Unknown:
    """``found`` as a whole number of at most 64 bits."""
    if re.fullmatch(r"-?[0-9]{1,20}", found) and abs(int(found)) < 2**64:
        return int(found)
    return Unknown(f"{place}: expected a whole number, found {found[:40]!r}")


def number(path: Path, scale: float = 1.0) -> float | Unknown:
    """The number in a one-number file, times ``scale``."""
    found = text(path)
    return found if isinstance(found, Unknown) else as_number(found, path, scale)


def integer(path: Path) -> int | Unknown:
    """The whole number in a one-number file."""
    found = text(path)
    return found if isinstance(found, Unknown) else as_whole(found, path)


def output(command: list[str], seconds: float = 20.0) -> str | Unknown:
    """Standard output of a program; unknown if it is not installed, fails or outlasts ``seconds``."""
    if shutil.which(command[0]) is None:
        return Unknown(f"{command[0]} is not installed")
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return Unknown(f"{command[0]} did not answer in {seconds:g} s")
    except OSError as error:
        return Unknown(f"{command[0]}: {error.strerror or error}")
    if done.returncode != 0:
        complaint = (done.stderr or done.stdout).strip().splitlines()
        return Unknown(f"{command[0]} failed ({done.returncode}): {complaint[0] if complaint else 'no message'}")
    return done.stdout
