"""A study frozen or amended, and its attempts judged by what the trainer file says now of the files that were kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.evidence.gates import EXIT_STATUS
from tachograph.execution.attempt import RUN
from tachograph.execution.judging import Judgement, judge
from tachograph.execution.publishing import publish
from tachograph.files import read_json
from tachograph.models import Program, Trainer
from tachograph.study.integrity import damage
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.opening import OpenedStudy
from tachograph.study.planning import PlannedRun
from tachograph.study.registration import AUTOMATIC, register
from tachograph.study.seal import stray
from tachograph.study.state import Attempt, read_state


@dataclass(frozen=True)
class JudgedAnew:
    """An attempt that is judged otherwise than it was."""

    attempt: Attempt
    now: Judgement


def register_and_judge(one: OpenedStudy, root: Path, reason: str = AUTOMATIC) -> tuple[str, list[JudgedAnew]]:
    """Freeze the study, or amend the frozen one: the digest that holds now, and what is judged otherwise by it.

    Judging comes first, so that a description that cannot read a standing result amends nothing. A program that is
    killed between the two leaves a register rule that runs again. Raises TachographError.
    """
    changed = _judge_anew(one.folder, one.trainer, one.planned)
    sha = register(one.folder, one.study, one.trainer, one.planned, read_state(one.folder), root, reason)
    _put_on_ledger(one.folder, changed, one.planned)
    return sha, changed


def _judge_anew(folder: StudyFolder, trainer: Program, planned: Sequence[PlannedRun]) -> list[JudgedAnew]:
    """Judge every finished training attempt by the current description of its history; returns what changed.

    How a history is read determines no run, so correcting it in the trainer file costs no device time: an attempt
    that could not be read may count now, and one that counted may fail a gate. Nothing is written, and an attempt that
    is not as it was sealed is left as it is. Raises TachographError for a result that could no longer be read.
    """
    if not isinstance(trainer, Trainer):
        return []
    state = read_state(folder)
    found = []
    for run in planned:
        for attempt in state.attempts.get(run.key, []):
            if run.trains and attempt.identity == run.identity and attempt.status == "finished":
                now = None if attempt.discarded else _judged(folder, run, attempt, trainer)
                if now is None or (now.validity, now.gate) == (attempt.validity, attempt.gate):
                    continue
                if now.validity != "valid" and now.gate is None:
                    if attempt.gate == EXIT_STATUS:
                        continue  # somebody has settled that it failed
                    raise TachographError(
                        f"trainer {trainer.name}: as it is described now, a result that stands cannot be read: "
                        f"{now.reason}; correct the description, or discard {run.key} first"
                    )
                found.append(JudgedAnew(attempt, now))
    return found


def _put_on_ledger(folder: StudyFolder, changed: Sequence[JudgedAnew], planned: Sequence[PlannedRun]) -> None:
    """A line for each attempt that is judged otherwise, and the targets of the attempts that stand now."""
    for one in changed:
        Ledger(folder.ledger).append(
            "judged",
            run=one.attempt.key,
            attempt=one.attempt.number,
            validity=one.now.validity,
            reason=one.now.reason,
            gate=one.now.gate,
            before={"validity": one.attempt.validity, "reason": one.attempt.reason},
        )
    keys = {one.attempt.key for one in changed}
    state = read_state(folder)
    for run in planned:
        settled, published = state.settled(run), state.published.get(run.key)
        if run.key in keys and settled and published and settled.number != published["attempt"]:
            publish(run, settled, folder)


def _judged(folder: StudyFolder, run: PlannedRun, attempt: Attempt, trainer: Trainer) -> Judgement | None:
    place = folder.path / attempt.folder
    if RUN not in attempt.files or damage(place / RUN, attempt.files[RUN], whole=True) or stray(place):
        return None
    facts = read_json(place / RUN)
    result, ended = facts["result"], facts["outcome"]
    if place / result != trainer.history.path_in(place) or result not in attempt.files:
        return None
    if damage(place / result, attempt.files[result], whole=True):
        return None
    lived = ended["ended_monotonic"] - ended["started_monotonic"]
    return judge(run, trainer, place / result, "finished", None, lived=lived)
