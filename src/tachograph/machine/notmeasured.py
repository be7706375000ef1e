"""The box of what a machine study does not show: cells without a result, what nobody asked, what no sensor gave."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, get_args

from tachograph.machine.cells import PROBE
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import DONE
from tachograph.machine.selftest import clean
from tachograph.machine.tables import of_kind
from tachograph.machine.verdict import Verdict
from tachograph.models.cells import CellKind
from tachograph.models.checker import Checker

QUANTITIES = {
    "power_watts": "power of an accelerator",
    "package_power_watts": "power of the processor",
    "clock_mhz": "clock of an accelerator",
    "cpu_clock_mhz": "clock of the processor",
    "cpu_temperature_celsius": "temperature of the processor",
    "foreign_processors": "work of other programs",
}
MIXED = ("fp16", "bf16")  # of a training, these formats mean mixed precision
ASKED: tuple[CellKind, ...] = ("correctness", "repeatability")  # kinds of which a reader wants to know what is left out


def not_asked(measured: Sequence[MeasuredCell], checker: Checker) -> dict[str, list[str]]:
    """By kind, the operations of the checker that no cell without a planted fault asks for."""
    asked = {(one.cell.kind, one.cell.operation) for one in clean(measured)}
    return {kind: [name for name in checker.operations.get(kind, {}) if (kind, name) not in asked] for kind in ASKED}


def _without_peak(own: Sequence[MeasuredCell]) -> str:
    """Devices and number formats of timed products without a declared peak."""
    formats: dict[str, dict[str, None]] = {}
    for one in of_kind(own, "throughput", "matmul"):
        if one.measured["peak"] is None:
            device = (one.record or {}).get("device_name") or "the device"
            formats.setdefault(device, {})[str(one.settings["dtype"])] = None
    return "; ".join(f"{device} in {', '.join(names)}" for device, names in formats.items())


def not_measured(measured: Sequence[MeasuredCell], sections: Mapping[str, Any]) -> list[dict[str, str]]:
    """The box of what this check does not show, ``{"what", "why"}``."""
    found: list[dict[str, str]] = []

    def say(what: str, why: str) -> None:
        found.append({"what": what, "why": why})

    own = clean(measured)
    for one in own:
        if one.outcome != DONE:
            say(one.cell.name, f"{one.outcome}: {'; '.join(one.reasons)}")
        elif one.verdict is Verdict.INCOMPLETE:
            say(one.cell.name, "; ".join(one.reasons))
    for kind in get_args(CellKind):
        if not any(one.cell.kind == kind for one in own):
            say(kind, "no cell is registered")
    for kind, operations in sections["not_asked"].items():
        if operations and any(one.cell.kind == kind for one in own):
            say(f"{kind} of {', '.join(operations)}", "no cell asks for it")
    done = [one for one in own if one.record is not None and one.cell.kind != PROBE]
    if done and all(one.settings.get("device") == "cpu" for one in done):
        say("accelerators", "every cell ran on the processor")
    if len({one.cell.arm for one in own}) == 1:
        say("environment workarounds", "one environment is registered")
    trained = of_kind(own, "throughput", "training")
    if trained and not any(one.settings.get("dtype") in MIXED for one in trained):
        say("training in mixed precision", "no cell asks for it")
    repeated = [one for one in of_kind(own, "repeatability") if "onednn" in one.settings]
    if repeated and all(one.settings["onednn"] and one.settings["device"] == "cpu" for one in repeated):
        say("repeatability with oneDNN switched off", "no cell asks for it")
    without = _without_peak(own)
    if without:
        say("share of the peak", f"no peak is declared for {without}, so these rates were held against none")
    for row in sections["selftest"]["rows"]:
        if not row["planted"]:
            say(f"whether “{row['fault']}” would be caught", "it was not planted")
    for name, words in QUANTITIES.items():
        known = [one.record["host"].get(name) for one in done if one.record]
        shown = {one[end] for one in known if one for end in ("min", "max")}
        if name == "cpu_clock_mhz" and len(shown) == 1:
            constant = f"the system showed {shown.pop():,.0f} MHz at all times, as virtual machines do"
            say("changes of the processor's clock", f"{constant}; that number is what table and figure repeat")
        if not any(known):
            reasons = [one.record["host"]["unknown"].get(name) for one in done if one.record]
            say(words, next((reason for reason in reasons if reason), "no cell sampled it"))
    libraries = {one.settings.get("library") for one in done} - {None}
    if libraries and len(libraries) == 1:
        say("another BLAS library", f"only {libraries.pop()}'s was asked")
    say("any claim about learning or playing strength", "nothing was trained to a goal")
    return found
