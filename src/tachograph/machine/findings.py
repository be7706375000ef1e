"""What was found, in plain words: sentences that say no more than the cells, with counts that add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from tachograph.machine.cells import PROBE
from tachograph.machine.contention import RE_MEASURE
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import DONE, NOT_RUN
from tachograph.machine.selftest import clean
from tachograph.machine.verdict import Verdict
from tachograph.wording import counted, verb

KINDS = {
    "correctness": ("Right", "gave results that rounding explains"),
    "repeatability": ("Repeats", "gave the same bytes each time at the same number of threads"),
    "throughput": ("Fast", "gave a rate to rely on"),
    "soak": ("Lasts", "stayed finite, learned and kept the speed"),
}
# What becomes of a cell: exactly one of these. Undecided: it ran and could not tell, as without a proven reference.
PASSED, HELD_BACK, WARNED = "passed", "held back", "with a warning"
WRONG, UNDECIDED, NOT_MEASURED = "wrong", "undecided", "not measured"
PARTS = (HELD_BACK, WARNED, WRONG, UNDECIDED, NOT_MEASURED)


def findings(measured: Sequence[MeasuredCell], sections: Mapping[str, Any], norm: str) -> list[str]:
    """The result in sentences, the verdict first; each sentence counts what it speaks of."""
    summary = sections["summary"]
    done = summary["outcomes"].get(DONE, 0)
    said = [
        f"Verdict: {summary['verdict']}. {done} of {counted(summary['planned'], 'cell')} "
        f"{verb(done, 'was', 'were')} measured."
    ]
    own = [one for one in clean(measured) if one.cell.kind != PROBE]
    normal = [one for one in own if one.cell.arm == norm]
    said += _what_counts(own, norm)
    said += [_kind(kind, cells) for kind in KINDS if (cells := [one for one in normal if one.cell.kind == kind])]
    said += [
        f"{_part(one).upper()}: {one.cell.name}: {_reasons(one)}." for one in normal if _part(one) in (WRONG, UNDECIDED)
    ]
    said += [
        f"{one.outcome.capitalize()}: {one.cell.name}: {_reasons(one)}."
        for one in normal
        if one.outcome not in (DONE, NOT_RUN)
    ]
    said += _twice(measured)
    said += _repeats(sections["rows"]["repeatability"])
    said += _arms(summary, sections["rows"]["workarounds"], norm)
    said += _selftest(sections["selftest"])
    return said


def _reasons(one: MeasuredCell) -> str:
    """In one line without the full stop that a library may have put there."""
    return " ".join("; ".join(one.reasons).split()).rstrip(".")


def _what_counts(own: Sequence[MeasuredCell], norm: str) -> list[str]:
    """How the cells divide over environments, where there are several."""
    arms = Counter(one.cell.arm for one in own)
    if len(arms) < 2:
        return []
    others = " and ".join(f"{count} of “{arm}”" for arm, count in arms.items() if arm != norm)
    return [
        f"These are {counted(arms[norm], 'cell')} of the machine as it is used (“{norm}”), which the next "
        "sentences count, and "
        f"{others}."
    ]


def _kind(kind: str, measured: Sequence[MeasuredCell]) -> str:
    """How many cells of one kind passed, and what became of the others; the counts add up to all."""
    word, claim = KINDS[kind]
    parts = Counter(_part(one) for one in measured)
    also = [f"{parts[part]} {part}" for part in PARTS if parts[part]]
    if parts[HELD_BACK]:
        also.append(_why_held_back([one for one in measured if _part(one) == HELD_BACK]))
    lasted = [seconds for one in measured if (seconds := one.measured.get("seconds")) is not None]
    also += [f"the longest took {max(lasted):,.0f} s"] if kind == "soak" and lasted else []
    reasons: dict[str, list[str]] = {}
    for one in measured:
        if one.verdict is Verdict.WARN and one.outcome == DONE:
            reasons.setdefault("; ".join(one.reasons), []).append(one.cell.name)
    also += [f"{reason} ({', '.join(names)})" for reason, names in reasons.items()]
    return f"{word}: {'; '.join([f'{parts[PASSED]} of {len(measured)} {kind} cells {claim}', *also])}."


def _part(one: MeasuredCell) -> str:
    if one.outcome != DONE:
        return NOT_MEASURED
    if one.verdict in (Verdict.FAIL, Verdict.INCOMPLETE):
        return WRONG if one.verdict is Verdict.FAIL else UNDECIDED
    if one.cell.kind == "throughput" and one.contention.held_back:
        return HELD_BACK
    return PASSED if one.verdict is Verdict.PASS else WARNED


def _why_held_back(cells: Sequence[MeasuredCell]) -> str:
    busy = sum(one.contention.contended is True for one in cells)
    why = [f"other work shared the machine in {busy}"] if busy else []
    why += [f"of {len(cells) - busy} nobody knows whether it did"] if len(cells) > busy else []
    return f"{' and '.join(why)}, so these rates are lower bounds (≥) and no claim rests on them: {RE_MEASURE}"


def _twice(measured: Sequence[MeasuredCell]) -> list[str]:
    """A library that was loaded from two files has two sets of threads and of bugs (document 003's second runtime)."""
    copies: dict[str, list[str]] = {}
    for one in measured:
        for name in (one.record or {}).get("effective", {}).get("library_copies", {}):
            copies.setdefault(name, []).append(one.cell.name)
    return [
        f"Two copies of {name} were loaded into one process, in {counted(len(cells), 'cell')} ({', '.join(cells)})."
        for name, cells in copies.items()
    ]


def _repeats(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """How much the repeats could have seen: zero of n gives the 95 % upper bound 3/n."""
    alike = [row for row in rows if row["differing_rate_upper_bound"] is not None]
    differing = [row for row in rows if row["differing_rate_upper_bound"] is None]
    said = []
    if alike:
        fewest = min(row["calls"] for row in alike)
        worst = max(row["differing_rate_upper_bound"] for row in alike)
        said.append(
            f"Where all repeats gave the same bytes, n was {fewest} or more at each thread count, so a result that "
            f"differs in up to {worst:.1%} of the calls is not excluded (95 %, 3/n)."
        )
    for row in differing:
        where = "" if row["threads"] is None else f" at {counted(row['threads'], 'thread')}"
        said.append(
            f"Does not repeat: {row['operation']} ({row['backend']}){where}: {row['distinct_results']} different "
            f"results in {counted(row['calls'], 'call')}."
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


def _selftest(found: Mapping[str, Any]) -> list[str]:
    if not found["registered"]:
        return ["No fault was planted, so what this check would have caught is not shown."]
    planted, caught = (sum(row[key] for row in found["rows"]) for key in ("planted", "caught"))
    missed = [sentence for row in found["rows"] for sentence in row["missed"]]
    also = f"; not caught: {', '.join(missed)}" if missed else ""
    untried = [row["fault"] for row in found["rows"] if not row["planted"]]
    also += f"; not planted, so the power to detect it is not shown: {', '.join(untried)}" if untried else ""
    return [f"Self-test: {caught} of {planted} planted faults were caught{also}."]
