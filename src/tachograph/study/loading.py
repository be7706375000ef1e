"""Study, trainer and configuration files read from disk, with errors a person can act on."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tachograph.errors import TachographError
from tachograph.machine.cells import check_arms, check_formats, check_groups, check_names, preflight_cells, study_cells
from tachograph.models import AnyStudy, Checker, Configuration, MachineStudy, Program, Study, Trainer
from tachograph.models.base import Scalar
from tachograph.models.sentences import meant, sentence
from tachograph.models.trainer import HistoryFile, unknown_placeholder
from tachograph.study.planning import FILLED_LAST
from tachograph.study.reach import refuse_undecidable
from tachograph.study.timers import check_timers
from tachograph.tomlfile import read_toml
from tachograph.yamlfile import read_yaml

M = TypeVar("M", bound=BaseModel)
SCHEMAS = ("study/1", "machine/1")
CONFIGURATION_FILE = Path("config/config.yaml")


def validate(model: type[M], value: Any, file: str) -> M:
    """``value`` as a ``model``; TachographError with one sentence about ``file`` if it does not fit."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise TachographError(sentence(file, error, model, value)) from None


def load_trainer(folder: Path, name: str) -> Trainer:
    """``folder``/trainers/``name``.toml, checked."""
    path = folder / "trainers" / f"{name}.toml"
    trainer = _load_named(Trainer, path)
    check_timers(trainer.history, str(path))
    return trainer


def load_checker(folder: Path, name: str) -> Checker:
    """``folder``/checkers/``name``.toml, checked."""
    return _load_named(Checker, folder / "checkers" / f"{name}.toml")


N = TypeVar("N", Trainer, Checker, Study, MachineStudy)


def _load_named(model: type[N], path: Path) -> N:
    found = validate(model, read_toml(path), str(path))
    if found.name != path.stem:
        raise TachographError(f"{path}: name: found {found.name!r}, expected {path.stem!r} as the file is called")
    return found


def study_names(folder: Path) -> list[str]:
    """The studies that have a file in ``folder``/studies."""
    return sorted(path.stem for path in (folder / "studies").glob("*.toml"))


def load_study(folder: Path, name: str) -> tuple[AnyStudy, Program]:
    """``folder``/studies/``name``.toml and the program that it names, both checked, also against each other.

    A confirmatory study is checked for what its design can decide. Raises TachographError.
    """
    path = folder / "studies" / f"{name}.toml"
    if not path.exists():
        have = study_names(folder)
        known = f"{', '.join(have) or 'none'}{meant(name, have)}"
        raise TachographError(f"{path}: the study file is not there; studies there are: {known}")
    schema = read_toml(path).get("schema")
    if schema not in SCHEMAS:
        found = "the key is missing" if schema is None else f"found {str(schema)[:60]!r}"
        raise TachographError(f"{path}: schema: {found}, expected one of: {', '.join(SCHEMAS)}")
    if schema == "machine/1":
        machine = _load_named(MachineStudy, path)
        checker = load_checker(folder, machine.checker)
        check_groups(machine.cells, checker, str(path))
        check_formats(machine.named_formats(), checker, str(path))
        check_arms(machine, checker, str(path))
        check_names(study_cells(machine, checker), str(path))
        return machine, checker
    study = _load_named(Study, path)
    trainer = load_trainer(folder, study.trainer)
    _check_settings(study, trainer, path)
    _check_placeholders(study, trainer, path)
    _check_parts(study, trainer, path)
    if study.machine is not None:
        preflight_checker = load_checker(folder, study.machine.checker)
        check_groups(study.machine.cells, preflight_checker, f"{path}: machine")
        check_formats(study.machine.bounds.named_formats(), preflight_checker, f"{path}: machine")
        check_names(preflight_cells(study.machine), f"{path}: machine")
    refuse_undecidable(study, str(path))
    return study, trainer


def _check_settings(study: Study, trainer: Trainer, path: Path) -> None:
    for place, settings in _given_settings(study):
        for key, value in settings.items():
            if key not in trainer.settings:
                known = f"{', '.join(sorted(trainer.settings)) or 'none'}{meant(key, trainer.settings)}"
                raise TachographError(f"{path}: {place}.{key}: unknown setting, trainer {trainer.name} has: {known}")
            wrong = trainer.settings[key].check(value)
            if wrong:
                raise TachographError(f"{path}: {place}.{key}: {wrong}")
    for name, arm in study.arms.items():
        for key, setting in trainer.settings.items():
            if setting.default is None and key not in study.settings and key not in arm.settings:
                raise TachographError(f"{path}: arm {name}: setting {key!r} is missing and has no default")


def _check_placeholders(study: Study, trainer: Trainer, path: Path) -> None:
    """What is in braces in the words that a study adds to commands must mean something there.

    A setting's value is filled only with what is decided when a run starts.
    """
    known = trainer.placeholders("command")
    for place, words in _added_words(study):
        for index, word in enumerate(words):
            wrong = unknown_placeholder(word, known)
            if wrong:
                raise TachographError(f"{path}: {place}[{index}]: {wrong}")
    for place, settings in _given_settings(study):
        for key, value in settings.items():
            wrong = unknown_placeholder(str(value), FILLED_LAST)
            if wrong:
                raise TachographError(f"{path}: {place}.{key}: {wrong}")


def _added_words(study: Study) -> Iterator[tuple[str, list[str]]]:
    for name, arm in study.arms.items():
        yield f"arms.{name}.arguments", arm.arguments
    for index, check in enumerate(study.smoke):
        yield f"smoke[{index}].like.arguments", check.like.arguments
    for name, one in study.candidates.items():
        yield f"candidates.{name}.arguments", one.arguments
        yield f"candidates.{name}.shared_arguments", one.shared_arguments


def _given_settings(study: Study) -> Iterator[tuple[str, dict[str, Scalar]]]:
    yield "settings", study.settings
    for name, arm in study.arms.items():
        yield f"arms.{name}.settings", arm.settings
    for index, check in enumerate(study.smoke):
        yield f"smoke[{index}].like.settings", check.like.settings
    for name, one in study.candidates.items():
        yield f"candidates.{name}.settings", one.settings


def _check_parts(study: Study, trainer: Trainer, path: Path) -> None:
    for part, wanted, command in (
        ("profile", study.profile is not None, trainer.profile),
        ("component", study.component, trainer.component),
        ("sweep", study.sweep is not None, trainer.sweep),
        ("parity", study.parity is not None, trainer.parity),
        ("candidate", any(one.measure == "component" for one in study.candidates.values()), trainer.candidate),
    ):
        if wanted and command is None:
            raise TachographError(f"{path}: {part}: trainer {trainer.name} has no {part} command")
    if study.projection and study.projection.evaluation_every and trainer.history.evaluation is None:
        raise TachographError(f"{path}: projection.evaluation_every: trainer {trainer.name} declares no evaluation")
    for name, one in study.candidates.items():
        _check_quantities(f"{path}: candidates.{name}.quantity", one.quantities, trainer.history)
        if one.parity is not None and not any("{arms}" in part for part in trainer.parity or []):
            raise TachographError(
                f"{path}: candidates.{name}.parity: trainer {trainer.name} has no parity command with {{arms}}"
            )
    for metric in study.curves:
        columns = [*trainer.history.metrics, *trainer.history.sparse_metrics]
        if metric.column not in columns:
            known = f"{', '.join(columns)}{meant(metric.column, columns)}"
            raise TachographError(f"{path}: curves: found column {metric.column!r}, expected one of: {known}")


def _check_quantities(place: str, named: list[str], history: HistoryFile) -> None:
    """A candidate is judged by the iteration, the stage, or phases of which none is part of another."""
    known = ["iteration", "stage", *(phase.name for phase in history.phases)]
    for one in named:
        if one not in known:
            raise TachographError(f"{place}: found {one!r}, expected one of: {', '.join(known)}")
    if len(named) == 1:
        return
    if len(set(named)) < len(named):
        raise TachographError(f"{place}: found {', '.join(named)}, expected each phase once")
    phases = {phase.name: phase for phase in history.phases}
    for one in named:
        if one not in phases:
            raise TachographError(f"{place}: found {one!r} beside others, expected phases of the trainer only")
        if phases[one].parallel or phases[one].parent in named:
            raise TachographError(f"{place}: found {one!r} beside others, whose seconds hold its own; name one of them")


def refuse_shared_registration(folder: Path, study: AnyStudy) -> None:
    """Raise TachographError naming both files if another study file has the registration id of ``study``.

    Two studies under one registration could not be told apart in records. Files that cannot be read are left to the
    day when they are executed.
    """
    own = folder / "studies" / f"{study.name}.toml"
    for path in sorted((folder / "studies").glob("*.toml")):
        if path == own:
            continue
        try:
            registration = read_toml(path).get("registration")
            other = uuid.UUID(registration["id"]) if isinstance(registration, dict) else None
        except (TachographError, KeyError, ValueError, TypeError, AttributeError):
            continue
        if other == uuid.UUID(study.registration.id):
            raise TachographError(
                f"{own}: registration.id: found {study.registration.id}, which is that of {path} too, expected an id "
                "of its own (python -c 'import uuid; print(uuid.uuid4())' makes one)"
            )


def load_configuration(value: Mapping[str, Any], file: str = str(CONFIGURATION_FILE)) -> Configuration:
    """The workflow's configuration, checked; ``file`` is named in errors."""
    return validate(Configuration, dict(value), file)


def merged_configuration(files: Sequence[Path], given: Mapping[str, Any]) -> Configuration:
    """The configuration of ``files``, later ones first in rank, under what the command line gives (``--config``).

    The files are read by :func:`tachograph.yamlfile.read_yaml`. Raises TachographError.
    """
    merged: dict[str, Any] = {}
    for file in files:
        merged |= read_yaml(file)
    names = [str(file) for file in files] + (["--config"] if given else [])
    return load_configuration({**merged, **given}, " with ".join(names) or "--config")
