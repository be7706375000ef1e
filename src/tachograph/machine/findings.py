"""What was found, in plain words, and what was not measured: sentences that say no more than the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tachograph.machine.cells import PROBE
from tachograph.machine.contention import RE_MEASURE
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import DONE, NOT_RUN
from tachograph.machine.selftest import clean
from tachograph.machine.verdict import Verdict

KINDS = {
    "correctness": ("Right", "gave results that rounding explains"),
    "repeatability": ("Repeats", "gave the same bytes each time"),
    "throughput": ("Fast", "gave a rate that nothing speaks against"),
    "soak": ("Lasts", "stayed finite and learned"),
}
QUANTITIES = {
    "power_watts": "power of an accelerator",
    "package_power_watts": "power of the processor",
    "clock_mhz": "clock of an accelerator",
    "cpu_clock_mhz": "clock of the processor",
    "cpu_temperature_celsius": "temperature of the processor",
    "foreign_processors": "work of other programs",
}


def findings(measured: Sequence[MeasuredCell], sections: Mapping[str, Any], norm: str) -> list[str]:
    """The result in sentences, the verdict first; each sentence counts what it speaks of."""
    summary = sections["summary"]
    done = summary["outcomes"].get(DONE, 0)
    said = [f"Verdict: {summary['verdict']}. {done} of {summary['planned']} cells were measured."]
    normal = [one for one in clean(measured) if one.cell.arm == norm and one.cell.kind != PROBE]
    said += [_kind(kind, [one for one in normal if one.cell.kind == kind]) for kind in KINDS if _any(normal, kind)]
    said += [f"WRONG: {one.cell.name}: {'; '.join(one.reasons)}." for one in normal if one.verdict is Verdict.FAIL]
    said += [
        f"{one.outcome.capitalize()}: {one.cell.name}: {'; '.join(one.reasons)}."
        for one in normal
        if one.outcome not in (DONE, NOT_RUN)
    ]
    said += _twice(measured)
    said += _repeats(sections["rows"]["repeatability"])
    said += _arms(summary, sections["rows"]["workarounds"], norm)
    said += _speed(sections["rows"])
    said += _selftest(sections["selftest"])
    return said


def _any(measured: Sequence[MeasuredCell], kind: str) -> bool:
    return any(one.cell.kind == kind for one in measured)


def _kind(kind: str, measured: Sequence[MeasuredCell]) -> str:
    word, claim = KINDS[kind]
    passed = sum(one.verdict is Verdict.PASS for one in measured)
    reasons: dict[str, list[str]] = {}
    for one in measured:
        if one.verdict is Verdict.WARN and one.outcome == DONE:
            reasons.setdefault("; ".join(one.reasons), []).append(one.cell.name)
    warned = [f"{reason} ({', '.join(names)})" for reason, names in reasons.items()]
    also = f"; {sum(map(len, reasons.values()))} more with a warning: {'; '.join(warned)}" if warned else ""
    return f"{word}: {passed} of {len(measured)} {kind} cells {claim}{also}."


def _twice(measured: Sequence[MeasuredCell]) -> list[str]:
    """A library that was loaded from two files has two sets of threads and of bugs (document 003's second runtime)."""
    copies: dict[str, int] = {}
    for one in measured:
        found = (one.record or {}).get("effective", {})
        for name in found.get("library_copies", {}) if isinstance(found, dict) else {}:
            copies[name] = copies.get(name, 0) + 1
    return [
        f"Two copies of {name} were loaded into one process, in {count} cell{'s' if count > 1 else ''}."
        for name, count in copies.items()
    ]


def _repeats(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """How much the repeats could have seen: zero of n gives the 95 % upper bound 3/n."""
    alike = [row for row in rows if row["differing_rate_upper_bound"] is not None]
    differing = [row for row in rows if row["differing_rate_upper_bound"] is None]
    said = []
    if alike:
        worst = max(row["differing_rate_upper_bound"] for row in alike)
        said.append(
            f"Where all repeats gave the same bytes, a result that differs in up to {worst:.1%} of the calls is not "
            "excluded (95 %, 3/n)."
        )
    for row in differing:
        where = "" if row["threads"] is None else f" at {row['threads']} threads"
        said.append(
            f"Does not repeat: {row['operation']} ({row['backend']}){where}: {row['distinct_results']} different "
            f"results in {row['calls']} calls."
        )
    return said


def _arms(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], norm: str) -> list[str]:
    """What each environment changes, against the machine as it is used."""
    said = []
    for arm, verdict in summary["by_arm"].items():
        if arm == norm:
            continue
        pairs: dict[str, dict[str, tuple[str, str]]] = {row["cell"]: {} for row in rows}
        for row in rows:
            pairs[row["cell"]][row["arm"]] = (row["outcome"], row["verdict"])
        changed = [cell for cell, by in pairs.items() if arm in by and norm in by and by[arm] != by[norm]]
        same = sum(arm in by and norm in by for by in pairs.values()) - len(changed)
        what = f"changes {', '.join(changed)}" if changed else "changes the verdict of no cell"
        said.append(f"Environment “{arm}”: {verdict}; it {what} ({same} alike).")
    return said


def _speed(tables: Mapping[str, Any]) -> list[str]:
    rated = [*tables["matmul"], *tables["training"]]
    busy = sum(row["contended"] is True for row in rated)
    unknown = sum(row["contended"] is None for row in rated)
    if not busy + unknown:
        return []
    parts = [f"{busy} of {len(rated)} rates were taken while other work shared the machine"] if busy else []
    parts += (
        [f"of {unknown} of {len(rated)} rates nobody knows whether other work shared the machine"] if unknown else []
    )
    said = " and ".join(parts)
    return [f"{said[0].upper()}{said[1:]}: they are lower bounds (≥), and no claim rests on them; {RE_MEASURE}."]


def _selftest(found: Mapping[str, Any]) -> list[str]:
    if not found["registered"]:
        return ["No fault was planted, so what this check would have caught is not shown."]
    planted, caught = (sum(row[key] for row in found["rows"]) for key in ("planted", "caught"))
    missed = [sentence for row in found["rows"] if row["verdict"] == Verdict.FAIL for sentence in row["missed"]]
    also = f"; missed {', '.join(missed)}" if missed else ""
    unknown = [row["fault"] for row in found["rows"] if row["verdict"] == Verdict.INCOMPLETE]
    also += f"; not tried, or not in full: {', '.join(unknown)}" if unknown else ""
    return [f"Self-test: {caught} of {planted} planted faults were caught{also}."]


def not_measured(measured: Sequence[MeasuredCell], sections: Mapping[str, Any]) -> list[dict[str, str]]:
    """The box of what this check does not show, ``{"what", "why"}``."""
    found: list[dict[str, str]] = []

    def say(what: str, why: str) -> None:
        found.append({"what": what, "why": why})

    own = clean(measured)
    for one in own:
        if one.outcome != DONE:
            say(one.cell.name, f"{one.outcome}: {'; '.join(one.reasons)}")
    for kind in KINDS:
        if not _any(own, kind):
            say(kind, "no cell is registered")
    done = [one for one in own if one.record is not None and one.cell.kind != PROBE]
    if done and all(one.settings.get("device") == "cpu" for one in done):
        say("accelerators", "every cell ran on the processor")
    if len({one.cell.arm for one in own}) == 1:
        say("environment workarounds", "one environment is registered")
    if any(row["peak"] is None for row in sections["rows"]["matmul"]):
        say("share of the peak", "no peak is declared for these number formats, so no rate was held against one")
    for row in sections["selftest"]["rows"]:
        if not row["planted"]:
            say(f"whether “{row['fault']}” would be caught", "it was not planted")
    for name, words in QUANTITIES.items():
        known = [one.record["host"].get(name) for one in done if one.record]
        if name == "cpu_clock_mhz" and len({one[end] for one in known if one for end in ("min", "max")}) == 1:
            say(words, "the system showed the same number at all times, as virtual machines do")
        if not any(known):
            reasons = [one.record["host"]["unknown"].get(name) for one in done if one.record]
            say(words, next((reason for reason in reasons if reason), "no cell sampled it"))
    libraries = {one.settings.get("library") for one in done} - {None}
    if libraries and len(libraries) == 1:
        say("another BLAS library", f"only {libraries.pop()}'s was asked")
    say("any claim about learning or playing strength", "nothing was trained to a goal")
    return found
