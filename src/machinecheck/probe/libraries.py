"""Two copies of one library in one process: each has its own threads, device contexts and bugs."""

from __future__ import annotations

import re
from pathlib import Path

# Libraries that come under several names but are one thing to have twice.
OPENMP = ("gomp", "omp", "iomp5")
NAME = re.compile(r"^lib(?P<name>.+?)(?P<hash>-[0-9a-f]{6,16})?(?P<version>[-.][-.0-9]*)?\.so")


def library_name(path: str) -> str | None:
    """``/x/libscipy_openblas64_-32a4b2a6.so`` → ``openblas``; ``None`` for what is no library."""
    match = NAME.match(path.rpartition("/")[2])
    if match is None:
        return None
    name = match["name"].rstrip("_-")
    if "openblas" in name:
        return "openblas"
    return "OpenMP runtime" if name in OPENMP else name


def copies(maps: str) -> dict[str, list[str]]:
    """Libraries mapped from more than one file, by name, out of the text of ``/proc/PID/maps``."""
    files: dict[str, set[str]] = {}
    for line in maps.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and fields[5].startswith("/"):
            path = fields[5].removesuffix(" (deleted)")
            name = library_name(path)
            if name is not None:
                files.setdefault(name, set()).add(path)
    return {name: sorted(paths) for name, paths in sorted(files.items()) if len(paths) > 1}


def copies_in_this_process() -> dict[str, list[str]]:
    """The same for the calling process."""
    return copies(Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"))
