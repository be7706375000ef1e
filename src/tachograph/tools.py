"""Run a small program of the system that tells something, and never wait long for it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

TOOL_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class Unknown:
    """In the place of a value that could not be had, with the reason: unknown is never 0."""

    reason: str

    def as_record(self) -> dict[str, str | None]:
        return {"value": None, "reason": self.reason}


def output_of(argv: Sequence[str], timeout_s: float = TOOL_TIMEOUT_SECONDS) -> str | Unknown:
    """Standard output of the program ``argv[0]`` found on PATH, or why there is none."""
    name = argv[0]
    path = shutil.which(name)
    if path is None:
        return Unknown(f"{name} is not installed")
    try:
        ended = subprocess.run(
            [path, *argv[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Unknown(f"{name} gave no answer within {timeout_s:g} s")
    except OSError as error:
        return Unknown(f"{name} cannot be run: {error.strerror}")
    if ended.returncode != 0:
        said = (ended.stderr or ended.stdout).strip().splitlines()
        return Unknown(
            f"{name} failed with exit code {ended.returncode}" + (f": {said[0][:200]}" if said else "")
        )
    return ended.stdout
