"""Whether the host was quiet while a run went on, by bounds that were registered (statistics.md, 3.3)."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.sealed import SealedStudy


def quiet(sealed: SealedStudy) -> dict[str, Any]:
    """``foreign_cpus``: processors that other programs may keep busy on this host; ``load``: largest load, or None."""
    bounds = sealed.study.quiet
    return {"foreign_cpus": bounds.foreign_share * sealed.machine["cpus_usable"], "load": bounds.load}


def foreign_cpus(host: dict[str, Any]) -> float | None:
    """Processors that other programs kept busy, mean over a job; None if nobody knows. ``host``: facts of a job."""
    mean = host["quantities"].get("cpu_foreign", {}).get("mean")
    return None if mean is None else float(mean)


def busy(host: dict[str, Any], bounds: dict[str, Any]) -> bool | None:
    """Whether other programs worked on the processors during a job beyond the ``bounds``; None if nobody knows."""
    mean = foreign_cpus(host)
    return None if mean is None else mean > bounds["foreign_cpus"]


def loaded(host: dict[str, Any], bounds: dict[str, Any]) -> bool:
    """Whether the load average of a job exceeded the registered one; where it is unknown it cannot be called quiet."""
    if bounds["load"] is None:
        return False
    largest = host["quantities"].get("load_1min", {}).get("max")
    return largest is None or bool(largest > bounds["load"])
