"""A trainer's instrumented profile: stages timed with the device synchronised at both ends."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tachograph.errors import TachographError
from tachograph.evidence.overlap import CLOSURE
from tachograph.models.trainer import inside_itself

SCHEMA = "profile/1"
REMAINDER = re.compile(r"\bremainder\b")
# A stage that waits for the device's results, by its name.
_BLOCKING = re.compile(
    r"(^|[^a-z])(host|copy|copies|cpu|numpy|tolist|item|d2h|dtoh|readback|transfer|fetch|sync|synchroni[sz]e)([^a-z]|$)"
)
_TINY, _DOMINANT = 0.05, 0.5


class ProfileError(TachographError):
    """A profile file that does not say what a profile must say."""


@dataclass(frozen=True)
class Stage:
    """``seconds`` over all measured steps. ``parent`` names the stage that contains this one."""

    name: str
    seconds: float
    calls: int
    parent: str | None
    group: str | None


@dataclass(frozen=True)
class Profile:
    """One arm's profile: ``steps`` measured steps of ``work_per_step`` ``unit``, ``total_seconds`` in all.

    ``uninstrumented_seconds`` is the time of ``uninstrumented_steps`` steps without timers, None if the
    trainer did not measure them.
    """

    stages: tuple[Stage, ...]
    steps: int
    total_seconds: float
    work_per_step: float
    unit: str
    synchronized: bool
    uninstrumented_steps: int | None
    uninstrumented_seconds: float | None

    @property
    def leaves(self) -> tuple[Stage, ...]:
        """Stages at the top level: those that add up to the total."""
        return tuple(stage for stage in self.stages if stage.parent is None)

    @property
    def ms_per_step(self) -> float:
        return 1e3 * self.total_seconds / self.steps

    @property
    def rate(self) -> float:
        """Work per second of the instrumented steps."""
        return self.steps * self.work_per_step / self.total_seconds

    @property
    def uninstrumented_rate(self) -> float | None:
        if self.uninstrumented_steps is None or self.uninstrumented_seconds is None:
            return None
        return self.uninstrumented_steps * self.work_per_step / self.uninstrumented_seconds

    def share(self, stage: Stage) -> float:
        return stage.seconds / self.total_seconds


def parse_profile(data: Mapping[str, Any], source: str) -> Profile:
    """Turn the content of a profile file into a :class:`Profile`; ``source`` names it in errors.

    Raises :class:`ProfileError`, naming source and key, for another schema, a missing key, a stage that
    stands twice, an unknown parent, or a number that is not positive and finite (seconds may be 0).
    """
    if data.get("schema") != SCHEMA:
        raise ProfileError(f"{source}: schema is {data.get('schema')!r}, expected {SCHEMA!r}")
    try:
        stages = tuple(
            Stage(
                str(row["name"]),
                float(row["seconds"]),
                int(row["calls"]),
                row.get("parent"),
                row.get("group"),
            )
            for row in data["stages"]
        )
        bare = data.get("uninstrumented")
        profile = Profile(
            stages=stages,
            steps=int(data["steps"]),
            total_seconds=float(data["total_seconds"]),
            work_per_step=float(data["work_per_step"]),
            unit=str(data["unit"]),
            synchronized=bool(data["synchronized"]),
            uninstrumented_steps=None if bare is None else int(bare["steps"]),
            uninstrumented_seconds=None if bare is None else float(bare["seconds"]),
        )
    except KeyError as error:
        raise ProfileError(f"{source}: key {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise ProfileError(f"{source}: {error}; expected the numbers of a profile") from None
    _check(profile, source)
    return profile


def _check(profile: Profile, source: str) -> None:
    names = [stage.name for stage in profile.stages]
    parents = {stage.name: stage.parent for stage in profile.stages}
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ProfileError(f"{source}: stage {twice!r} stands twice")
    for stage in profile.stages:
        if stage.parent is not None and (stage.parent not in names or stage.parent == stage.name):
            raise ProfileError(f"{source}: stage {stage.name!r} has the unknown parent {stage.parent!r}")
        if inside_itself(stage.name, parents):
            raise ProfileError(f"{source}: stage {stage.name!r} lies inside of itself by the parents that are declared")
        low = -CLOSURE * profile.total_seconds if REMAINDER.search(stage.name) else 0.0
        if not (low <= stage.seconds < math.inf):
            raise ProfileError(f"{source}: stage {stage.name!r} took {stage.seconds} s, expected at least {low}")
    for name, value in (
        ("steps", profile.steps),
        ("total_seconds", profile.total_seconds),
        ("work_per_step", profile.work_per_step),
        ("uninstrumented.steps", profile.uninstrumented_steps),
        ("uninstrumented.seconds", profile.uninstrumented_seconds),
    ):
        if value is not None and not 0 < value < math.inf:
            raise ProfileError(f"{source}: {name} is {value}, expected a positive number")


def unsynchronised_suspicion(profile: Profile) -> str | None:
    """A sentence if the timers look unsynchronised: a copy to the host dominates after a tiny stage.

    A call that only queues work returns at once; the first one that waits for a result is then charged for
    everything before it (nerfstudio-project/nerfstudio#183, pytorch/pytorch#23910).
    """
    if not profile.synchronized:
        return "the timers were not synchronised: the first blocking call absorbs the device's time"
    for before, stage in pairwise(profile.leaves):
        if (
            profile.share(stage) > _DOMINANT
            and profile.share(before) < _TINY
            and _BLOCKING.search(stage.name.lower().replace("_", " "))
        ):
            return (
                f"unsynchronised timers: {stage.name!r} takes {profile.share(stage):.1%} "
                f"after {before.name!r} with {profile.share(before):.1%}; the first blocking call "
                "absorbs the device's time"
            )
    return None


INSTRUMENTATION = 0.05
OWN_STEPS, TRAINING = "the same steps without brackets", "the training runs after warm-up"


def instrumentation(profile: Profile, other_rate: float | None, other: str) -> str | None:
    """How the speed under the timers compares with ``other_rate`` (work per second) of ``other``, in a sentence.

    None where it stays within 5 % (statistics.md, 3.5) or where the other rate is not known.
    """
    if other_rate is None:
        return None
    ratio = profile.rate / other_rate
    rates = f"instrumented {profile.rate:,.0f}, {other} {other_rate:,.0f} {profile.unit}/s"
    if ratio < 1 - INSTRUMENTATION:
        return f"{rates}: {1 - ratio:.1%} slower, whatever the cause; the shares are instrumented shares"
    if ratio > 1 + INSTRUMENTATION:
        return f"{rates}: the instrumented session is {ratio - 1:.1%} faster, the sessions are not comparable"
    return None
