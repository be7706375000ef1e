"""Attempts whose programs were killed before they could say how it ended."""

from __future__ import annotations

import socket
from collections.abc import Iterable
from typing import Any

from tachograph.files import sha256_file
from tachograph.layout import StudyFolder
from tachograph.ledger import Ledger
from tachograph.processes import boot_id, is_alive
from tachograph.state import Attempt, read_state


def _still_runs(process: dict[str, Any]) -> bool:
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
            if attempt.status is None and not _still_runs(attempt.process):
                place = folder.path / attempt.folder
                Ledger(folder.ledger).append(
                    "ended",
                    run=key,
                    attempt=attempt.number,
                    status="interrupted",
                    exit_code=None,
                    signal=None,
                    validity="invalid",
                    reason="the program that made it was killed or the machine went down",
                    files={
                        path.relative_to(place).as_posix(): sha256_file(path)
                        for path in sorted(place.rglob("*"))
                        if path.is_file() and not path.is_symlink()
                    },
                    hold_seconds=None,
                )
                closed.append(attempt)
    return closed
