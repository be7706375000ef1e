"""One execution of the workflow: begun once per study, by one Snakemake at a time."""

from __future__ import annotations

import fcntl
import getpass
import os
import re
import socket
import sys
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.host.choice import choose_device
from tachograph.lease.lockfile import lock_path, prepare_folder, refuse_unusable_folder
from tachograph.lease.processes import is_alive
from tachograph.models import Configuration
from tachograph.scripting import tell_jobs
from tachograph.study.layout import StudyFolder
from tachograph.study.opening import OpenedStudy
from tachograph.study.recovery import announce_requests, close_abandoned, remove_leftovers
from tachograph.study.status import write_status

GPU_TOKENS = 1
HOST_TOKENS = 100
HOLDER_TRIES, HOLDER_PAUSE_SECONDS = 40, 0.05

_held: list[int] = []  # the locks live as long as this Snakemake process


class StudyBusyError(TachographError):
    """Another Snakemake executes the study."""

    exit_code = 75


def begin(
    studies: Iterable[OpenedStudy],
    configuration: Configuration,
    resources: Mapping[str, Any],
    forced: list[str],
    outputs: Collection[str],
    overwritten: Mapping[str, Mapping[str, Any]],
) -> None:
    """What must hold before the first job: caps, devices, lock folders, and nobody else at work on these studies.

    Attempts that a killed program left open are closed as ``interrupted``, and its half files are removed.
    ``forced`` names the files and rules that the user wants made again, ``outputs`` what the jobs of this session
    make: Snakemake deletes these before their jobs start; ``overwritten`` what --set-resources gives to rules, by rule.
    Raises TachographError.
    """
    tell_jobs(configuration, forced)
    check_caps(resources)
    refuse_overwritten(overwritten)
    for one in studies:
        prepare_folder(_lock_of(one, configuration))
        _held.append(_take_session(one.folder))
        close_abandoned(one.folder)
        remove_leftovers(one.folder)
        announce_requests(one.folder, one.planned, outputs)
        write_status(one.folder)


def _lock_of(one: OpenedStudy, configuration: Configuration) -> Path:
    """The lock file of the device that the runs of a study are made on. Raises TachographError if it is not there."""
    device = choose_device(one.planned[0].device_kind, configuration.device, one.study.name)
    folder = Path(configuration.lease_folder) if configuration.lease_folder else None
    return lock_path(folder, device.physical_id)


def obstacle(one: OpenedStudy, configuration: Configuration) -> str | None:
    """Why this machine could not execute a study as it is now, as far as a plan may look: nothing is made for it."""
    try:
        refuse_unusable_folder(_lock_of(one, configuration))
    except TachographError as error:
        return str(error)
    return None


def check_caps(resources: Mapping[str, Any]) -> None:
    """Refuse caps under which Snakemake would clamp a request silently instead of refusing the job."""
    for name, need in (("gpu", GPU_TOKENS), ("host", HOST_TOKENS)):
        value = getattr(resources.get(name), "value", resources.get(name))
        if isinstance(value, int) and value < need:
            raise TachographError(f"--resources {name}={value}: a timed job needs {name}={need}")


def refuse_overwritten(overwritten: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse another share of the device or the host for a rule: it would let jobs of ours run beside a timed one."""
    for rule, given in overwritten.items():
        for name in given.keys() & {"gpu", "host"}:
            value = getattr(given[name], "value", given[name])
            raise TachographError(
                f"--set-resources {rule}:{name}={value}: expected no other gpu or host than the rule has: nothing "
                "of ours runs beside a timed job"
            )


def end(studies: Iterable[OpenedStudy]) -> None:
    """Bring ``status.md`` up to date, whatever became of the jobs."""
    for one in studies:
        write_status(one.folder)


@contextmanager
def exclusive_session(folder: StudyFolder) -> Iterator[None]:
    """Nobody executes or changes the study inside this block. Raises StudyBusyError if somebody does now."""
    descriptor = _take_session(folder)
    try:
        yield
    finally:
        os.close(descriptor)


def _take_session(folder: StudyFolder) -> int:
    """Lock the study for as long as the returned descriptor is open; a killed holder leaves nothing behind."""
    folder.session_lock.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder.session_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(descriptor)
        os.close(descriptor)
        raise StudyBusyError(
            f"study {folder.path.name}: it is being executed or changed by {holder}; wait for it or stop it"
        ) from None
    os.ftruncate(descriptor, 0)
    who = f"process {os.getpid()} of {getpass.getuser()} on {socket.gethostname()}: {Path(sys.argv[0]).name}"
    os.pwrite(descriptor, who.encode() + b"\n", 0)
    return descriptor


def _holder(descriptor: int) -> str:
    """Who says in the lock file that it has the lock.

    A holder writes a moment after it has locked; until then the text is that of an earlier one, which is dead.
    """
    for _ in range(HOLDER_TRIES):
        text = os.pread(descriptor, 4096, 0).decode(errors="replace").strip()
        match = re.match(r"process (\d+) of ", text)
        if match and is_alive(int(match[1])):
            return text
        time.sleep(HOLDER_PAUSE_SECONDS)
    return "a process that does not say its name"
