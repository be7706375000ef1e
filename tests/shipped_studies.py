"""What the arms and candidates of the shipped studies change, by the trainers' own reading of the planned commands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lost_cities.cli import build_parser
from lost_cities.config import Config, load_config
from tachograph.models import Candidate, Study, Trainer
from tachograph.study.loading import load_study, study_names
from tachograph.study.planning import PlannedRun, plan_study, resolve_command

ROOT = Path(__file__).parents[1]
CONFIG = ROOT / "config"
CLAIM = re.compile(r"\b([a-z]+\.[a-z_]+) (\S+) to ([^\s,)]+)")  # such as "evaluation.batch_size 64 to 256"


@dataclass(frozen=True)
class Change:
    """An arm beside the reference, or a candidate beside its arm: ``title`` says what is changed."""

    study: Study
    name: str
    title: str
    base: PlannedRun
    changed: PlannedRun

    def __str__(self) -> str:
        return f"{self.study.name}: {self.name}"


def shipped_studies() -> list[tuple[Study, Trainer]]:
    """Every study of training loops in config/studies, with its trainer."""
    loaded = [load_study(CONFIG, name) for name in study_names(CONFIG)]
    return [(study, trainer) for study, trainer in loaded if isinstance(study, Study) and isinstance(trainer, Trainer)]


def planned_of(study: Study, trainer: Trainer) -> list[PlannedRun]:
    """The planned runs, on the kind of device that the study is for."""
    return plan_study(study, trainer, "gpu" if study.device == "gpu" else "cpu", "0" * 64)


def changes() -> Iterator[Change]:
    """Every arm beside its reference, and every candidate that is measured by training runs."""
    for study, trainer in shipped_studies():
        planned = planned_of(study, trainer)
        first = {run.arm: run for run in reversed(planned) if run.role == "run"}
        reference = study.design.reference
        for name, arm in study.arms.items():
            if name != reference:
                yield Change(study, f"arms.{name}", arm.title, first[reference], first[name])
        for run in planned:
            if run.in_turn:
                yield Change(study, f"candidates.{run.arm}", study.candidates[run.arm].title, run, run.changed())


def component_candidates() -> Iterator[tuple[Study, str, Candidate]]:
    """Every candidate that the trainer's own candidate command measures."""
    for study, _ in shipped_studies():
        for name, one in study.candidates.items():
            if one.measure == "component":
                yield study, name, one


def lost_cities_config(run: PlannedRun) -> Config:
    """What the trainer makes of a planned command of Lost Cities."""
    device = "cuda" if run.device_kind == "gpu" else "cpu"
    command = resolve_command(run, out="out", device=device, seed=0)
    options = build_parser().parse_args(command[command.index("lost_cities") + 1 :])
    return load_config(ROOT / options.config, options.set)


def differences(base: Config, changed: Config) -> dict[str, tuple[str, str]]:
    """``section.key`` -> old and new value as they are written, for each key that differs."""
    one, other = flat(base), flat(changed)
    return {key: (one[key], other[key]) for key in one if one[key] != other[key]}


def flat(config: Config) -> dict[str, str]:
    values: dict[str, dict[str, Any]] = config.model_dump()
    return {
        f"{section}.{key}": str(value).lower() if isinstance(value, bool) else str(value)
        for section, keys in values.items()
        for key, value in keys.items()
    }


def claimed(title: str) -> dict[str, tuple[str, str]]:
    """``section.key`` -> old and new value, as a title says it."""
    return {key: (old, new) for key, old, new in CLAIM.findall(title)}
