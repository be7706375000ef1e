"""From numbers to words: curve verdict, speed verdict, prediction, decision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite

from tachograph.evidence.amdahl import too_good
from tachograph.evidence.difference import Difference
from tachograph.evidence.equivalence import Equivalence
from tachograph.evidence.interval import Factor
from tachograph.evidence.judging import Judged
from tachograph.evidence.verdicts import (
    CurveVerdict,
    Decision,
    ParityVerdict,
    PredictionVerdict,
    SpeedVerdict,
    told,
)
from tachograph.wording import counted, share


@dataclass(frozen=True)
class CurveJudgement:
    """``why`` gives the ground of the verdict, ``sentence`` also what the tests found."""

    verdict: CurveVerdict
    why: str
    sizes: str = ""

    @property
    def sentence(self) -> str:
        return f"{self.why}; {self.sizes}" if self.sizes else self.why


def curve_verdict(
    identical: bool,
    difference: Judged[Difference],
    equivalence: Judged[Equivalence],
    alpha: float = 0.05,
    gates_ok: bool = True,
    runs: str = "so few runs",
) -> CurveJudgement:
    """The verdict table of the method, for results of the tests D and E or the reasons why there are none.

    With a design in which D cannot reject and E could not pass, and whenever either test could not be
    computed, the answer is NO VERDICT. ``runs`` says in words how many were compared.
    """
    if not gates_ok:
        return CurveJudgement(CurveVerdict.INVALID, "a run did not pass its gates")
    if identical:
        return CurveJudgement(CurveVerdict.IDENTICAL, "runs with the same seed are identical in the compared columns")
    d, e = difference.result, equivalence.result
    if d is None:
        return CurveJudgement(CurveVerdict.NO_VERDICT, difference.reason or "test D was not computed")
    toothless = d.p_min > alpha
    if e is None:
        prefix = f"p_min {d.p_min:.3g} exceeds {alpha:g}; " if toothless else ""
        return CurveJudgement(CurveVerdict.NO_VERDICT, prefix + (equivalence.reason or "test E was not computed"))
    sizes = f"p = {d.p:.3g}, δ* = {e.delta_star:.2f}"
    if toothless and not e.passes:
        why = f"{runs} cannot tell the arms apart (p_min {d.p_min:.3g} > {alpha:g})"
        return CurveJudgement(CurveVerdict.NO_VERDICT, why, sizes)
    rejects = d.rejects(alpha)
    if e.passes and not rejects:
        return CurveJudgement(CurveVerdict.MATCHED, "within the registered margins", sizes)
    if e.passes:
        why = f"a real difference ({d.metric}, iteration {d.iteration}) within the margins"
        return CurveJudgement(CurveVerdict.MATCHED_DIFFERENT, why, sizes)
    if rejects and e.some_outside:
        cell = next(cell for cell in e.cells if cell.outside)
        why = f"{cell.metric} ({cell.window}) differs by more than its margin"
        return CurveJudgement(CurveVerdict.NOT_MATCHED, why, sizes)
    if rejects:
        return CurveJudgement(CurveVerdict.SIZE_UNRESOLVED, "different, by how much is open", sizes)
    needed = e.seeds_needed
    more = (
        "no number of seeds settles it at this difference"
        if needed is None
        else f"{counted(needed, 'seed')} per arm needed"
    )
    why = f"shown neither to differ nor to lie within the margins, {more}"
    return CurveJudgement(CurveVerdict.INCONCLUSIVE, why, sizes)


@dataclass(frozen=True)
class SpeedJudgement:
    """``uncapped`` is what the interval alone would say; ``caps`` are the reasons for PROVISIONAL.

    ``why`` is the ground of a verdict that is neither GAIN nor NO GAIN.
    """

    verdict: SpeedVerdict
    uncapped: SpeedVerdict
    caps: tuple[str, ...]
    why: str = ""

    @property
    def sentence(self) -> str:
        """The verdict in words; a provisional one says what it would be, and what stands against it."""
        if self.verdict is not SpeedVerdict.PROVISIONAL:
            return told("the speed", self.verdict, self.why)
        more = f" and {len(self.caps) - 1} more" if len(self.caps) > 1 else ""
        return f"the speed is {self.verdict} ({self.uncapped} but for this: {self.caps[0]}{more})"


def speed_verdict(
    factor: Judged[Factor],
    minimum_effect: float,
    caps: Sequence[str] = (),
    unsteady: str | None = None,
    ceiling: float = inf,
    parity: ParityVerdict = ParityVerdict.NOT_REGISTERED,
    ceiling_origin: str = "registered",
) -> SpeedJudgement:
    """GAIN iff the interval's lower bound reaches ``minimum_effect``, NO GAIN iff its upper bound does not.

    Any of ``caps`` (contention, realised order, clocks, a large placebo, a slow-down) turns both into
    PROVISIONAL. ``unsteady``: why no headline exists (too few iterations, no steady state): NO VERDICT.
    A factor beyond the ``ceiling`` (``ceiling_origin`` says whose) is INVALID until ``parity`` is a PASS.
    """
    f = factor.result
    if f is None or unsteady:
        why = (unsteady if f is not None else factor.reason) or "there is no factor"
        return SpeedJudgement(SpeedVerdict.NO_VERDICT, SpeedVerdict.NO_VERDICT, tuple(caps), why)
    why = f"the interval holds {minimum_effect:g}"
    if f.low is None or f.high is None:
        found, why = SpeedVerdict.UNRESOLVED, f"no interval: {f.note}" if f.note else "no interval"
    elif f.low >= minimum_effect:
        found = SpeedVerdict.GAIN
    elif f.high < minimum_effect:
        found = SpeedVerdict.NO_GAIN
    else:
        found = SpeedVerdict.UNRESOLVED
    unbelievable = None if parity is ParityVerdict.PASS else too_good(f.factor, ceiling, ceiling_origin)
    if unbelievable:
        return SpeedJudgement(SpeedVerdict.INVALID, found, (unbelievable, *caps), unbelievable)
    if found is SpeedVerdict.UNRESOLVED:
        return SpeedJudgement(found, found, tuple(caps), why)
    return SpeedJudgement(SpeedVerdict.PROVISIONAL if caps else found, found, tuple(caps))


@dataclass(frozen=True)
class Prediction:
    """A registered interval [low, high], or a point (low = high), for a factor or a rate."""

    low: float
    high: float


@dataclass(frozen=True)
class PredictionJudgement:
    """``ratio`` = measured / predicted, against the middle (geometric) of an interval."""

    verdict: PredictionVerdict
    measured: float
    ratio: float
    sentence: str


def judge_prediction(
    prediction: Prediction, measured: float, low: float | None, high: float | None
) -> PredictionJudgement:
    """CONFIRMED iff the measured interval lies inside the predicted one, REFUTED iff they do not meet.

    Without a measured interval nothing is confirmed or refuted. Raises ValueError for a prediction that is
    no interval of positive numbers.
    """
    if not 0 < prediction.low <= prediction.high < inf:
        raise ValueError(f"a prediction needs 0 < low <= high, found {prediction.low} and {prediction.high}")
    centre = (prediction.low * prediction.high) ** 0.5
    ratio = measured / centre
    if not isfinite(measured) or low is None or high is None:
        verdict = PredictionVerdict.UNRESOLVED
    elif prediction.low <= low and high <= prediction.high:
        verdict = PredictionVerdict.CONFIRMED
    elif high < prediction.low or low > prediction.high:
        verdict = PredictionVerdict.REFUTED
    else:
        verdict = PredictionVerdict.UNRESOLVED
    what = f"{prediction.low:,.4g}"
    if prediction.low != prediction.high:
        what += f" to {prediction.high:,.4g}"
    sentence = f"predicted {what}, measured {measured:,.4g}: measured/predicted {ratio:.2f}, {verdict}"
    return PredictionJudgement(verdict, measured, ratio, sentence)


@dataclass(frozen=True)
class DecisionJudgement:
    decision: Decision
    sentence: str


_ACCEPTED = {CurveVerdict.IDENTICAL, CurveVerdict.MATCHED}
_PARITY_ACCEPTED = {ParityVerdict.PASS, ParityVerdict.NOT_REGISTERED}


def decide(
    speed: SpeedVerdict,
    curve: CurveVerdict,
    parity: ParityVerdict,
    sessions: int = 1,
    sessions_registered: int = 1,
    detectable_difference_allowed: bool = False,
    speed_told: str | None = None,
    curve_why: str = "",
    incomplete: str | None = None,
) -> DecisionJudgement:
    """The registered rule, for every combination of verdicts; the sentence names every cause, not the first alone.

    ADOPT needs a GAIN in the registered number of sessions, matched curves and parity, and a complete plan; NO GAIN,
    curves that do not match or are INVALID (an output of the arm failed a gate) and failed parity REJECT; everything
    else is HOLD, such as a run that is invalid for another reason or not of this arm. ``speed_told`` is the speed in
    words, its verdict alone unless given; ``curve_why`` the ground of the verdict on the curves; ``incomplete`` says
    what of the plan is missing, which holds as well.
    """
    against = []
    if parity is ParityVerdict.FAIL:
        against.append("the numerics parity failed")
    if curve in {CurveVerdict.NOT_MATCHED, CurveVerdict.INVALID}:
        against.append(told("the curves", curve, curve_why))
    if speed is SpeedVerdict.NO_GAIN:
        against.append("the gain is below the registered minimum")
    if against:
        return DecisionJudgement(Decision.REJECT, "; ".join(against))
    open_yet = []
    if speed is not SpeedVerdict.GAIN:
        open_yet.append(speed_told or told("the speed", speed))
    if curve not in _ACCEPTED and not (curve is CurveVerdict.MATCHED_DIFFERENT and detectable_difference_allowed):
        open_yet.append(told("the curves", curve, curve_why))
    if parity not in _PARITY_ACCEPTED:
        open_yet.append(told("the numerics parity", parity))
    if sessions < sessions_registered:
        open_yet.append(f"{sessions} of {counted(sessions_registered, 'registered session')} made so far")
    if incomplete:
        open_yet.append(incomplete)
    if open_yet:
        return DecisionJudgement(Decision.HOLD, "; ".join(open_yet))
    many = "one session" if sessions == 1 else f"{sessions} sessions"
    return DecisionJudgement(Decision.ADOPT, f"faster by the registered minimum, curves {curve}, in {many}")


def decide_over_sessions(own: Sequence[Decision], registered: int) -> DecisionJudgement:
    """The rule over several sessions, from what each of them alone would decide.

    ADOPT needs the registered number of sessions and none against it; REJECT that all of them reject. A false
    improvement must not become the next baseline, so sessions that disagree are HOLD.
    """
    adopting, rejecting = (sum(one is kind for one in own) for kind in (Decision.ADOPT, Decision.REJECT))
    count = (
        f"{share(adopting, len(own), 'session', 'adopts', 'adopt')}, {counted(rejecting, 'rejects', 'reject')}, "
        f"{registered} registered"
    )
    if own and rejecting == len(own):
        return DecisionJudgement(Decision.REJECT, count)
    if not rejecting and adopting >= registered:
        return DecisionJudgement(Decision.ADOPT, count)
    return DecisionJudgement(Decision.HOLD, count)
