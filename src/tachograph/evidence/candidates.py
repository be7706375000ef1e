"""Candidates: ideas that were measured, and kept or rejected for a reason that stands beside the figures."""

from __future__ import annotations

from dataclasses import dataclass

from tachograph.evidence.interval import Factor
from tachograph.evidence.verdicts import CandidateVerdict, CurveVerdict, ParityVerdict, Reason
from tachograph.wording import counted

REJECTING = {CurveVerdict.NOT_MATCHED, CurveVerdict.INVALID}
SHOWING = {CurveVerdict.IDENTICAL, CurveVerdict.MATCHED}
UNRELIABLE_BASE = {ParityVerdict.REFERENCE_BROKEN, ParityVerdict.REFERENCE_NOT_REPEATABLE}


@dataclass(frozen=True)
class CandidateJudgement:
    """KEPT, REJECTED or NO VERDICT, all but KEPT for ``reason``; ``sentence`` holds the figures in each case."""

    verdict: CandidateVerdict
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
    base_nonfinite_steps: int = 0,
    detectable_difference_allowed: bool = False,
) -> CandidateJudgement:
    """Keep a candidate iff its outputs are finite, a gain of ``minimum_effect`` and the same numerics are shown.

    With an interval its lower bound must reach the minimum; the point estimate of a single session never
    keeps a candidate. The speed of a rejected one is still told. ``curves`` is the verdict over whole runs, where
    such were made: they are short, so that only a shown difference rejects. The numerics are shown by ``parity`` or,
    as for ADOPT, by curves that match (statistics.md, 3.6); a gain without either gives no verdict. ``steps`` are
    counted in ``unit``, on either side. Raises ValueError for ``steps`` < 1.
    """
    if steps < 1:
        raise ValueError(f"a candidate is judged over real batches, found {counted(steps, 'step')}")
    speed = "no factor" if factor is None else f"{factor.factor:.2f}x"
    if factor is not None and factor.low is not None:
        speed += f" [{factor.low:.2f}, {factor.high:.2f}]"
    told = f"{speed}; {bad_steps(nonfinite_steps, steps, unit)}, of the base {base_nonfinite_steps}/{steps}"
    told += "" if parity is ParityVerdict.NOT_REGISTERED and curves is not None else f"; parity {parity}"
    told += "" if curves is None else f"; curves {curves}"

    def rejected(reason: Reason, why: str = "") -> CandidateJudgement:
        return CandidateJudgement(CandidateVerdict.REJECTED, reason, told + why)

    if nonfinite_steps or parity is ParityVerdict.FAIL:
        return rejected(Reason.INVALID_OUTPUT)
    if parity in UNRELIABLE_BASE or curves in REJECTING:
        return rejected(Reason.NOT_MATCHED)
    if factor is None or factor.low is None or factor.low < minimum_effect:
        excluded = factor is not None and factor.high is not None and factor.high < minimum_effect
        return rejected(
            Reason.NO_GAIN, f"; a gain of {minimum_effect:g}x is not shown{'' if excluded else ', nor excluded'}"
        )
    accepted = SHOWING | ({CurveVerdict.MATCHED_DIFFERENT} if detectable_difference_allowed else set())
    if parity is not ParityVerdict.PASS and curves not in accepted:
        why = f"; a gain of {minimum_effect:g}x is shown, but neither numerics parity nor matched curves are"
        return CandidateJudgement(CandidateVerdict.NO_VERDICT, Reason.NUMERICS_NOT_SHOWN, told + why)
    if superseded_by is not None:
        return rejected(Reason.SUPERSEDED, f"; superseded by {superseded_by}")
    return CandidateJudgement(CandidateVerdict.KEPT, None, told)
