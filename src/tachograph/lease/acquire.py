"""The lease: exclusive use of a device of this host, by a kernel lock that flock(1) users share."""

from __future__ import annotations

import contextlib
import errno
import getpass
import os
import secrets
import socket
import stat
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import Timeout, UnixFileLock

from tachograph.errors import TachographError
from tachograph.host.device import Device
from tachograph.lease.holders import (
    TOKEN_VARIABLE,
    Holder,
    find_holders,
    inherited_descriptor,
    live_outer_lease,
    nested_holders,
    token_carriers,
    token_prefix,
    utc,
)
from tachograph.lease.lockfile import check_regular, lock_path, names_same_file, prepare_folder, write_record
from tachograph.lease.nestedlock import open_for_nesting, try_lock_byte
from tachograph.lease.patience import Patience
from tachograph.lease.processes import ancestors, boot_id, is_alive, own_start_ticks, printable

_CREATION_GRACE_SECONDS = 1.0  # another user may have made the folder, but not yet the file with its mode


def say_on_stderr(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


class _ReplacedError(Exception):
    """The path no longer names the file that we have locked."""


@dataclass
class Lease:
    """Exclusive use of ``device`` until :meth:`release`, or the end of the ``with`` block.

    ``descriptors`` are open lock files, to be passed on to the program that uses the device; ``token`` goes
    into that program's environment as ``TACHOGRAPH_LEASE``. Both are done by
    :func:`tachograph.execution.supervise.supervise`.
    """

    device: Device
    path: Path
    token: str
    descriptors: list[int]
    max_hold_s: float
    waited_s: float
    since_monotonic: float
    since_wall: float
    waited_for: list[Holder] = field(default_factory=list)
    nested: bool = False
    survivors: list[int] = field(default_factory=list)
    _lock: UnixFileLock | None = None
    _replaced: bool = False
    _held_s: float | None = None

    def environment(self) -> dict[str, str]:
        """What a program under this lease must have in its environment."""
        return {TOKEN_VARIABLE: self.token}

    def release(self) -> None:
        """Give the device back, or the turn under an outer lease. Does nothing if that was done before.

        If ``survivors`` names processes that could not be ended, the lock is kept for as long as this process
        lives: unlocking would take the lock away from them too. Later, their token still tells.
        """
        if self._held_s is not None:
            return
        self._replaced = self._file_replaced()
        self._held_s = time.monotonic() - self.since_monotonic
        if self._lock is None:
            os.close(self.descriptors[-1])  # the outer lease's own file stays as it is
            return
        if self.survivors:
            _KEPT.append(self._lock)
            return
        with contextlib.suppress(OSError):  # the text is a courtesy, the lock counts
            write_record(self.descriptors[0], {"state": "free", "released": utc(time.time())})
        self._lock.release()

    def as_record(self) -> dict[str, Any]:
        """For ``run.json``: seconds waited and held (so far), whom we waited for, and whether exclusion was certain.

        ``lock_file_replaced`` is true if somebody removed or replaced the lock file while we held it: another
        program may then have taken the device.
        """
        return {
            "physical_id": self.device.physical_id,
            "lock_file": str(self.path),
            "waited_s": self.waited_s,
            "held_s": time.monotonic() - self.since_monotonic if self._held_s is None else self._held_s,
            "max_hold_s": self.max_hold_s,
            "contended": bool(self.waited_for),
            "waited_for": [
                {"how": h.how, "pid": h.pid, "program": h.program, "user": h.user, "since": h.since}
                for h in self.waited_for
            ],
            "nested": self.nested,
            "lock_file_replaced": self._file_replaced(),
        }

    def _file_replaced(self) -> bool:
        if self._held_s is not None:  # released: what was seen then
            return self._replaced
        return not names_same_file(self.path, self.descriptors[-1])

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


_KEPT: list[UnixFileLock] = []


def acquire(
    device: Device,
    folder: Path | None = None,
    *,
    study: str = "",
    run: str = "",
    max_wait_s: float,
    max_hold_s: float,
    say: Callable[[str], None] = say_on_stderr,
) -> Lease:
    """Wait for the device and take it; the first try is immediate.

    ``folder`` holds the lock file (None: :func:`tachograph.lease.lockfile.default_lease_folder`). While waiting,
    ``say`` gets a sentence at once and then every 30 s that names the holder. After ``max_wait_s`` seconds:
    :class:`tachograph.errors.LeaseUnavailableError`. A folder or file that cannot carry a lock:
    :class:`TachographError`.

    Inside of a lease by the same file (its token is in our environment and its owner lives) this does not
    wait for that lease: ``nested`` is set, and only others inside of it are waited for.
    """
    path = lock_path(folder, device.physical_id)
    patience = Patience(device.physical_id, path, max_wait_s, say)
    outer = live_outer_lease(path)
    if outer is not None:
        return _take_nested(device, path, outer, max_hold_s, patience)
    prepare_folder(path)
    return _Acquisition(device, path, study, run, max_hold_s, patience).take()


def _take_nested(device: Device, path: Path, outer: str, max_hold_s: float, patience: Patience) -> Lease:
    """Take turns with others under the same outer lease, which keeps everybody else away."""
    depth = outer.count(".")
    descriptor = open_for_nesting(path)
    try:
        while not try_lock_byte(descriptor, depth):
            patience.wait(lambda: nested_holders(path, depth))
        inherited = inherited_descriptor(path, os.getpid())
    except BaseException:
        os.close(descriptor)
        raise
    return Lease(
        device=device,
        path=path,
        token=f"{outer}.{secrets.token_hex(8)}",
        descriptors=[descriptor] if inherited is None else [inherited, descriptor],
        max_hold_s=max_hold_s,
        waited_s=time.monotonic() - patience.started,
        since_monotonic=time.monotonic(),
        since_wall=time.time(),
        waited_for=list(patience.waited_for.values()),
        nested=True,
    )


class _Acquisition:
    """One try at getting a lease, from the first look to the lock or the refusal."""

    def __init__(self, device: Device, path: Path, study: str, run: str, max_hold_s: float, patience: Patience) -> None:
        self.device, self.path, self.study, self.run = device, path, study, run
        self.max_hold_s, self.patience = max_hold_s, patience
        self.token = f"{token_prefix(path)}{os.getpid()}.{own_start_ticks()}.{secrets.token_hex(8)}"
        self.descriptor = -1
        self.lock = UnixFileLock(
            path,
            timeout=0,
            mode=0o666,
            thread_local=False,
            fallback_to_soft=False,
            preserve_lock_file=True,
            on_acquired=self._taken,
        )

    def take(self) -> Lease:
        while not self._try_lock():
            self.patience.wait(lambda: find_holders(self.path))
        try:
            while left_over := self._left_over():
                self.patience.speak_next_time()
                # We keep the lock meanwhile, so that users of flock(1) wait too.
                while any(is_alive(holder.pid, holder.start_ticks) for holder in left_over):
                    self.patience.wait(lambda: left_over)
            return self._lease()
        except BaseException:
            self.lock.release()
            raise

    def _try_lock(self) -> bool:
        check_regular(self.path)
        try:
            self.lock.acquire(timeout=0)
        except (Timeout, _ReplacedError):
            return False
        except PermissionError as error:
            if time.monotonic() - self.patience.started < _CREATION_GRACE_SECONDS:
                time.sleep(0.05)
                return self._try_lock()
            raise TachographError(
                f"lock file {self.path} cannot be opened by user {_user()}: {error.strerror}; "
                "expected a file of mode 0666 in a folder of mode 0755 without the sticky bit; "
                "its owner can `chmod` it"
            ) from error
        except RuntimeError as error:  # filelock's word for a second lock object in the same thread
            raise TachographError(
                f"this process already holds the lease of {self.device.physical_id} ({self.path})"
            ) from error
        except OSError as error:
            hint = "; free some space" if error.errno in (errno.ENOSPC, errno.EDQUOT) else ""
            raise TachographError(
                f"lock file {self.path} cannot be used: {error.strerror or error}{hint}; "
                "expected a writable folder on a local disk"
            ) from error
        return True

    def _taken(self, descriptor: int) -> None:
        """Called by filelock with the lock just taken; raising gives it back."""
        if not stat.S_ISREG(os.fstat(descriptor).st_mode) or not names_same_file(self.path, descriptor):
            raise _ReplacedError
        self._stamp(descriptor)
        self.descriptor = descriptor

    def _stamp(self, descriptor: int) -> None:
        now = time.time()
        write_record(
            descriptor,
            {
                "state": "held",
                "host": socket.gethostname(),
                "boot_id": boot_id(),
                "pid": os.getpid(),
                "start_ticks": own_start_ticks(),
                "uid": os.getuid(),
                "study": self.study,
                "run": self.run,
                "command": printable(os.path.basename(sys.argv[0])),
                "since": utc(now),
                "deadline": utc(now + self.max_hold_s),
            },
        )

    def _left_over(self) -> list[Holder]:
        """Processes of earlier leases that still run, though nobody has their lock any more."""
        own = [os.getpid(), *ancestors(os.getpid())]  # we may be started by one of them ourselves
        return token_carriers(self.path, spare=own)

    def _lease(self) -> Lease:
        if self.patience.waited_for:
            self._stamp(self.descriptor)  # "since" must not count the wait for left-over processes
        now = time.monotonic()
        return Lease(
            device=self.device,
            path=self.path,
            token=self.token,
            descriptors=[self.descriptor],
            max_hold_s=self.max_hold_s,
            waited_s=now - self.patience.started,
            since_monotonic=now,
            since_wall=time.time(),
            waited_for=list(self.patience.waited_for.values()),
            _lock=self.lock,
        )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.getuid())
