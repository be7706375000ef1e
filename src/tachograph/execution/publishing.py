"""Publication: copies of a sealed attempt under the final names of its run."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from tachograph.errors import TachographError
from tachograph.execution.attempt import RUN
from tachograph.files import EMPTY_SHA256, publish_copy, read_json, sha256_file, write_text
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.planning import PlannedRun
from tachograph.study.registration import current_study, read_registration
from tachograph.study.state import Attempt, read_state


class OutdatedError(TachographError):
    """The attempt no longer stands for what is registered: a job came too late."""

    exit_code = 1


def publish(planned: PlannedRun, attempt: Attempt, folder: StudyFolder) -> None:
    """Copy the result and then run.json to the target, each by rename; a reader accepts only a pair that fits.

    One job at a time, and only the attempt that stands for the registered plan at this very moment: a job whose
    Snakemake is long dead cannot publish over what was made or decided since. Raises :class:`OutdatedError` then,
    and TachographError for a sealed file that was altered.
    """
    with _one_at_a_time(folder):
        registration = read_registration(folder)
        registered = current_study(registration)[2] if registration else []
        state = read_state(folder)
        settled = state.settled(planned)
        if planned.identity not in {run.identity for run in registered if run.key == planned.key}:
            raise OutdatedError(
                f"{planned.study}: {planned.key} is registered with another plan since; attempt {attempt.number} is "
                "kept and not published"
            )
        if settled is None or settled.number != attempt.number:
            raise OutdatedError(
                f"{planned.study}: attempt {attempt.number} at {planned.key} was discarded meanwhile; it is kept and "
                "not published"
            )
        place = folder.path / attempt.folder
        for file, sha in attempt.files.items():
            if file not in attempt.pruned and sha256_file(place / file) != sha:
                raise TachographError(f"{place / file}: it was altered after the run ended, expected SHA-256 {sha}")
        result = read_json(place / RUN)["result"]
        if result in attempt.files:
            publish_copy(place / result, folder.path / planned.target)
        else:  # the program failed before it wrote anything, and was left at that
            write_text(folder.path / planned.target, "")
        publish_copy(place / RUN, folder.path / planned.run_file)
        Ledger(folder.ledger).append(
            "published",
            run=planned.key,
            attempt=attempt.number,
            files={planned.target: attempt.files.get(result, EMPTY_SHA256), planned.run_file: attempt.files[RUN]},
        )


@contextmanager
def _one_at_a_time(folder: StudyFolder) -> Iterator[None]:
    """Hold the study's lock of publication, for the milliseconds that two copies take."""
    descriptor = os.open(folder.publication_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
