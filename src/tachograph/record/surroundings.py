"""What stood around a study when its record was made: workflow files, schemas, study and trainer file.

They are copied into the record so that it explains itself. They are no content of it: an edit of them alone makes no
new record.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Protocol

from tachograph.errors import TachographError
from tachograph.files import sha256_file
from tachograph.record.exports.cratetools import WORKFLOW
from tachograph.study.loading import load_study

FOLDERS = ("workflow", "schemas", "registration")
OF_THE_WORKFLOW = ("Snakefile", "workflow/rules/*.smk", "profiles/default/config.yaml", "envs/requirements.txt")
SCHEMAS = "workflow/schemas/*.json"


class Named(Protocol):
    """A model that was read from the file of its name."""

    name: str


def copy_surroundings(place: Path, repository: Path, config: Path, study: Named, program: Named) -> dict[str, str]:
    """Copy the files into ``place``, instead of those that are there; ``path -> SHA-256`` of the copies.

    ``repository`` holds the Snakefile, ``config`` the configuration with the study file and that of its trainer (or
    other program). These two are copied only if they still say what is registered. Raises TachographError if there is
    no Snakefile.
    """
    copies = {
        f"workflow/{path.relative_to(repository).as_posix().removeprefix('workflow/')}": path
        for pattern in OF_THE_WORKFLOW
        for path in repository.glob(pattern)
    }
    if WORKFLOW not in copies:
        raise TachographError(f"{repository / 'Snakefile'}: the file is not there, the record needs a copy of it")
    copies |= {f"schemas/{path.name}": path for path in repository.glob(SCHEMAS)}
    if (config / "config.yaml").is_file():
        copies["workflow/config/config.yaml"] = config / "config.yaml"
    if _still_registered(config, study, program):
        kind = type(program).__name__.lower()  # its file stands in the folder called by the plural
        copies["registration/study.toml"] = config / "studies" / f"{study.name}.toml"
        copies[f"registration/{kind}.toml"] = config / f"{kind}s" / f"{program.name}.toml"
    _clear(place)
    for name, source in copies.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, place / name)
    return {name: sha256_file(place / name) for name in sorted(copies)}


def keep_surroundings(place: Path, record: Path) -> None:
    """The files as they stand in another record, instead of those that are in ``place``."""
    _clear(place)
    for name in FOLDERS:
        if (record / name).is_dir():
            shutil.copytree(record / name, place / name)


def _clear(place: Path) -> None:
    for name in FOLDERS:
        if (place / name).exists():
            shutil.rmtree(place / name)


def _still_registered(config: Path, study: Named, program: Named) -> bool:
    try:
        return load_study(config, study.name) == (study, program)
    except TachographError:
        return False  # somebody is at work on it; the registration holds what was frozen
