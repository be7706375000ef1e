"""Compiled kernels, kept in a folder named by the hash of the sources they were compiled from.

numba (0.68) notices an edit of the file that a kernel stands in, but not of a file that the kernel calls
into: an old caller would go on running old code. A folder per state of the sources cannot mix them.
``NUMBA_CACHE_DIR`` in the environment wins.

Kernels take one row or whole arrays, write into buffers passed in, and check nothing.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from numba.core import config


def kernel_sources_hash() -> str:
    """First 16 hexadecimal digits of the SHA-256 over the kernel modules, names and contents."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for path in sorted([*folder.glob("*.py"), folder.parent / "rules.py"]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


if "NUMBA_CACHE_DIR" not in os.environ:
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    config.CACHE_DIR = str(cache_home / "lost_cities" / kernel_sources_hash())  # type: ignore[attr-defined]
