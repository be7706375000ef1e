"""The registration: a study frozen before its first run, and the chain of its amendments."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.files import canonical_json, digest, pretty_json, publish_copy, read_json, sha256_file, write_json
from tachograph.models import AnyStudy, Checker, MachineStudy, Program, Study, Trainer
from tachograph.study.fingerprint import module_folder
from tachograph.study.gitstate import git_state
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger, utc_now
from tachograph.study.planning import PlannedRun
from tachograph.study.state import StudyState

AUTOMATIC = "edited before execution"


def content(study: AnyStudy, trainer: Program, planned: Sequence[PlannedRun]) -> dict[str, Any]:
    """What is frozen: study and trainer file in canonical form, and the planned runs that follow from them."""
    return {
        "study": study.model_dump(mode="json", by_alias=True),
        "trainer": trainer.model_dump(mode="json", by_alias=True),
        "planned": [run.as_dict() for run in planned],
    }


def content_digest(study: AnyStudy, trainer: Program, planned: Sequence[PlannedRun]) -> str:
    """SHA-256 that names this very registration. Comments, order of keys and times of files do not change it."""
    return digest(content(study, trainer, planned))


def read_registration(folder: StudyFolder) -> dict[str, Any] | None:
    """The sealed registration with its amendments, or None before the first execution."""
    return read_json(folder.sealed_registration) if folder.sealed_registration.exists() else None


def unfinished(registration: dict[str, Any], event: dict[str, Any] | None) -> bool:
    """Whether the newest entry of the sealed registration lacks its line in the ledger, and nothing else.

    A program that is killed between the file and the line leaves this behind. ``event`` is the newest line about the
    registration, None if there is none.
    """
    entries = [registration["original"], *registration["amendments"]]
    newest = entries[-1]
    if digest(newest["content"]) != newest["sha256"]:
        return False
    if len(entries) == 1:
        return event is None
    before = {**registration, "amendments": registration["amendments"][:-1]}
    sealed = hashlib.sha256(pretty_json(before).encode()).hexdigest()
    return event is not None and event["file_sha256"] == sealed and newest["previous"] == digest(entries[-2])


def current(registration: dict[str, Any]) -> dict[str, Any]:
    """The content that holds now: that of the last amendment, or the original."""
    entries = [registration["original"], *registration["amendments"]]
    return dict(entries[-1])


def current_study(registration: dict[str, Any]) -> tuple[AnyStudy, Program, list[PlannedRun]]:
    """The registered study, its trainer (or checker) and planned runs as typed objects."""
    held = current(registration)["content"]
    planned = [PlannedRun.from_dict(run) for run in held["planned"]]
    study, program = canonical_json(held["study"]), canonical_json(held["trainer"])
    if held["study"]["schema"] == "machine/1":
        return MachineStudy.model_validate_json(study), Checker.model_validate_json(program), planned
    return Study.model_validate_json(study), Trainer.model_validate_json(program), planned


def differences(before: Any, after: Any, place: str = "") -> list[dict[str, Any]]:
    """Keys whose values differ, as ``{"key", "before", "after"}``; lists are compared whole."""
    if isinstance(before, dict) and isinstance(after, dict):
        found = []
        for key in sorted(before.keys() | after.keys()):
            inner = f"{place}.{key}" if place else key
            found += differences(before.get(key), after.get(key), inner)
        return found
    return [] if before == after else [{"key": place, "before": before, "after": after}]


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, Any]]:
    """What differs between two contents, in the words of the files a person edits."""
    found = differences(before["study"], after["study"], "study") + differences(
        before["trainer"], after["trainer"], "trainer"
    )
    for name in ("code", "device_kind"):
        old = {run[name] for run in before["planned"]}
        new = {run[name] for run in after["planned"]}
        if old != new:
            label = "the trainer's code" if name == "code" else "the kind of device"
            found.append({"key": label, "before": sorted(old), "after": sorted(new)})
    return found


def edited_since(
    registration: dict[str, Any], study: AnyStudy, trainer: Program, planned: Sequence[PlannedRun]
) -> str | None:
    """In which keys a study differs from what is registered, in a row; None where it is as registered."""
    held = current(registration)
    if held["sha256"] == content_digest(study, trainer, planned):
        return None
    found = changes(held["content"], content(study, trainer, planned))
    return ", ".join(change["key"] for change in found) or "how its runs are planned"


def needs_reason(registration: dict[str, Any], state: StudyState) -> bool:
    """Whether only ``tachograph amend`` may change the study: it is confirmatory, and runs are finished."""
    kind = current(registration)["content"]["study"]["registration"]["kind"]
    return bool(kind == "confirmatory" and state.any_finished)


def refuse_silent_change(
    folder: StudyFolder, study: AnyStudy, trainer: Program, planned: Sequence[PlannedRun], state: StudyState
) -> None:
    """Stop before any job if a confirmatory study with a finished run was changed (run-lifecycle.md).

    Exploratory studies, and confirmatory ones without a finished run, are amended by the register rule instead.
    Raises TachographError naming the differing keys and the ways on.
    """
    registration = read_registration(folder)
    if registration is None or not needs_reason(registration, state):
        return
    keys = edited_since(registration, study, trainer, planned)
    if keys is None:
        return
    raise TachographError(
        f"study {study.name}: it is confirmatory, runs are finished, and this differs from the registration: {keys}; "
        f'restore it, or put the change on record with: tachograph amend {study.name} --reason "…"'
    )


def register(
    folder: StudyFolder,
    study: AnyStudy,
    trainer: Program,
    planned: Sequence[PlannedRun],
    state: StudyState,
    root: Path,
    reason: str = AUTOMATIC,
) -> str:
    """Freeze the study, or amend the frozen one if it changed; returns the digest that holds now.

    The sealed file lies in ``ledger/``, which Snakemake does not touch; ``registration.json`` is its copy.
    """
    now = content(study, trainer, planned)
    sha = digest(now)
    registration = read_registration(folder)
    if registration is not None and unfinished(registration, state.last("registered", "amended")):
        _tell(folder, registration)
    if registration is not None and current(registration)["sha256"] == sha:
        publish_copy(folder.sealed_registration, folder.registration)
        return sha
    entry: dict[str, Any] = {
        "content": now,
        "sha256": sha,
        "at": utc_now(),
        "git": _git_states(trainer, root),
        "results_known": state.any_finished,
    }
    if registration is None:
        registration = {"schema": "registration/1", "study": study.name, "original": entry, "amendments": []}
    else:
        held = current(registration)
        entry["previous"] = digest(held)
        entry["changes"] = changes(held["content"], now)
        entry["reason"] = reason
        registration["amendments"].append(entry)
    write_json(folder.sealed_registration, registration)
    _tell(folder, registration)
    publish_copy(folder.sealed_registration, folder.registration)
    return sha


def _tell(folder: StudyFolder, registration: dict[str, Any]) -> None:
    """The ledger's line about the newest entry of the sealed registration."""
    newest = current(registration)
    Ledger(folder.ledger).append(
        "amended" if registration["amendments"] else "registered",
        sha256=newest["sha256"],
        file_sha256=sha256_file(folder.sealed_registration),
        results_known=newest["results_known"],
        reason=newest.get("reason"),
    )


def _git_states(trainer: Program, root: Path) -> dict[str, Any]:
    """Git state of the workflow, and of the trainer's repository where it is another one."""
    workflow = git_state(root)
    places = [place for module in trainer.code.modules if (place := module_folder(module))]
    places += [root / path for path in trainer.code.paths]
    trainer_state = git_state(places[0] if places[0].is_dir() else places[0].parent) if places else workflow
    return {"workflow": workflow, "trainer": trainer_state}
