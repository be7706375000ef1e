"""The stage table of a study: where the time of a step goes, in each arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from tachograph.evidence import amdahl
from tachograph.evidence.overlap import CLOSURE, Overlap, beyond_parents, find_overlap
from tachograph.evidence.profile import (
    OWN_STEPS,
    REMAINDER,
    TRAINING,
    Profile,
    ProfileError,
    Stage,
    instrumentation,
    unsynchronised_suspicion,
)

ENVIRONMENT = "environment"


@dataclass(frozen=True)
class ArmTime:
    """Milliseconds per step and share of the step, in one arm."""

    ms: float
    share: float


@dataclass(frozen=True)
class StageRow:
    """One stage in every arm; an arm without this stage is absent from ``arms``."""

    name: str
    group: str | None
    parent: str | None
    arms: Mapping[str, ArmTime]

    def factor(self, reference: str, fast: str) -> float | None:
        """How many times faster the stage became; None where an arm lacks it or it took no time."""
        if reference not in self.arms or fast not in self.arms or self.arms[fast].ms <= 0:
            return None
        return self.arms[reference].ms / self.arms[fast].ms


@dataclass(frozen=True)
class ArmSummary:
    """One arm's totals. ``closure`` = Σ leaves / total; ``rate`` in work per second.

    ``uninstrumented_rate`` is that of the profile's own steps without brackets, ``training_rate`` that of the training
    runs after warm-up; both None if not known.
    ``environment`` is the time of the stages of the group "environment", None if none is declared so.
    ``warnings`` are sentences; ``publishable`` is False where the shares must not be quoted.
    """

    total: ArmTime
    environment: ArmTime | None
    closure: float
    overlap: Overlap | None
    rate: float
    uninstrumented_rate: float | None
    training_rate: float | None
    warnings: tuple[str, ...]
    publishable: bool


@dataclass(frozen=True)
class StageTable:
    """``rows`` in the order of the first arm; ``arms`` by name."""

    rows: tuple[StageRow, ...]
    arms: Mapping[str, ArmSummary]

    def factor(self, reference: str, fast: str) -> float:
        """Factor of the whole instrumented step."""
        return self.arms[reference].total.ms / self.arms[fast].total.ms

    def check(self, reference: str, fast: str, measured: float) -> amdahl.AmdahlCheck:
        """The factor that the stages of the step add up to, beside the ``measured`` one of the training runs."""
        return amdahl.compare(self.factor(reference, fast), measured)

    def bound(self, reference: str, fast: str) -> amdahl.Bound | None:
        """The factor that the stages which became faster by over 5 % allow at most; None where shares are not true.

        The largest stage of the reference counts among them in any case, and so does one that ``fast`` lacks.
        """
        if not self.arms[reference].publishable:
            return None
        leaves = [row for row in self.rows if row.parent is None and reference in row.arms]
        factors = {row.name: row.factor(reference, fast) for row in leaves}
        faster = [name for name, factor in factors.items() if factor is None or factor > 1 + amdahl.GAP]
        return amdahl.bound({row.name: max(0.0, row.arms[reference].share) for row in leaves}, faster)


def stage_table(profiles: Mapping[str, Profile], training_rates: Mapping[str, float] | None = None) -> StageTable:
    """Put the profiles of the arms side by side. Every total is closed by a remainder row.

    ``training_rates``: by arm, work per second of its training runs after warm-up, in the unit of the profiles; a
    profile at another pace is told (statistics.md, 3.5).
    Raises :class:`ProfileError` when the arms measured different units or work per step.
    """
    work = {(profile.unit, profile.work_per_step) for profile in profiles.values()}
    if len(work) > 1:
        raise ProfileError(f"profiles measured different work per step: {sorted(work)}")
    closed = {arm: _with_remainder(profile) for arm, profile in profiles.items()}
    names = list(dict.fromkeys(stage.name for profile in closed.values() for stage in profile.stages))
    rows = []
    for name in names:
        found = {arm: stage for arm, profile in closed.items() for stage in profile.stages if stage.name == name}
        first = next(iter(found.values()))
        arms = {arm: _time(closed[arm], stage.seconds) for arm, stage in found.items()}
        rows.append(StageRow(name, first.group, first.parent, arms))
    known = training_rates or {}
    return StageTable(tuple(rows), {arm: _summary(profile, known.get(arm)) for arm, profile in closed.items()})


def _time(profile: Profile, seconds: float) -> ArmTime:
    return ArmTime(1e3 * seconds / profile.steps, seconds / profile.total_seconds)


def _with_remainder(profile: Profile) -> Profile:
    """The profile, closed by a remainder row unless the trainer has written one."""
    if any(REMAINDER.search(stage.name) for stage in profile.leaves):
        return profile
    rest = profile.total_seconds - sum(stage.seconds for stage in profile.leaves)
    if rest < 0:
        return profile  # the sum exceeds the total: the closure says so, no row may hide it
    row = Stage("remainder", rest, profile.steps, None, None)
    return Profile(**{**profile.__dict__, "stages": (*profile.stages, row)})


def _summary(profile: Profile, training_rate: float | None) -> ArmSummary:
    closure = sum(stage.seconds for stage in profile.leaves) / profile.total_seconds
    warnings = []
    overlap = None
    if abs(closure - 1) > CLOSURE:
        timers = {stage.name: np.array([stage.seconds]) for stage in profile.leaves}
        overlap = find_overlap(np.array([profile.total_seconds]), timers)
        nested = f"; nested by the sums: {', '.join(overlap.nested)}" if overlap.nested else ""
        warnings.append(f"the stages sum to {closure:.1%} of the total{nested}")
    seconds = {stage.name: stage.seconds for stage in profile.stages}
    wrong = beyond_parents(seconds, {stage.name: stage.parent for stage in profile.stages}, profile.total_seconds)
    suspicion = unsynchronised_suspicion(profile)
    pace = [
        instrumentation(profile, profile.uninstrumented_rate, OWN_STEPS),
        instrumentation(profile, training_rate, TRAINING),
    ]
    warnings += [sentence for sentence in (*wrong, suspicion, *pace) if sentence is not None]
    inside = [stage.seconds for stage in profile.leaves if stage.group == ENVIRONMENT]
    return ArmSummary(
        total=_time(profile, profile.total_seconds),
        environment=_time(profile, sum(inside)) if inside else None,
        closure=closure,
        overlap=overlap,
        rate=profile.rate,
        uninstrumented_rate=profile.uninstrumented_rate,
        training_rate=training_rate,
        warnings=tuple(warnings),
        publishable=suspicion is None and overlap is None and not wrong,
    )
