"""What a study did not measure, derived from what is not there."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.sealed import SealedStudy

QUANTITIES = {
    "cpu": {
        "cpu_power": "power of the processor",
        "cpu_temperature": "temperature of the processor",
        "cpu_mhz": "clock of the processor",
        "cpu_foreign": "work of other programs",
    },
    "gpu": {
        "gpu_power": "power of the GPU",
        "gpu_temperature": "temperature of the GPU",
        "gpu_mhz": "clock of the GPU",
    },
}


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
    for verdict in sections["curve_verdicts"]:
        if verdict["verdict"] == "NO VERDICT":
            say(f"whether the curves of {verdict['arm']} match", verdict["sentence"])
    for one in sections.get("candidates", []):
        if one["measured"] is None:
            say(f"candidate {one['name']}", one["sentence"])
    for name, what in QUANTITIES["cpu" if kinds <= {"cpu"} else "gpu"].items():
        reason = _unknown(sealed, name)
        if reason:
            say(what, reason)
    programs = [run.facts["host"]["gpu_processes"] for run in sealed.runs.values()]
    unseen = [one["reason"] for one in programs if one["status"] == "unknown"]
    if unseen:
        say("other programs on the GPU", unseen[0] or "the host samples do not tell")
    return found


def _unknown(sealed: SealedStudy, name: str) -> str | None:
    """Why no run knows this quantity; None if one does."""
    found = [run.facts["host"]["quantities"].get(name) for run in sealed.runs.values()]
    if any(one is not None and one.get("mean") is not None for one in found):
        return None
    return next((one["reason"] for one in found if one and one.get("reason")), "the host samples do not hold it")
