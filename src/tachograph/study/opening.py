"""What the Snakefile needs to know of the configured studies: planned runs, file targets, order.

Imported each time the Snakefile is read, so it imports nothing heavy.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.host.choice import device_kind
from tachograph.machine.cells import preflight_cells, study_cells
from tachograph.machine.planning import plan_cells, usable_processors
from tachograph.models import AnyStudy, Checker, Configuration, MachineStudy, Program, Study, Trainer
from tachograph.models.base import ID_PATTERN
from tachograph.models.sentences import meant
from tachograph.scripting import CONFIGURATION_VARIABLE
from tachograph.scripting import configuration as told_configuration
from tachograph.study.fingerprint import code_fingerprint
from tachograph.study.integrity import refuse_damage, refuse_links
from tachograph.study.layout import StudyFolder
from tachograph.study.loading import load_checker, load_study, refuse_shared_registration, study_names
from tachograph.study.planning import BAND, IDENTITY_CHARACTERS, DeviceKind, PlannedRun, plan_study
from tachograph.study.programs import refuse_missing_programs
from tachograph.study.registration import content_digest, refuse_silent_change
from tachograph.study.state import read_state

CONFIG = Path("config")
RESULTS = Path("results")
TARGET = re.compile(rf"(?:\./)?{RESULTS}/([^/]+)/.")
OPTIONS_WITH_A_PATH = {"--report", "--archive", "--directory", "-d", "--configfile", "--configfiles", "--shadow-prefix"}
ROLE_FOLDERS = {"runs": "run", "preflight": "preflight", "baseline": "baseline", "burnin": "burnin", "aa": "aa"}
RUN_TARGET = re.compile(
    rf"results/(?P<study>[^/]+)/(?P<folder>{'|'.join(ROLE_FOLDERS)})/((?P<arm>[^/]+)/)?seed(?P<seed>[^/]+)/[^/]+"
)


@dataclass(frozen=True)
class OpenedStudy:
    """A configured study with its planned runs. ``rank`` is its place in the configuration, from 0.

    ``trainer`` is the program that it starts: a machine study has a checker in its place.
    """

    study: AnyStudy
    trainer: Program
    planned: list[PlannedRun]
    folder: StudyFolder
    rank: int
    digest: str

    def find(self, role: str, arm: str, seed: str | int | None) -> PlannedRun:
        """The planned run with these names, of the first seed unless one is named.

        Raises TachographError naming those that are planned.
        """
        for run in self.planned:
            if (run.role, run.arm) == (role, arm) and str(run.seed) == str(run.seed if seed is None else seed):
                return run
        known = ", ".join(f"{r.arm} seed {r.seed}" for r in self.planned if r.role == role) or "none"
        named = f"arm {arm!r}" if seed is None else f"arm {arm!r} with seed {seed}"
        raise TachographError(f"study {self.study.name}: found {named} ({role}), expected one of: {known}")

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


def refuse_unplanned(studies: Mapping[str, OpenedStudy], arguments: Sequence[str]) -> None:
    """Raise TachographError for a target of a study that is not there, or of a run that its study does not plan.

    ``arguments`` is the command line of Snakemake, which knows its targets only later, and would print its own
    traceback around the sentence of an input function.
    """
    for before, target in zip(["", *arguments], arguments, strict=False):
        named = TARGET.match(target)
        if named and named[1] not in studies and before not in OPTIONS_WITH_A_PATH:
            have = study_names(CONFIG)
            known = f"{', '.join(have) or 'none'}{meant(named[1], have)}"
            raise TachographError(f"{target}: found no study {named[1]!r}, expected one of: {known}")
        match = RUN_TARGET.fullmatch(os.path.normpath(target))
        one = studies.get(match["study"]) if match else None
        if match and one and os.path.normpath(target) not in one.files():
            role = ROLE_FOLDERS[match["folder"]]
            arm = match["arm"] or next((run.arm for run in one.planned if run.role == role), "")
            one.find(role, arm, match["seed"])  # says which ones are planned


def is_dry_run(arguments: Sequence[str]) -> bool:
    """Whether the command line of Snakemake asks for a plan only (``-n``, ``-np``, ``--dry-run``)."""
    return any(re.fullmatch(r"--dry-?run|-[A-Za-z]*n[A-Za-z]*", one) for one in arguments)


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
    study, program = load_study(CONFIG, name)
    refuse_shared_registration(CONFIG, study)
    kind = device_kind(study.device, configuration.device)
    if isinstance(program, Checker):
        assert isinstance(study, MachineStudy)
        planned = _plan_machine(study, program, kind, root)
    else:
        assert isinstance(study, Study)
        planned = _plan_training(study, program, kind, root)
    return OpenedStudy(study, program, planned, study_folder(name), rank, content_digest(study, program, planned))


def _plan_machine(study: MachineStudy, checker: Checker, kind: DeviceKind, root: Path) -> list[PlannedRun]:
    file = f"{CONFIG}/checkers/{checker.name}.toml"
    code = code_fingerprint(checker.code, root, file)
    threads = study.threads or usable_processors()
    planned = plan_cells(study.name, study_cells(study, checker), checker, kind, code, threads)
    refuse_missing_programs(planned, root, file)
    return planned


def _plan_training(study: Study, trainer: Trainer, kind: DeviceKind, root: Path) -> list[PlannedRun]:
    first: list[PlannedRun] = []
    if study.machine is not None:
        checker = load_checker(CONFIG, study.machine.checker)
        file = f"{CONFIG}/checkers/{checker.name}.toml"
        code = code_fingerprint(checker.code, root, file)
        first = plan_cells(study.name, preflight_cells(study.machine), checker, kind, code, study.threads)
        refuse_missing_programs(first, root, file)
    file = f"{CONFIG}/trainers/{trainer.name}.toml"
    planned = plan_study(study, trainer, kind, code_fingerprint(trainer.code, root, file), first)
    refuse_missing_programs(planned[len(first) :], root, file)
    return planned


def named_studies(arguments: Sequence[str]) -> list[str]:
    """Studies whose files a command line names (``results/machine-cpu/record.sha256``), or that were opened already.

    A job in a conda environment is made by a Snakemake of its own, which gets the configuration by the environment.
    """
    named = [match[1] for argument in arguments if (match := TARGET.match(argument))]
    if os.environ.get(CONFIGURATION_VARIABLE):
        named += told_configuration().studies
    return [name for name in dict.fromkeys(named) if (CONFIG / "studies" / f"{name}.toml").is_file()]


def open_studies(
    configuration: Configuration, root: Path, arguments: Sequence[str] = ()
) -> tuple[Configuration, dict[str, OpenedStudy]]:
    """All configured studies, checked: files valid, sealed results as they were, no silent change.

    A study that is not configured is opened too if ``arguments``, the command line of Snakemake, name a file of it.
    """
    check_platform()
    more = [name for name in named_studies(arguments) if name not in configuration.studies]
    configuration = configuration.model_copy(update={"studies": [*configuration.studies, *more]})
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
