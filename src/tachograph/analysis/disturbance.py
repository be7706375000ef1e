"""What went on at the host while a job ran, by bounds that were registered (statistics.md, 3.3)."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence.contention import heating, throttled


def quiet(sealed: SealedStudy) -> dict[str, Any]:
    """``foreign_cpus``: processors that other programs may keep busy on this host; ``load``: largest load, or None."""
    bounds = sealed.study.quiet
    return {"foreign_cpus": bounds.foreign_share * sealed.machine["cpus_usable"], "load": bounds.load}


def foreign_cpus(host: dict[str, Any]) -> float | None:
    """Processors that other programs kept busy, mean over a job; None if nobody knows. ``host`` as in run.json."""
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


def warming(host: dict[str, Any]) -> dict[str, float]:
    """Degrees Celsius per minute by which a temperature rose that had not settled during a job, part by part."""
    named = {"GPU": "gpu_temperature", "processor": "cpu_temperature"}
    slopes = {part: host["quantities"].get(name, {}).get("slope_per_minute") for part, name in named.items()}
    return {part: slope for part, slope in slopes.items() if slope is not None and heating(slope)}


def gpu_programs(facts: dict[str, Any]) -> str:
    """``clean``, ``contaminated`` or ``unknown``: other programs on the GPU during a job; ``facts`` as in run.json.

    What nobody knows matters only where the job used a GPU.
    """
    status = str(facts["host"]["gpu_processes"]["status"])
    return "clean" if status == "unknown" and facts["device"]["kind"] == "cpu" else status


def disturbed(facts: dict[str, Any], bounds: dict[str, Any]) -> list[str]:
    """What may have changed the speed of a job, one sentence each; also that nobody knows it. ``facts`` as in run.json.

    ``bounds`` are those of :func:`quiet`.
    """
    host = facts["host"]
    others, clock = busy(host, bounds), host["quantities"].get("gpu_mhz", {})
    found = []
    if others is None:
        found.append("what other programs did is unknown")
    elif others:
        found.append(f"other programs kept {foreign_cpus(host):.2f} processors busy")
    if loaded(host, bounds):
        found.append(f"the load average exceeded the registered {bounds['load']:g}, or is unknown")
    if gpu_programs(facts) == "contaminated":
        found.append("other programs used the GPU")
    elif gpu_programs(facts) == "unknown":
        found.append("whether other programs used the GPU is unknown")
    found += [f"the {part} grew warmer by {slope:.1f} °C per minute" for part, slope in warming(host).items()]
    if clock.get("mean") and throttled(clock["mean"], clock["max"]):
        found.append(f"the clock was {clock['mean']:,.0f} MHz on average, {clock['max']:,.0f} at most")
    return found
