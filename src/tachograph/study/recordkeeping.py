"""The standing record of a study and the ones that were set aside."""

from __future__ import annotations

from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.state import read_state


def next_record_folder(folder: StudyFolder) -> int:
    """The number under which the standing record would be set aside."""
    if not folder.records.is_dir():
        return 1
    return max((int(p.name) for p in folder.records.iterdir() if p.name.isdecimal()), default=0) + 1


def set_record_aside(folder: StudyFolder, why: str) -> bool:
    """Move the standing ``record/`` whole to ``records/NNN/``, so that nothing stale looks current.

    Its seal stays valid: all its paths are relative. Returns whether any record, standing or set aside, had
    made the numbers of this study known.
    """
    last = read_state(folder).last("record_written", "record_set_aside")
    known = folder.records.is_dir() and any(folder.records.iterdir())
    folder.record_seal.unlink(missing_ok=True)
    folder.outcome.unlink(missing_ok=True)
    if not folder.record.is_dir():
        if last and last["event"] == "record_written":  # somebody removed it; the ledger must not expect it for ever
            Ledger(folder.ledger).append("record_set_aside", folder=None, reason=f"{why}; the record was gone")
            known = True
        return known
    number = next_record_folder(folder)
    folder.records.mkdir(exist_ok=True)
    # The line comes before the move: a program that is killed between the two leaves a record that the next one
    # sets aside or keeps, and none that the ledger misses.
    Ledger(folder.ledger).append("record_set_aside", folder=f"records/{number:03d}", reason=why)
    folder.record.rename(folder.records / f"{number:03d}")
    return True


def discard_attempt(folder: StudyFolder, key: str, attempt: int, reason: str) -> None:
    """Take the attempt that stands for a run out: a line in the ledger, and the standing record set aside.

    Only what has a result can be discarded, so its history lay there to be read: its numbers were known, whoever
    looked. The line says besides whether a record had told them.
    """
    told = set_record_aside(folder, f"{key} is made again: {reason}")
    Ledger(folder.ledger).append(
        "discarded", run=key, attempt=attempt, reason=reason, numbers_known=True, in_record=told
    )
