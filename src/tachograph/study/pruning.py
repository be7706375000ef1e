"""House-keeping: what a study takes on disk, and which of it may go."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from tachograph.execution.attempt import RUN
from tachograph.files import read_json
from tachograph.models import Program, Trainer
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.planning import PlannedRun
from tachograph.study.state import Attempt, StudyState, read_state


@dataclass(frozen=True)
class Prunable:
    """A sealed file that may go: ``name`` is relative to the folder of its attempt."""

    attempt: Attempt
    name: str
    path: Path
    bytes: int


def prunable(
    folder: StudyFolder, trainer: Program, planned: list[PlannedRun], state: StudyState, at_least: int
) -> list[Prunable]:
    """Files of ``at_least`` bytes of attempts that no record, no counted attempt and no published target speaks of.

    An attempt's run.json and its result stay in any case: they say what it was. Raises TachographError if a record
    cannot be read, for then nobody knows what it speaks of.
    """
    kept = _spoken_of(folder, planned, state)
    found = []
    for key, tries in state.attempts.items():
        for attempt in tries:
            if (key, attempt.number) in kept or attempt.status is None:
                continue
            place = folder.path / attempt.folder
            for name in sorted(attempt.files.keys() - {RUN, _result(place, attempt, trainer, planned)}):
                path = place / name
                if path.is_file() and not path.is_symlink() and path.stat().st_size >= at_least:
                    found.append(Prunable(attempt, name, path, path.stat().st_size))
    return found


def prune(folder: StudyFolder, files: list[Prunable]) -> None:
    """Put each file on the ledger, then remove it."""
    for key, number in dict.fromkeys((one.attempt.key, one.attempt.number) for one in files):
        mine = [one for one in files if (one.attempt.key, one.attempt.number) == (key, number)]
        Ledger(folder.ledger).append("pruned", run=key, attempt=number, files={one.name: one.bytes for one in mine})
        for one in mine:
            one.path.unlink()


def disk_use(folder: StudyFolder) -> dict[str, int]:
    """Bytes of ``attempts``, ``records`` and ``targets`` (all else that stands under a final name) of a study."""
    records = _bytes(folder.record) + _bytes(folder.records)
    attempts = _bytes(folder.attempts)
    return {"attempts": attempts, "records": records, "targets": _bytes(folder.path) - attempts - records}


def in_words(number: int) -> str:
    """A number of bytes for people, in units of 1024."""
    size = float(number)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def _spoken_of(folder: StudyFolder, planned: list[PlannedRun], state: StudyState) -> set[tuple[str, int]]:
    """Run and number of every attempt that is counted, published, or listed in a record, standing or set aside."""
    kept = {(run.key, settled.number) for run in planned if (settled := state.settled(run))}
    kept |= {(key, event["attempt"]) for key, event in state.published.items() if key not in state.requested}
    for record in [folder.record, *sorted(folder.records.glob("*"))]:
        if record.is_dir():
            listed = read_state(StudyFolder(record)).attempts
            kept |= {(key, attempt.number) for key, tries in listed.items() for attempt in tries}
    return kept


def _result(place: Path, attempt: Attempt, trainer: Program, planned: list[PlannedRun]) -> str:
    """The name of the file that the attempt was made for."""
    if RUN in attempt.files and (place / RUN).is_file():
        return str(read_json(place / RUN)["result"])
    single = next((run for run in planned if run.key == attempt.key and not run.trains), None)
    if single:
        return Path(single.target).name
    return trainer.history.path_in(place).relative_to(place).as_posix() if isinstance(trainer, Trainer) else ""


def _bytes(folder: Path) -> int:
    return sum(os.lstat(os.path.join(place, name)).st_size for place, _, names in os.walk(folder) for name in names)
