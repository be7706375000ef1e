"""The sealed files of a study, read back: registration, ledger, and the result of every run that counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.evidence.history import History, read_history
from tachograph.execution.attempt import RUN
from tachograph.execution.judging import history_spec
from tachograph.files import PLAIN_PATH, read_json
from tachograph.models import Checker, MachineStudy, Program, Study, Trainer
from tachograph.study.integrity import damage
from tachograph.study.layout import StudyFolder
from tachograph.study.planning import PlannedRun
from tachograph.study.registration import current_study, read_registration
from tachograph.study.state import Attempt, StudyState, read_state


@dataclass(frozen=True)
class SealedRun:
    """A run that counts. ``facts`` is its run.json, ``path`` its result, ``history`` None unless it trains."""

    planned: PlannedRun
    attempt: Attempt
    facts: dict[str, Any]
    path: Path
    history: History | None

    @property
    def wall_seconds(self) -> float:
        """Wall time of the trainer's process, by the monotonic clock."""
        return float(self.facts["outcome"]["ended_monotonic"] - self.facts["outcome"]["started_monotonic"])

    def content(self) -> Any:
        """The result as JSON (profile, component, parity, candidate, cell)."""
        return read_json(self.path)

    def evidence(self, name: str) -> Path:
        """Another file of the attempt, as it was sealed. Raises TachographError if it is not."""
        place = self.path.parent
        if not PLAIN_PATH.fullmatch(name) or name not in self.attempt.files:
            raise TachographError(f"{self.path}: found the file {name!r}, expected one that the ledger has sealed")
        _check(place / name, self.attempt.files[name])
        return place / name


@dataclass(frozen=True)
class Sealed:
    """What an analysis may look at of any study. ``runs`` holds the counted runs by key, in registered order."""

    folder: StudyFolder
    registration: dict[str, Any]
    planned: list[PlannedRun]
    state: StudyState
    machine: dict[str, Any]
    runs: dict[str, SealedRun]

    def of_role(self, *roles: str) -> list[SealedRun]:
        """Counted runs of these roles, in registered order."""
        return [run for run in self.runs.values() if run.planned.role in roles]


@dataclass(frozen=True)
class SealedMachine(Sealed):
    """The sealed files of a machine study."""

    study: MachineStudy
    checker: Checker

    @property
    def program(self) -> Program:
        """What the study starts."""
        return self.checker


@dataclass(frozen=True)
class SealedStudy(Sealed):
    """The sealed files of a throughput study."""

    study: Study
    trainer: Trainer

    @property
    def program(self) -> Program:
        """What the study starts."""
        return self.trainer

    def of_arm(self, arm: str) -> list[SealedRun]:
        """Counted runs of the blocks (no baseline, burn-in or repeat) of one arm, in registered order."""
        return [run for run in self.of_role("run") if run.planned.arm == arm]

    @property
    def other_arms(self) -> list[str]:
        """All arms but the reference."""
        return [arm for arm in self.study.arms if arm != self.study.design.reference]


def read_sealed(folder: StudyFolder) -> SealedStudy | SealedMachine:
    """Read a study's folder, or a record, which has the same layout.

    Raises TachographError, naming the file, if one is missing or is not what the ledger says was sealed.
    """
    registration = read_registration(folder)
    if registration is None:
        raise TachographError(f"{folder.sealed_registration}: the file is not there; the study is not registered")
    state = read_state(folder)
    registered = state.last("registered", "amended")
    if registered is None:
        raise TachographError(f"{folder.ledger}: it tells of no registration")
    _check(folder.sealed_registration, registered["file_sha256"])
    study, trainer, planned = current_study(registration)
    runs = {}
    for run in planned:
        attempt = state.counted(run)
        if attempt:
            runs[run.key] = _read_run(run, attempt, folder, trainer)
    machine = read_json(folder.machine)
    if isinstance(study, MachineStudy):
        assert isinstance(trainer, Checker)
        return SealedMachine(folder, registration, planned, state, machine, runs, study, trainer)
    assert isinstance(trainer, Trainer)
    return SealedStudy(folder, registration, planned, state, machine, runs, study, trainer)


def intact(folder: StudyFolder, attempt: Attempt) -> bool:
    """Whether what an attempt recorded, its run.json and its result, is still as it was sealed."""
    place = folder.path / attempt.folder
    if RUN not in attempt.files:
        return True  # it was killed before it could record anything
    if damage(place / RUN, attempt.files[RUN], whole=True):
        return False
    result = read_json(place / RUN)["result"]
    return result not in attempt.files or not damage(place / result, attempt.files[result], whole=True)


def with_first_attempts(sealed: SealedStudy) -> SealedStudy | None:
    """The study as it would be had nothing been discarded: the first valid attempt of each run, by the same plan.

    None if those are the attempts that count anyway, or if one that was discarded is no longer as it was sealed
    (which is among the deviations).
    """
    first = {}
    for run in sealed.planned:
        tries = sealed.state.attempts.get(run.key, [])
        attempt = next((one for one in tries if one.validity == "valid" and one.identity == run.identity), None)
        if attempt:
            first[run.key] = (run, attempt)
    if all(key in sealed.runs and sealed.runs[key].attempt is attempt for key, (_, attempt) in first.items()):
        return None
    if not all(intact(sealed.folder, attempt) for _, attempt in first.values()):
        return None
    runs = {key: _read_run(run, attempt, sealed.folder, sealed.trainer) for key, (run, attempt) in first.items()}
    return replace(sealed, runs=runs)


def check_published(sealed: Sealed) -> None:
    """Raise TachographError if a published target is not the copy of the attempt that counts."""
    for key, run in sealed.runs.items():
        for target, file in ((run.planned.target, run.facts["result"]), (run.planned.run_file, RUN)):
            path = sealed.folder.path / target
            wrong = damage(path, run.attempt.files[file], whole=True)
            if wrong:
                raise TachographError(f"{path}: {wrong}; the way on: tachograph restore {run.planned.study} ({key})")


def _read_run(planned: PlannedRun, attempt: Attempt, folder: StudyFolder, trainer: Program) -> SealedRun:
    place = folder.path / attempt.folder
    _refuse_escape(folder, attempt.folder)
    _check(place / RUN, attempt.files[RUN])
    facts = read_json(place / RUN)
    result = facts["result"]
    if result not in attempt.files or facts["files"].get(result) != attempt.files[result]:
        raise TachographError(f"{place / RUN}: it names another SHA-256 for {result} than the ledger; they are no pair")
    _refuse_escape(folder, result)
    path = place / result
    _check(path, attempt.files[result])
    history = None
    if isinstance(trainer, Trainer) and planned.trains:
        history = read_history(path, history_spec(trainer.history))
    return SealedRun(planned, attempt, facts, path, history)


def _refuse_escape(folder: StudyFolder, name: str) -> None:
    """A record comes from anywhere: its paths must stay inside of it."""
    if not PLAIN_PATH.fullmatch(name):
        raise TachographError(f"{folder.ledger}: found the path {name!r}, expected a plain one inside of the study")


def _check(path: Path, expected: str) -> None:
    wrong = damage(path, expected, whole=True)
    if wrong:
        raise TachographError(f"{path}: {wrong}")
