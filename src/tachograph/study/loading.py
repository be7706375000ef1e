"""Study, trainer and configuration files read from disk, with errors a person can act on."""

from __future__ import annotations

import reprlib
import tomllib
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from tachograph.errors import TachographError
from tachograph.files import read_bounded
from tachograph.machine.cells import check_groups, check_names, preflight_cells, study_cells
from tachograph.models import AnyStudy, Checker, Configuration, MachineStudy, Program, Study, Trainer
from tachograph.study.reach import refuse_undecidable
from tachograph.yamlfile import read_yaml

M = TypeVar("M", bound=BaseModel)
MAX_TOML_BYTES = 1024 * 1024
CONFIGURATION_FILE = Path("config/config.yaml")
SHOWN = reprlib.Repr()  # a value in a sentence, however large or deep it is
SHOWN.maxstring = SHOWN.maxother = 200


def _place(location: tuple[int | str, ...]) -> str:
    text = ""
    for part in location:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


def _known_keys(model: type[BaseModel], location: tuple[int | str, ...]) -> list[str]:
    """The keys that the model at ``location`` knows, for the message about an unknown one."""
    schema = model.model_json_schema(by_alias=True)
    node: Any = schema
    for part in location:
        node = _resolve(schema, node)
        if isinstance(part, int):
            node = node.get("items", {})
        else:
            properties = node.get("properties", {})
            node = properties[part] if part in properties else node.get("additionalProperties", {})
    return sorted(_resolve(schema, node).get("properties", {}))


def _resolve(schema: dict[str, Any], node: Any) -> dict[str, Any]:
    while isinstance(node, dict):
        if "$ref" in node:
            node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
        elif "anyOf" in node:
            objects = [option for option in node["anyOf"] if option.get("type") != "null"]
            node = objects[0] if objects else {}
        else:
            return node
    return {}


def _sentence(file: str, error: ValidationError, model: type[BaseModel]) -> str:
    """The first error of a validation, as one sentence with file, place, found and expected."""
    errors = error.errors(include_url=False)
    first = next((one for one in errors if one["type"] == "extra_forbidden"), errors[0])  # a typo explains the rest
    location = first["loc"]
    place = _place(location) or "the whole file"
    kind = first["type"]
    more = error.error_count() - 1
    also = f" (and {more} more)" if more else ""
    if kind == "extra_forbidden":
        known = ", ".join(_known_keys(model, location[:-1])) or "none"
        return f"{file}: {place}: unknown key, expected one of: {known}{also}"
    if kind == "missing":
        return f"{file}: {place}: the key is missing{also}"
    message = first["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return f"{file}: {place}: {message}{also}" if location else f"{file}: {message}{also}"
    return f"{file}: {place}: found {SHOWN.repr(first['input'])}, expected: {message}{also}"


def validate(model: type[M], value: Any, file: str) -> M:
    """``value`` as a ``model``; TachographError with one sentence about ``file`` if it does not fit."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise TachographError(_sentence(file, error, model)) from None


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dictionary. Raises TachographError if it is missing, too large or not TOML."""
    try:
        return tomllib.loads(read_bounded(path, MAX_TOML_BYTES).decode())
    except FileNotFoundError:
        raise TachographError(f"{path}: the file is not there") from None
    except RecursionError:
        raise TachographError(f"{path}: cannot be read as TOML: nested too deeply") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise TachographError(f"{path}: cannot be read as TOML: {error}") from None


def load_trainer(folder: Path, name: str) -> Trainer:
    """``folder``/trainers/``name``.toml, checked."""
    return _load_named(Trainer, folder / "trainers" / f"{name}.toml")


def load_checker(folder: Path, name: str) -> Checker:
    """``folder``/checkers/``name``.toml, checked."""
    return _load_named(Checker, folder / "checkers" / f"{name}.toml")


N = TypeVar("N", Trainer, Checker, Study, MachineStudy)


def _load_named(model: type[N], path: Path) -> N:
    found = validate(model, read_toml(path), str(path))
    if found.name != path.stem:
        raise TachographError(f"{path}: name: found {found.name!r}, expected {path.stem!r} as the file is called")
    return found


def load_study(folder: Path, name: str) -> tuple[AnyStudy, Program]:
    """``folder``/studies/``name``.toml and the program that it names, both checked, also against each other.

    A confirmatory study is checked for what its design can decide. Raises TachographError.
    """
    path = folder / "studies" / f"{name}.toml"
    if not path.exists():
        have = ", ".join(sorted(p.stem for p in path.parent.glob("*.toml"))) or "none"
        raise TachographError(f"{path}: the study file is not there; studies there are: {have}")
    if read_toml(path).get("schema") == "machine/1":
        machine = _load_named(MachineStudy, path)
        checker = load_checker(folder, machine.checker)
        check_groups(machine.cells, checker, str(path))
        check_names(study_cells(machine, checker), str(path))
        return machine, checker
    study = _load_named(Study, path)
    trainer = load_trainer(folder, study.trainer)
    _check_settings(study, trainer, path)
    _check_parts(study, trainer, path)
    if study.machine is not None:
        check_groups(study.machine.cells, load_checker(folder, study.machine.checker), f"{path}: machine")
        check_names(preflight_cells(study.machine), f"{path}: machine")
    refuse_undecidable(study, str(path))
    return study, trainer


def _check_settings(study: Study, trainer: Trainer, path: Path) -> None:
    places = [("settings", study.settings)]
    places += [(f"arms.{name}.settings", arm.settings) for name, arm in study.arms.items()]
    places += [(f"candidates.{name}.settings", one.settings) for name, one in study.candidates.items()]
    for place, settings in places:
        for key, value in settings.items():
            if key not in trainer.settings:
                known = ", ".join(sorted(trainer.settings)) or "none"
                raise TachographError(f"{path}: {place}.{key}: unknown setting, trainer {trainer.name} has: {known}")
            wrong = trainer.settings[key].check(value)
            if wrong:
                raise TachographError(f"{path}: {place}.{key}: {wrong}")
    for name, arm in study.arms.items():
        for key, setting in trainer.settings.items():
            if setting.default is None and key not in study.settings and key not in arm.settings:
                raise TachographError(f"{path}: arm {name}: setting {key!r} is missing and has no default")


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
    quantities = ["iteration", "stage", *(phase.name for phase in trainer.history.phases)]
    for name, one in study.candidates.items():
        if one.quantity is not None and one.quantity not in quantities:
            raise TachographError(
                f"{path}: candidates.{name}.quantity: found {one.quantity!r}, expected one of: {', '.join(quantities)}"
            )
    for metric in study.curves:
        columns = [*trainer.history.metrics, *trainer.history.sparse_metrics]
        if metric.column not in columns:
            known = ", ".join(columns)
            raise TachographError(f"{path}: curves: found column {metric.column!r}, expected one of: {known}")


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
