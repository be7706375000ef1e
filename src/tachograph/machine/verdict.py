"""Verdicts and how they combine: FAIL > INCOMPLETE > WARN > PASS.

A cell that did not run can never yield PASS, and an empty list is INCOMPLETE: nothing was shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """Worst first; the order is the lattice."""

    FAIL = "FAIL"
    INCOMPLETE = "INCOMPLETE"
    WARN = "WARN"
    PASS = "PASS"


ORDER = list(Verdict)
EXIT_CODES = {Verdict.PASS: 0, Verdict.WARN: 0, Verdict.INCOMPLETE: 3, Verdict.FAIL: 4}


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; INCOMPLETE of none."""
    found = list(verdicts)
    return min(found, key=ORDER.index) if found else Verdict.INCOMPLETE
