"""What must be read with a factor although it forbids nothing: remarks, beside the reservations that cap a verdict.

Only calibrated tests make a verdict PROVISIONAL (statistics.md, 3.1): with bare thresholds most studies of stationary
runs would have a capped one. A change that such a test does not call is shown all the same, so it is said.
"""

from __future__ import annotations

from math import exp, log
from typing import Any

from tachograph.analysis.factors import HEADLINE, factor_of, headline_factor
from tachograph.analysis.rates import LONGER, SENSITIVITY, WINDOW
from tachograph.evidence.interval import Factor
from tachograph.evidence.warmup import RELEVANT, Outcome

Row = dict[str, Any]
LARGE = 0.1  # relative; a change within a run that is told however wide the interval of the factor is


def remarks(analysis: Row) -> list[Row]:
    """``{"arm", "sentence"}`` for every arm but the reference that has a headline factor; ``arm`` as in reservations.

    Told are an interval of two blocks, a change within runs that is larger than the interval of the factor reaches
    to either side (or than a tenth), a warm-up longer than registered, and a factor that leaves the interval of the
    headline when other iterations count.
    """
    held = analysis["registration"]
    reference = held["design"]["reference"]
    measured = {arm: one for arm in held["arm_order"] if (one := headline_factor(analysis["factors"], arm))}
    if not analysis["steadiness"]["headline"] or not measured:
        return []
    found: list[Row] = []
    for arm, factor in measured.items():
        if factor.note:
            found.append({"arm": arm, "sentence": f"the interval of the factor of {arm}: {factor.note}"})
        found += _window(analysis["factors"], arm, factor)
    reach = {arm: _reach(factor) for arm, factor in measured.items()}
    runs = analysis["steadiness"]["runs"]
    found += _changes(runs, reference, min(reach.values()), None)
    for arm in measured:
        found += _changes(runs, arm, reach[arm], arm)
    return found


def _reach(factor: Factor) -> float:
    """How far, relatively, the interval reaches to the upper side; the least relevant change where there is none."""
    if factor.high is None:
        return RELEVANT
    return min(max(factor.high / factor.factor - 1, RELEVANT), LARGE)


def _changes(runs: list[Row], arm: str, reach: float, concerned: str | None) -> list[Row]:
    """Runs of ``arm`` that changed by more than ``reach`` without being called unsteady, in one sentence."""
    told, longer = [], []
    for one in runs:
        if one["arm"] != arm:
            continue
        change = max(one["change"], one["halves"], key=lambda value: abs(log(1 + value)))
        if one["outcome"] == Outcome.LONGER_WARMUP:
            longer.append(one["run"])
        if one["outcome"] in (Outcome.STEADY, Outcome.LONGER_WARMUP) and abs(log(1 + change)) > log(1 + reach):
            told.append(f"{one['run']} {change:+.1%}")
    found = []
    if longer:
        sentence = f"the warm-up seems longer than registered in {', '.join(longer)}"
        found.append({"arm": concerned, "sentence": f"{sentence}; the headline stays with the registered one"})
    if told:
        sentence = (
            f"iterations at equal work changed their duration after the warm-up by more than {reach:.1%}, in "
            f"{', '.join(told)}: no trend was shown in so few of them, and none was excluded"
        )
        found.append({"arm": concerned, "sentence": sentence})
    return found


def _window(factors: list[Row], arm: str, headline: Factor) -> list[Row]:
    """Whether the factor depends on which iterations count: those of the sensitivity rows and of the second window."""
    rows = {kind: one for kind in (*SENSITIVITY, LONGER, WINDOW) if (one := factor_of(factors, arm, HEADLINE[0], kind))}
    low, high = headline.low, headline.high
    if low is None or high is None:
        low, high = headline.factor * exp(-RELEVANT), headline.factor * exp(RELEVANT)
    outside = [one for one in rows.values() if not low <= one.factor <= high]
    if not outside:
        return []
    windows = {one["kind"]: one["window"] for one in factors}
    told = ", ".join(f"{one.factor:.2f}x over {windows[kind]}" for kind, one in rows.items())
    bounds = "differs by more than 2 %" if headline.low is None else f"lies outside of {low:.2f} to {high:.2f}"
    which = " and ".join(f"{one.factor:.2f}x" for one in outside)
    sentence = f"the factor of {arm} depends on which iterations count: {headline.factor:.2f}x is the headline, {told}"
    return [{"arm": arm, "sentence": f"{sentence}; {which} {bounds}"}]
