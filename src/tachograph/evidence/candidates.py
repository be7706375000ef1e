"""Candidates: ideas that were measured, and kept or rejected for a reason that stands beside the figures."""

from __future__ import annotations

from dataclasses import dataclass

from tachograph.evidence.interval import Factor
from tachograph.evidence.verdicts import CurveVerdict, ParityVerdict, Reason

REJECTING = {CurveVerdict.NOT_MATCHED, CurveVerdict.INVALID}


@dataclass(frozen=True)
class CandidateJudgement:
    """``kept`` or rejected for ``reason``; ``sentence`` holds the figures in both cases."""

    kept: bool
    reason: Reason | None
    sentence: str


def bad_steps(bad: int, steps: int, unit: str = "steps") -> str:
    """How many steps had rows that are not finite, as the record prints it."""
    return f"{bad}/{steps} ({bad / steps:.2%}) {unit} with NaN rows"


def judge_candidate(
    factor: Factor | None,
    minimum_effect: float,
    parity: ParityVerdict,
    nonfinite_steps: int,
    steps: int,
    superseded_by: str | None = None,
    curves: CurveVerdict | None = None,
    unit: str = "steps",
) -> CandidateJudgement:
    """Keep a candidate iff its outputs are finite and in parity and it gains at least ``minimum_effect``.

    With an interval its lower bound must reach the minimum; the point estimate of a single session never
    keeps a candidate. The speed of a rejected one is still told. ``curves`` is the verdict over whole runs, where
    such were made: they are short, so that only a shown difference rejects. ``steps`` are counted in ``unit``.
    Raises ValueError for ``steps`` < 1.
    """
    if steps < 1:
        raise ValueError(f"a candidate is judged over real batches, found {steps} steps")
    speed = "no factor" if factor is None else f"{factor.factor:.2f}x"
    if factor is not None and factor.low is not None:
        speed += f" [{factor.low:.2f}, {factor.high:.2f}]"
    told = f"{speed}; {bad_steps(nonfinite_steps, steps, unit)}"
    told += f"; parity {parity}" if curves is None else f"; curves {curves}"
    if nonfinite_steps or parity is ParityVerdict.FAIL:
        return CandidateJudgement(False, Reason.INVALID_OUTPUT, told)
    if parity not in {ParityVerdict.PASS, ParityVerdict.NOT_REGISTERED} or curves in REJECTING:
        return CandidateJudgement(False, Reason.NOT_MATCHED, told)
    if superseded_by is not None:
        return CandidateJudgement(False, Reason.SUPERSEDED, f"{told}; superseded by {superseded_by}")
    if factor is None or factor.low is None or factor.low < minimum_effect:
        return CandidateJudgement(False, Reason.NO_GAIN, f"{told}; no gain of {minimum_effect:g}x is shown")
    return CandidateJudgement(True, None, told)
