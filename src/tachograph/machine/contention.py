"""Did other work share the machine while a cell measured? Judged by the condition that the study registered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tachograph.models.machine import Quiet

RE_MEASURE = "re-measure on an idle host"
LOWER_BOUND = "≥"


@dataclass(frozen=True)
class Contention:
    """``contended`` is None where nobody knows, which is treated like True."""

    contended: bool | None
    because: tuple[str, ...] = ()

    @property
    def held_back(self) -> str | None:
        """Why a rate of this cell is no claim, or None."""
        return None if self.contended is False else RE_MEASURE

    def mark(self, best_of: bool = False) -> str:
        """``≥`` for a rate that other work may have lowered, or that is the best of several."""
        return LOWER_BOUND if best_of or self.contended is not False else ""


NOT_SAMPLED = Contention(None, ("host load was not sampled",))


def contention(record: Mapping[str, Any] | None, quiet: Quiet) -> Contention:
    """Judge the load that was sampled through a cell, means over all its samples, against the registered condition."""
    if record is None or "host" not in record:
        return NOT_SAMPLED
    host = record["host"]
    foreign, stolen = mean_of(host, "foreign_processors"), mean_of(host, "stolen_processors")
    processors = host["processors"]
    users = host.get("device_users", [])
    because = []
    if foreign is not None and foreign > quiet.foreign_share * processors:
        because.append(f"other programs used {foreign:.2f} of {processors} processors")
    if stolen is not None and stolen > quiet.stolen_share * processors:
        because.append(f"the hypervisor took {stolen:.2f} of {processors} processors")
    because += [f"process {user['pid']} ({user['name']}) computed on the device" for user in users or []]
    if because:
        return Contention(True, tuple(because))
    unknown = [name for name, value in (("host load", foreign), ("stolen time", stolen)) if value is None]
    unknown += ["programs on the device"] if users is None else []
    if unknown:
        return Contention(None, (f"{' and '.join(unknown)} could not be sampled",))
    return Contention(False)


def either(first: bool | None, second: bool | None) -> bool | None:
    """Whether one of two was contended; None if neither is known to be and one is not known."""
    if first or second:
        return True
    return None if None in (first, second) else False


def mean_of(host: Mapping[str, Any], name: str) -> float | None:
    """Mean of a sampled quantity through a cell; None where it could not be read."""
    found = host.get(name)
    return None if found is None else float(found["mean"])
