"""The file that a lease locks: where it lies, what it may be, and what its holder writes into it."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError

DEFAULT_PARENT = Path("/var/tmp")
RECORD_SCHEMA = 1
RECORD_LIMIT = 4096  # bytes; anybody may write into the file, so reading is bounded

# flock(2) on these either excludes only processes of the same client or is emulated; and a file that another
# host sees too says nothing about this host's device.
NETWORK_FILE_SYSTEMS = {"afs", "cifs", "coda", "nfs", "nfs4", "smb3", "smbfs"}
CLUSTER_FILE_SYSTEMS = {"beegfs", "ceph", "gfs2", "glusterfs", "gpfs", "lustre", "ocfs2", "orangefs", "pvfs2"}
GUEST_FILE_SYSTEMS = {"9p", "prl_fs", "vboxsf", "virtiofs"}  # those of a virtual machine's host
REMOTE_FILE_SYSTEMS = NETWORK_FILE_SYSTEMS | CLUSTER_FILE_SYSTEMS | GUEST_FILE_SYSTEMS | {"fuse"}


def default_lease_folder(physical_id: str) -> Path:
    """``/var/tmp/tachograph-lease-PHYSICAL_ID``: one folder per device, made by whoever uses it first.

    It must be found under the same name by every user of the host, need no root, and be on a local disk:

    * ``/tmp`` and ``/dev/shm`` are private to each job under Slurm's job_container/tmpfs, ``/run/user/UID``
      belongs to one user, ``XDG_RUNTIME_DIR`` may be unset, a folder of the repository is one per checkout.
    * ``/run/lock`` (``/var/lock``) may be written by everybody on Debian, by root alone on Fedora.
    * ``/var/tmp`` is there and writable for all by the Filesystem Hierarchy Standard. It is sticky, and a
      lock file directly in it would be refused by filelock for all but its owner; in a folder of its own,
      which is not sticky (0755), a file of mode 0666 can be locked by everybody. One folder per device,
      because only the owner of a folder can add the file of a second device to it.

    Containers, and services with a private /tmp, see a ``/var/tmp`` of their own: let them share this folder.
    """
    return DEFAULT_PARENT / f"tachograph-lease-{physical_id}"


def lock_path(folder: Path | None, physical_id: str) -> Path:
    """The lock file of a device, in ``folder`` or in the default folder of the device."""
    return (folder or default_lease_folder(physical_id)) / f"{physical_id}.lock"


def file_system_type(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> str:
    """The type of the file system that ``path`` lies on, by the longest mount point above it."""
    real = os.path.realpath(path)
    best, kind = "", "unknown"
    for line in mountinfo.read_text(errors="replace").splitlines():
        left, _, right = line.partition(" - ")
        mount = re.sub(r"\\([0-7]{3})", lambda octal: chr(int(octal[1], 8)), left.split()[4])  # blank: \040
        inside = real == mount or real.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best):  # of two mounts at one place the later covers the earlier
            best, kind = mount, right.split()[0]
    return kind


def prepare_folder(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> None:
    """Create the folder of lock file ``path`` if need be; TachographError if no lease can live there."""
    folder = path.parent
    try:
        for missing in reversed([f for f in (folder, *folder.parents) if not os.path.lexists(f)]):
            with contextlib.suppress(FileExistsError):  # another process was faster
                missing.mkdir()
                missing.chmod(0o755)  # whatever the umask says, other users must find the file
    except OSError as error:
        raise TachographError(
            f"lease folder {folder} cannot be created: {error.strerror}; "
            "set another lease folder in the configuration, on a local disk and writable"
        ) from error
    _refuse_folder(folder, mountinfo)


def refuse_unusable_folder(path: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> None:
    """TachographError if lock file ``path`` could not be made and locked, as far as can be told without making it."""
    folder = path.parent
    there = next(each for each in (folder, *folder.parents) if os.path.lexists(each))
    if there == folder:
        _refuse_folder(folder, mountinfo)
        check_regular(path)
    if os.path.lexists(path):
        return
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise TachographError(
            f"lease folder {folder} cannot be used: {there} is no folder that this user may write to; "
            "set another lease folder in the configuration, on a local disk and writable"
        )


def _refuse_folder(folder: Path, mountinfo: Path) -> None:
    if folder.is_symlink():
        raise TachographError(f"lease folder {folder} is a symbolic link, expected a folder; remove the link")
    if not folder.is_dir():
        raise TachographError(f"lease folder {folder} is not a folder; remove it or set another lease folder")
    kind = file_system_type(folder, mountinfo)
    if kind in REMOTE_FILE_SYSTEMS or kind.startswith("fuse."):
        raise TachographError(
            f"lease folder {folder} is on a {kind} file system, where locks do not exclude reliably; "
            "expected a folder on a disk of this host"
        )


def check_regular(path: Path) -> None:
    """TachographError if ``path`` is there and is not a regular file (a link to one is refused as well)."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise TachographError(f"lock file {path} cannot be examined: {error.strerror}") from error
    if not stat.S_ISREG(mode):
        kinds = {
            stat.S_IFDIR: "a folder",
            stat.S_IFLNK: "a symbolic link",
            stat.S_IFIFO: "a named pipe",
            stat.S_IFSOCK: "a socket",
            stat.S_IFCHR: "a device node",
            stat.S_IFBLK: "a device node",
        }
        raise TachographError(
            f"lock file {path} is {kinds.get(stat.S_IFMT(mode), 'something else')}, "
            "expected a regular file; remove it or set another lease folder"
        )


def names_same_file(path: Path, descriptor: int) -> bool:
    """Whether ``path`` still names the open file: a lock on a file that was removed excludes nobody."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False


def write_record(descriptor: int, record: dict[str, Any]) -> None:
    """Replace the text in the lock file by ``record``, one line of JSON; OSError if the disk is full."""
    text = json.dumps({"schema": RECORD_SCHEMA, **record}, ensure_ascii=False).encode() + b"\n"
    if os.pwrite(descriptor, text, 0) != len(text):
        raise OSError("the holder's record was cut short")
    os.ftruncate(descriptor, len(text))


def read_record(path: Path) -> dict[str, Any]:
    """What the last holder wrote, {} if nothing readable: it is a hint, the kernel's lock is the truth."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        record = json.loads(os.pread(descriptor, RECORD_LIMIT, 0))
    except (OSError, ValueError, RecursionError):
        return {}
    finally:
        os.close(descriptor)
    return record if isinstance(record, dict) and record.get("schema") == RECORD_SCHEMA else {}
