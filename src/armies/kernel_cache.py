"""Where compiled kernels are kept: a folder named by the hash of the sources they were compiled from.

numba (0.68) notices an edit of the file that a kernel stands in, but not of a file that the kernel calls
into or takes a constant from: an old caller would go on running old code. A folder per state of the sources
cannot mix them. Every module with kernels imports this one first. ``NUMBA_CACHE_DIR``, if set, wins.

numba's own threads are used, not those of OpenMP: starting the latter sets the number of threads of torch too,
as both share one library, and torch's sums depend on it. ``NUMBA_THREADING_LAYER``, if set, wins.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from numba.core import config

# Kernels call and take constants from other modules with kernels and from these alone (a test looks).
CONSTANTS = ("state.py", "variants.py")


def kernel_sources() -> list[Path]:
    """The files of this package that compiled code is made of."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return [path for path in files if path.name in CONSTANTS or "njit(" in path.read_text(encoding="utf-8")]


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
