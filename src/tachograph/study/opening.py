"""What the Snakefile needs to know of the configured studies: planned runs, file targets, order.

Imported each time the Snakefile is read, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.host.choice import device_kind
from tachograph.models import Configuration, Study, Trainer
from tachograph.models.base import ID_PATTERN
from tachograph.study.fingerprint import code_fingerprint
from tachograph.study.integrity import refuse_damage, refuse_links
from tachograph.study.layout import StudyFolder
from tachograph.study.loading import load_configuration, load_study, refuse_shared_registration
from tachograph.study.planning import BAND, IDENTITY_CHARACTERS, PlannedRun, plan_study
from tachograph.study.registration import content_digest, refuse_silent_change
from tachograph.study.state import read_state

CONFIG = Path("config")
RESULTS = Path("results")
ROLE_FOLDERS = {"runs": "run", "preflight": "preflight", "baseline": "baseline", "burnin": "burnin", "aa": "aa"}
RUN_TARGET = re.compile(
    rf"results/(?P<study>[^/]+)/(?P<folder>{'|'.join(ROLE_FOLDERS)})/((?P<arm>[^/]+)/)?seed(?P<seed>[^/]+)/[^/]+"
)


@dataclass(frozen=True)
class OpenedStudy:
    """A configured study with its planned runs. ``rank`` is its place in the configuration, from 0."""

    study: Study
    trainer: Trainer
    planned: list[PlannedRun]
    folder: StudyFolder
    rank: int
    digest: str

    def find(self, role: str, arm: str, seed: str | int) -> PlannedRun:
        """The planned run with these names. Raises TachographError naming those that are planned."""
        for run in self.planned:
            if (run.role, run.arm, str(run.seed)) == (role, arm, str(seed)):
                return run
        known = ", ".join(f"{r.arm} seed {r.seed}" for r in self.planned if r.role == role) or "none"
        raise TachographError(
            f"study {self.study.name}: found arm {arm!r} with seed {seed} ({role}), expected one of: {known}"
        )

    def priority(self, run: PlannedRun) -> int:
        """Higher runs first: studies in configured order, within a study the registered order."""
        return BAND * (1000 - self.rank) - run.position

    @property
    def registered_file(self) -> str:
        """The file that says that this very version of the study is registered."""
        return str(self.folder.plan / f"study.{self.digest[:IDENTITY_CHARACTERS]}.json")

    def files(self, *roles: str) -> list[str]:
        """Targets and run.json of all planned runs of these roles (all roles if none is named)."""
        chosen = [run for run in self.planned if not roles or run.role in roles]
        return [str(self.folder.path / name) for run in chosen for name in (run.target, run.run_file)]

    def plan_files(self) -> list[str]:
        return [str(self.folder.path / run.plan_file) for run in self.planned]


def refuse_unplanned(studies: Mapping[str, OpenedStudy], targets: Iterable[str]) -> None:
    """Raise TachographError for a target that looks like a run of a study and is none of its planned ones.

    Snakemake would print its own traceback around the sentence of an input function.
    """
    for target in targets:
        match = RUN_TARGET.fullmatch(os.path.normpath(target))
        one = studies.get(match["study"]) if match else None
        if match and one and os.path.normpath(target) not in one.files():
            role = ROLE_FOLDERS[match["folder"]]
            arm = match["arm"] or next((run.arm for run in one.planned if run.role == role), "")
            one.find(role, arm, match["seed"])  # says which ones are planned


def study_folder(name: str) -> StudyFolder:
    """The folder of the study called ``name``. Raises TachographError for what is no name, such as a path."""
    if not re.fullmatch(ID_PATTERN, name):
        raise TachographError(f"found {name!r}, expected the name of a study: letters, digits, '_' or '-', at most 64")
    return StudyFolder(RESULTS / name)


def check_platform() -> None:
    """Raise TachographError anywhere but on Linux: the lease is built on its locks and on /proc."""
    if not sys.platform.startswith("linux"):
        raise TachographError(f"this platform is {sys.platform}, expected Linux: the lease uses its locks and /proc")


def open_study(name: str, configuration: Configuration, root: Path, rank: int = 0) -> OpenedStudy:
    """Read one study and plan it. Raises TachographError with one sentence about what is wrong."""
    study, trainer = load_study(CONFIG, name)
    refuse_shared_registration(CONFIG, study)
    file = str(CONFIG / "trainers" / f"{trainer.name}.toml")
    kind = device_kind(study.device, configuration.device)
    planned = plan_study(study, trainer, kind, code_fingerprint(trainer.code, root, file))
    folder = study_folder(name)
    return OpenedStudy(study, trainer, planned, folder, rank, content_digest(study, trainer, planned))


def open_studies(config: Mapping[str, Any], root: Path) -> tuple[Configuration, dict[str, OpenedStudy]]:
    """All configured studies, checked: files valid, sealed results as they were, no silent change."""
    check_platform()
    configuration = load_configuration(config)
    opened = {}
    for rank, name in enumerate(configuration.studies):
        if name in opened:
            raise TachographError(f"config/config.yaml: studies: found {name!r} twice, expected each study once")
        one = open_study(name, configuration, root, rank)
        state = read_state(one.folder)
        refuse_damage(one.folder, state)
        refuse_links(one.folder)
        refuse_silent_change(one.folder, one.study, one.trainer, one.planned, state)
        opened[name] = one
    return configuration, opened
