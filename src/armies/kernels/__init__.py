"""Compiled kernels, kept in a folder named by the hash of the sources they were compiled from.

numba (0.68) notices an edit of the file that a kernel stands in, but not of a file that the kernel calls
into or takes a constant from: an old caller would go on running old code. A folder per state of the sources
cannot mix them. ``NUMBA_CACHE_DIR``, if set, wins.

numba's own threads are used, not those of OpenMP: starting the latter sets the number of threads of torch too,
as both share one library, and torch's sums depend on it. ``NUMBA_THREADING_LAYER``, if set, wins.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from numba.core import config

# Kernels call and take constants from each other and from these modules alone (a test looks).
CONSTANTS = ("state.py", "variants.py")


def kernel_sources() -> list[Path]:
    """The files that compiled code is made of."""
    folder = Path(__file__).parent
    return sorted(folder.glob("*.py")) + [folder.parent / name for name in CONSTANTS]


def sources_hash() -> str:
    """First 16 hexadecimal digits of the SHA-256 over names and contents of the kernels' sources."""
    digest = hashlib.sha256()
    for path in kernel_sources():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


if "NUMBA_CACHE_DIR" not in os.environ:
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    config.CACHE_DIR = str(cache_home / "armies" / sources_hash())  # type: ignore[attr-defined]
if "NUMBA_THREADING_LAYER" not in os.environ:
    config.THREADING_LAYER = "workqueue"  # type: ignore[attr-defined]
