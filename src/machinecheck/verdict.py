"""The verdict of one cell, and how those of its parts combine: FAIL > INCOMPLETE > WARN > PASS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; INCOMPLETE of none."""
    found = list(verdicts)
    return min(found, key=ORDER.index) if found else Verdict.INCOMPLETE


@dataclass(frozen=True)
class Result:
    """What a cell found: its verdict, the reasons in plain words, and the numbers."""

    verdict: Verdict
    reasons: list[str] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)


def combine(parts: Mapping[str, tuple[Verdict, list[str]]]) -> tuple[Verdict, list[str]]:
    """Worst verdict of named parts, with each reason headed by its part's name."""
    reasons = [f"{name}: {reason}" for name, (_, found) in parts.items() for reason in found]
    return worst(verdict for verdict, _ in parts.values()), reasons


def numbers_of(judged: Mapping[str, Any]) -> dict[str, Any]:
    """A judged comparison without its verdict and reasons, which the result holds once."""
    return {name: value for name, value in judged.items() if name not in ("verdict", "reasons")}
