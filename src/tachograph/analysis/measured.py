"""What was measured of one candidate, whichever way it was measured."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from tachograph.evidence.cost import BreakEven
from tachograph.evidence.interval import Factor
from tachograph.evidence.judging import Judged
from tachograph.evidence.verdicts import CurveVerdict, ParityVerdict


@dataclass(frozen=True)
class OnceOnly:
    """What a candidate costs once: ``first_seconds`` with caches as they were, ``later_seconds`` with filled ones.

    None: unknown. ``base_seconds``: what the arm itself costs once. ``ahead``: after how many units of ``unit`` the
    candidate is ahead of the arm, its first cost included, were all but the compared quantity the same.
    """

    first_seconds: float | None
    later_seconds: float | None
    base_seconds: float
    ahead: BreakEven
    unit: str


@dataclass(frozen=True)
class Measured:
    """``part`` was timed, in ``unit`` per second; ``pairs`` hold the rates of ``base`` and ``candidate``.

    ``factor`` is candidate over base. Of ``steps`` on either side (counted in ``step_unit``) ``nonfinite_steps`` had
    numbers that are not finite in the candidate's output, ``base_nonfinite_steps`` in the base's. ``parity`` compares
    with float64, ``curves`` whole runs (None where none were made); both with a sentence. Of training runs in turn
    also: ``work``, the mean of an iteration on either side, in ``work_unit``, and ``iteration``, the factor of the
    whole iteration where another quantity is judged.
    """

    part: str
    unit: str
    pairs: list[dict[str, Any]]
    factor: Judged[Factor]
    steps: int
    step_unit: str
    nonfinite_steps: int
    base_nonfinite_steps: int
    parity: ParityVerdict
    parity_sentence: str
    once: OnceOnly | None
    tensors: list[dict[str, Any]] = field(default_factory=list)
    curves: CurveVerdict | None = None
    curves_sentence: str | None = None
    work: dict[str, float] | None = None
    work_unit: str | None = None
    iteration: Judged[Factor] | None = None

    def as_row(self) -> dict[str, Any]:
        found = self.factor.result
        return {
            "part": self.part,
            "unit": self.unit,
            "pairs": self.pairs,
            "factor": None if found is None else found.factor,
            "low": None if found is None else found.low,
            "high": None if found is None else found.high,
            "confidence": None if found is None else found.confidence,
            "note": self.factor.reason if found is None else found.note,
            "steps": self.steps,
            "step_unit": self.step_unit,
            "nonfinite_steps": self.nonfinite_steps,
            "base_nonfinite_steps": self.base_nonfinite_steps,
            "parity": str(self.parity),
            "parity_sentence": self.parity_sentence,
            "tensors": self.tensors,
            "curves": None if self.curves is None else str(self.curves),
            "curves_sentence": self.curves_sentence,
            "once": None if self.once is None else asdict(self.once),
            "work": self.work,
            "work_unit": self.work_unit,
            "iteration": None if self.iteration is None else _interval(self.iteration),
        }


def _interval(judged: Judged[Factor]) -> dict[str, Any]:
    """A factor that is told beside the one that counts, or why there is none."""
    found = judged.result
    if found is None:
        return {"factor": None, "low": None, "high": None, "reason": judged.reason}
    return {"factor": found.factor, "low": found.low, "high": found.high, "reason": None}


def pair_rows(base: list[float], candidate: list[float]) -> list[dict[str, Any]]:
    """The rates of every pair, and their ratio."""
    return [{"base": b, "candidate": c, "factor": c / b} for b, c in zip(base, candidate, strict=True)]
