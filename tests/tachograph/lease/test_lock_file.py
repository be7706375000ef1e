"""Where a lock can live: what is no file, no folder, remote, full or read-only is refused by name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lease_helpers import (
    CPU,
    can_mount,
    finish,
    heard,
    python,
)

from tachograph.commands.lease import status_table
from tachograph.errors import TachographError
from tachograph.lease.acquire import acquire
from tachograph.lease.lockfile import default_lease_folder, file_system_type, prepare_folder


def make_folder(path: Path) -> None:
    path.mkdir()


def make_link(path: Path) -> None:
    path.symlink_to(path.parent / "elsewhere")


def make_pipe(path: Path) -> None:
    os.mkfifo(path)


def make_device(path: Path) -> None:
    try:
        os.mknod(path, 0o600 | 0o020000, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("this user may not make a device node")


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (make_folder, "a folder"),
        (make_link, "a symbolic link"),
        (make_pipe, "a named pipe"),
        (make_device, "a device"),
    ],
)
def test_what_is_no_file_is_refused(folder: Path, lock: Path, make: Callable[[Path], None], word: str) -> None:
    """D15: a lock file of another kind is refused at once, by name."""
    folder.mkdir()
    make(lock)
    started = time.monotonic()
    with pytest.raises(TachographError, match=word) as caught:
        acquire(CPU, folder, max_wait_s=60, max_hold_s=60)
    assert str(lock) in str(caught.value)
    assert time.monotonic() - started < 2


def test_folder_that_is_a_file_or_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    """A lease folder that is not one is named; so is a parent that is a file."""
    folder.write_text("")
    for place in (folder, folder / "below"):
        with pytest.raises(TachographError, match=str(place)):
            acquire(CPU, place, max_wait_s=0, max_hold_s=60)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    with pytest.raises(TachographError, match="symbolic link"):
        acquire(CPU, link, max_wait_s=0, max_hold_s=60)


@pytest.mark.parametrize("kind", ["nfs4", "cifs", "9p", "fuse.sshfs", "lustre"])
def test_remote_file_systems_are_refused(tmp_path: Path, kind: str) -> None:
    """flock(2) does not exclude across clients: the kind of file system is read from the mount table."""
    table = tmp_path / "mountinfo"
    table.write_text(
        "27 1 254:0 / / rw - ext4 /dev/vda rw\n"
        f"30 27 0:9 / {tmp_path}/net\\040share rw,relatime shared:1 - {kind} server:/x rw\n"
    )
    inside = tmp_path / "net share" / "leases"
    inside.mkdir(parents=True)
    assert file_system_type(inside, table) == kind
    assert file_system_type(tmp_path, table) == "ext4"
    with pytest.raises(TachographError, match=kind):
        prepare_folder(inside / "cpu-0.lock", table)
    prepare_folder(tmp_path / "leases" / "cpu-0.lock", table)


IN_TMPFS = """
try:
    lease = acquire(CPU, Path("/mnt/leases"), max_wait_s=0, max_hold_s=60)
    tell("held")
except Exception as error:
    tell(getattr(error, "exit_code", None), error)
"""


@pytest.mark.parametrize(
    ("prepare", "word"),
    [
        ("mount -o nr_inodes=1 -t tmpfs none /mnt", "No space left"),
        ("mount -o nr_inodes=2 -t tmpfs none /mnt", "No space left"),
        ("mount -o size=4k -t tmpfs none /mnt; head -c 4096 /dev/zero > /mnt/x", "No space left"),
        ("mount -o ro -t tmpfs none /mnt", "Read-only"),
        ("mount -t tmpfs none /mnt; mkdir /mnt/leases; mount -o remount,ro /mnt", "Read-only"),
    ],
)
def test_full_and_read_only_folders_are_clear_errors(prepare: str, word: str) -> None:
    """Without room for the file or its text there is no lease, only a sentence with path and reason."""
    if not can_mount():
        pytest.skip("this user cannot mount a file system here")
    process = python(IN_TMPFS, wrap=["unshare", "-m", "sh", "-c", f'{prepare}; exec "$0" "$@"'])
    said = heard(process)
    finish(process)
    assert said.startswith("2 ")
    assert word in said
    assert "/mnt/leases" in said


def test_default_folder_is_used_and_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a folder the device's own default folder is made, and the status finds it."""
    tmp_path.chmod(0o1777)
    monkeypatch.setattr("tachograph.lease.lockfile.DEFAULT_PARENT", tmp_path)
    monkeypatch.setattr("tachograph.commands.lease.DEFAULT_PARENT", tmp_path)
    with acquire(CPU, max_wait_s=0, max_hold_s=60) as lease:
        assert lease.path == tmp_path / "tachograph-lease-cpu-0" / "cpu-0.lock"
        [row] = [line for line in status_table(None, None).splitlines() if line.startswith("cpu-0")]
        assert f" held     pid {os.getpid()} " in row


def test_default_folder_is_per_device_and_needs_no_root() -> None:
    """The default is one folder per device in /var/tmp, which every user of the host may create."""
    folder = default_lease_folder("gpu-0000:03:00.0")
    assert folder == Path("/var/tmp/tachograph-lease-gpu-0000:03:00.0")
    assert os.stat(folder.parent).st_mode & 0o1777 == 0o1777
