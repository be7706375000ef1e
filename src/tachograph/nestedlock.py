"""A lock among those who share one lease: what runs under a lease takes turns as well.

It is an open-file-description lock (fcntl_locking(2)) on one byte of the lock file, the number of the byte
being the depth of nesting. It does not meet flock(2), is inherited with the open file, and ends with its last
copy.
"""

from __future__ import annotations

import fcntl
import os
import struct
from pathlib import Path

from tachograph.errors import TachographError


def open_for_nesting(path: Path) -> int:
    """Open the lock file of the outer lease a second time; TachographError if it is gone."""
    try:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise TachographError(
            f"lock file {path} of the lease that this program runs under cannot be opened: {error.strerror}"
        ) from error


def try_lock_byte(descriptor: int, byte: int) -> bool:
    """Lock this byte for this open file, if nobody has it."""
    # struct flock: l_type, l_whence, l_start, l_len, l_pid (0 is demanded)
    request = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, byte, 1, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
    except (BlockingIOError, PermissionError):
        return False
    return True
