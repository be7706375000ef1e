"""Verdicts and how they combine: FAIL > INCOMPLETE > WARN > PASS.

A cell that did not run can never yield PASS, and an empty list is INCOMPLETE: nothing was shown.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """Worst first; the order is the lattice."""

    FAIL = "FAIL"
    INCOMPLETE = "INCOMPLETE"
    WARN = "WARN"
    PASS = "PASS"


ORDER = list(Verdict)
EXIT_CODES = {Verdict.PASS: 0, Verdict.WARN: 0, Verdict.INCOMPLETE: 3, Verdict.FAIL: 4}


@dataclass(frozen=True)
class Judged:
    """A verdict with its reasons in plain words, and the numbers that were derived on the way."""

    verdict: Verdict
    reasons: list[str] = field(default_factory=list)
    derived: dict[str, Any] = field(default_factory=dict)


def judged(failures: list[str], warnings: list[str], derived: dict[str, Any] | None = None) -> Judged:
    """FAIL with a failure, else WARN with a warning, else PASS."""
    verdict = Verdict.FAIL if failures else Verdict.WARN if warnings else Verdict.PASS
    return Judged(verdict, failures + warnings, derived or {})


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; INCOMPLETE of none."""
    found = list(verdicts)
    return min(found, key=ORDER.index) if found else Verdict.INCOMPLETE
