"""What a study did not measure, derived from what is not there."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.deviations import foreign_processes
from tachograph.analysis.sealed import SealedStudy


def not_measured(sealed: SealedStudy, sections: dict[str, Any]) -> list[dict[str, str]]:
    """``{"what", "why"}`` for everything a reader might look for in vain. ``sections`` is the analysis so far."""
    found = []

    def say(what: str, why: str) -> None:
        found.append({"what": what, "why": why})

    kinds = {run.facts["device"]["kind"] for run in sealed.runs.values()}
    if "cuda" not in kinds and "rocm" not in kinds:
        say("speed on a GPU", "every counted run used the CPU")
    missing = [run["run"] for run in sections["planned_runs"] if run["status"] != "counted"]
    if missing:
        say("planned runs that do not count", ", ".join(missing))
    for name, what in (
        ("stages", "the time of single stages"),
        ("component", "the component alone"),
        ("baseline", "a baseline before any comparison"),
        ("repeat", "whether the reference repeats (A/A)"),
    ):
        section = sections[name]
        if not section["registered"]:
            say(what, section["reason"])
    for name in sections["preflight"]["not_registered"]:
        say(f"preflight check {name}", "it is not registered")
    headline = [one for one in sections["factors"] if one["headline"]]
    for factor in headline:
        if factor.get("low") is None:
            say(
                f"an interval for the factor of {factor['numerator']}",
                factor.get("note") or factor.get("reason", "unknown"),
            )
    if sections["curves"]["metrics"]:
        say("a statistical verdict on the curves", "this record describes them and gives none")
    for name, what in (("power_watts", "power"), ("temperature_celsius", "temperature"), ("clock_mhz", "clocks")):
        if not any(_known(run.facts["host"].get(name)) for run in sealed.runs.values()):
            say(what, _reason(sealed, name))
    if any(foreign_processes(run.facts["host"]) is None for run in sealed.runs.values()):
        say("other programs on the GPU", _reason(sealed, "foreign_gpu_processes"))
    return found


def _known(value: Any) -> bool:
    return value is not None and not (isinstance(value, dict) and value.get("value", 0) is None)


def _reason(sealed: SealedStudy, name: str) -> str:
    for run in sealed.runs.values():
        value = run.facts["host"].get(name)
        if isinstance(value, dict) and value.get("reason"):
            return str(value["reason"])
    return "the host samples do not hold it"
