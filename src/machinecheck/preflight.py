"""What a training study asks before it compares anything with this processor. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from machinecheck.outcome import DONE
from machinecheck.verdict import Verdict, overall

SCHEMA = "machinecheck-preflight/1"


def usable_as_reference(outcome: Mapping[str, Any]) -> tuple[bool, str]:
    """May the operation of a repeatability cell serve as a reference? If not, why, in one sentence."""
    if outcome["outcome"] != DONE or outcome["verdict"] == Verdict.INCOMPLETE:
        why = "; ".join(outcome["reasons"]) or outcome["outcome"]
        return (
            False,
            f"{outcome['cell']}: repeatability not measured ({why}); nothing may be compared with it",
        )
    repeats = outcome["record"]["measured"]["summary"]["repeats_in_process"]
    if repeats and outcome["verdict"] != Verdict.FAIL:
        return True, ""
    reason = outcome["reasons"][0]
    return False, f"{outcome['cell']}: REFERENCE NOT REPEATABLE ({reason}); nothing may be compared with it"


def judge(planned: Sequence[str], outcomes: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The preflight as a study stores it: comparisons are allowed only if every planned cell allows them.

    A repeatability cell must be usable as a reference, any other must not FAIL; a cell that is missing
    forbids comparisons as well.
    """
    found = {row["cell"]: row for row in outcomes}
    reasons = [f"{name}: not run" for name in planned if name not in found]
    for row in outcomes:
        if row["kind"] == "repeatability":
            usable, why = usable_as_reference(row)
            reasons += [] if usable else [why]
        elif row["verdict"] not in (Verdict.PASS, Verdict.WARN) or row["outcome"] != DONE:
            reasons.append(f"{row['cell']}: {row['verdict']} ({'; '.join(row['reasons'])})")
    return {
        "schema": SCHEMA,
        "verdict": overall(planned, {name: Verdict(row["verdict"]) for name, row in found.items()}),
        "comparisons_allowed": not reasons,
        "reasons": reasons,
    }
