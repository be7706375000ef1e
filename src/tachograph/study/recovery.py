"""Attempts whose programs were killed before they could say how it ended."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Collection, Iterable
from typing import Any

from tachograph.files import remove_partial, unlocked
from tachograph.lease.processes import boot_id, is_alive
from tachograph.study.layout import BEGUN_RECORD, StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.planning import PlannedRun
from tachograph.study.seal import seal
from tachograph.study.state import Attempt, StudyState, read_state

NO_END = "nothing told how it ended: its program was killed, the machine went down, or the disk was full"


def still_runs(process: dict[str, Any]) -> bool:
    """Whether the program that makes an attempt lives: by number, time of start and boot of its process."""
    if process["host"] != socket.gethostname():
        return True  # another host's process cannot be looked at from here
    return process["boot_id"] == boot_id() and is_alive(process["pid"], process["start_ticks"])


def close_abandoned(folder: StudyFolder, keys: Iterable[str] | None = None) -> list[Attempt]:
    """Give every attempt without an end, whose program is dead, the status ``interrupted``; returns them.

    What it wrote is kept and sealed as it lies there.
    """
    state = read_state(folder)
    wanted = set(state.attempts) if keys is None else set(keys)
    closed = []
    for key in sorted(wanted & state.attempts.keys()):
        for attempt in state.attempts[key]:
            if attempt.status is None and not still_runs(attempt.process):
                place = folder.path / attempt.folder
                remove_partial(place)
                Ledger(folder.ledger).append(
                    "ended",
                    run=key,
                    attempt=attempt.number,
                    status="interrupted",
                    exit_code=None,
                    signal=None,
                    validity="invalid",
                    reason=NO_END,
                    files={} if place.is_symlink() else seal(place),
                    hold_seconds=None,
                )
                closed.append(attempt)
    return closed


def as_seen_now(state: StudyState) -> StudyState:
    """``state`` with each attempt that has no end and whose program is dead as ``interrupted``; nothing is written.

    The next session puts it on the ledger: see :func:`close_abandoned`.
    """
    for tries in state.attempts.values():
        for attempt in tries:
            if attempt.status is None and not still_runs(attempt.process):
                attempt.status, attempt.validity, attempt.reason = "interrupted", "invalid", NO_END
    return state


def announce_requests(folder: StudyFolder, planned: Iterable[PlannedRun], outputs: Collection[str]) -> None:
    """Tell the ledger which published targets Snakemake is about to delete because their jobs run again.

    Without the line a deletion by Snakemake, killed before the job could tell, would look like one by somebody else.
    """
    state = read_state(folder)
    for run in planned:
        names = {str(folder.path / name) for name in (run.target, run.run_file)}
        if run.key in state.published and run.key not in state.requested and not names.isdisjoint(outputs):
            Ledger(folder.ledger).append("requested", run=run.key, forced=False)


def remove_leftovers(folder: StudyFolder) -> None:
    """Remove files and records that killed programs had begun; those of the living are locked."""
    remove_partial(folder.path)
    for path in folder.path.glob(f"{BEGUN_RECORD}*"):
        if path.is_dir() and unlocked(path):
            shutil.rmtree(path, ignore_errors=True)
