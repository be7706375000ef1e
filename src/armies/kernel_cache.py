"""Where compiled kernels are kept: a folder named by the hash of the sources they were compiled from.

numba (0.68) notices an edit of the file that a kernel stands in, but not of a file that the kernel calls
into: an old caller would go on running old code. A folder per state of the sources cannot mix them.
Every module with kernels imports this one first. ``NUMBA_CACHE_DIR`` in the environment wins.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from numba.core import config


def sources_hash() -> str:
    """First 16 hexadecimal digits of the SHA-256 over this package's Python files, names and contents."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


if "NUMBA_CACHE_DIR" not in os.environ:
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    config.CACHE_DIR = str(cache_home / "armies" / sources_hash())  # type: ignore[attr-defined]
