"""What went on at the host while a job ran: other programs, and a clock that did not stay up."""

from __future__ import annotations

from typing import Any

from tachograph.evidence.contention import throttled

FOREIGN_CPUS = 0.1  # processors; more work of other programs than this is told


def foreign_cpus(host: dict[str, Any]) -> float | None:
    """Processors that other programs kept busy, mean over a job; None if nobody knows. ``host`` as in run.json."""
    mean = host["quantities"].get("cpu_foreign", {}).get("mean")
    return None if mean is None else float(mean)


def disturbed(host: dict[str, Any]) -> list[str]:
    """What may have changed the speed of a job, one sentence each; also that nobody knows it."""
    busy, clock = foreign_cpus(host), host["quantities"].get("gpu_mhz", {})
    found = []
    if busy is None:
        found.append("what other programs did is unknown")
    elif busy > FOREIGN_CPUS:
        found.append(f"other programs kept {busy:.2f} processors busy")
    if host["gpu_processes"]["status"] == "contaminated":
        found.append("other programs used the GPU")
    if clock.get("mean") and throttled(clock["mean"], clock["max"]):
        found.append(f"the clock was {clock['mean']:,.0f} MHz on average, {clock['max']:,.0f} at most")
    return found
