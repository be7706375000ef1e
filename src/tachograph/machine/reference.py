"""May anything be compared with this machine? Only where every operation that was asked repeats, and is right."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import DONE
from tachograph.machine.verdict import Verdict
from tachograph.wording import counted

NOT_REPEATABLE = "REFERENCE NOT REPEATABLE"


def usable_as_reference(one: MeasuredCell) -> tuple[str, str]:
    """PASS, FAIL or NO VERDICT on one cell, and why in a sentence (cases.md, D22)."""
    if one.outcome != DONE or one.verdict is Verdict.INCOMPLETE:
        return "NO VERDICT", f"not measured ({'; '.join(one.reasons) or one.outcome})"
    if one.cell.kind == "repeatability":
        if not one.measured["repeats_in_process"] or one.measured["repeats_across_processes"] is False:
            return "FAIL", f"{NOT_REPEATABLE} ({'; '.join(one.reasons)})"
        if one.verdict is not Verdict.FAIL:
            return "PASS", repeats(one.measured["by_threads"])
    if one.verdict is Verdict.FAIL:
        return "FAIL", "; ".join(one.reasons)
    return "PASS", "; ".join(one.reasons) or "right within its bounds"


def repeats(by_threads: list[dict[str, Any]]) -> str:
    """What zero differing results are worth: the 95 % upper bound 3/n at each thread count."""
    parts = [
        counted(row["calls"], "call")
        + ("" if row["threads"] is None else f" at {counted(row['threads'], 'thread')}")
        + f" (a rate of up to {row['differing_rate_upper_bound']:.1%} is not excluded)"
        for row in by_threads
        if row["differing_rate_upper_bound"] is not None
    ]
    return f"the same bytes in {', '.join(parts)}"


def checks_of(measured: Iterable[MeasuredCell]) -> list[dict[str, Any]]:
    """One preflight check per repeatability or correctness cell without a planted fault."""
    found = []
    for one in measured:
        if one.cell.fault is None and one.cell.kind in ("repeatability", "correctness"):
            verdict, detail = usable_as_reference(one)
            name = "machine repeats" if one.cell.kind == "repeatability" else "machine is right"
            found.append({"check": name, "arm": one.cell.name, "verdict": verdict, "detail": detail})
    return found
