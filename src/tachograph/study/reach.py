"""What the plan of a study can decide: its registered design as the design check of the method sees it.

Imported each time the Snakefile is read; the statistics (numpy, scipy) are imported only where they are needed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tachograph.errors import TachographError
from tachograph.models import Metric, Study
from tachograph.models.study import MARGIN_IN_SIGMA

if TYPE_CHECKING:
    from tachograph.evidence.design import Design

HALF_THE_MARGIN = "half of the margin"
BIT_FOR_BIT = "the runs of each seed agree bit for bit in the registered columns"
ALPHA = 0.05


def alpha_of(study: Study) -> float:
    """The registered error rate, 0.05 for a study without a decision rule."""
    return ALPHA if study.decision is None else study.decision.alpha


def other_arms(study: Study) -> list[str]:
    """All arms but the reference."""
    return [arm for arm in study.arms if arm != study.design.reference]


def design_of(study: Study, arm: str) -> Design:
    """``arm`` against the reference, as registered: one block per seed, runs of the same seed paired.

    Without a decision rule the effects and spreads are the defaults of the method.
    """
    from tachograph.evidence.design import Design

    blocks, rule, alpha = len(study.design.seeds), study.decision, alpha_of(study)
    plan = Design(
        reference_runs=blocks,
        fast_runs=blocks,
        blocks=blocks,
        paired_curves=True,
        margins={metric.column: metric.delta / sigma_of(metric) for metric in study.curves},
        alpha=alpha,
        confidence=1 - alpha,
        predicted_high=_largest_predicted(study, arm),
    )
    if study.curve_windows:
        plan = replace(plan, windows=len(study.curve_windows))
    return plan if rule is None else replace(plan, sd_log=rule.sd_log_factor, minimum_effect=rule.minimum_effect)


def sigma_of(metric: Metric) -> float:
    """SD between seeds of a metric, in its unit: as registered, or as assumed."""
    return metric.delta / MARGIN_IN_SIGMA if metric.sigma_seed is None else metric.sigma_seed


def _largest_predicted(study: Study, arm: str) -> float | None:
    predicted = study.prediction
    if predicted is None or predicted.quantity != "stage_factor" or predicted.arm != arm:
        return None
    return predicted.value if predicted.high is None else predicted.high


def refuse_undecidable(study: Study, file: str) -> None:
    """A confirmatory study whose rule cannot reach each of its outcomes is refused; an exploratory one never is.

    Raises TachographError with one sentence that names what is missing and the cheapest design that could.
    """
    if study.registration.kind != "confirmatory":
        return
    if study.decision is None:
        raise TachographError(
            f"{file}: decision: the table is missing, expected minimum_effect, sd_log_factor and reason in a "
            "confirmatory study; or mark the study exploratory"
        )
    if not other_arms(study):
        raise TachographError(f"{file}: arms: found one arm, expected two or more in a confirmatory study")
    if not study.curves:
        raise TachographError(
            f"{file}: curves: found none, expected at least one curve with its margin in a confirmatory study, "
            "as nothing can be adopted without; or mark the study exploratory"
        )
    from tachograph.evidence.design import refusal

    short = too_short(study)
    if short:
        raise TachographError(f"{file}: design.iterations: {short}; or mark the study exploratory")
    for arm in other_arms(study):
        sentence = refusal(design_of(study, arm))
        if sentence:
            raise TachographError(f"{file}: design.seeds: {arm}: {sentence}")


def too_short(study: Study) -> str | None:
    """Why no run could give a headline rate after its warm-up, or None."""
    from tachograph.evidence.throughput import MIN_RETAINED, MIN_RETAINED_SHARE

    iterations, kept = study.design.iterations, study.design.iterations - study.design.warmup
    if kept >= MIN_RETAINED and kept >= MIN_RETAINED_SHARE * iterations:
        return None
    return (
        f"found {iterations} of which {kept} are left after warm-up, expected at least {MIN_RETAINED} and half of "
        "them, else the factor has no headline"
    )


def reach(study: Study) -> dict[str, Any]:
    """``assumptions`` (sentences) and, for each arm, which outcomes are reachable and at which effect.

    ``outcomes`` are rows ``{"verdict", "reachable", "effect"}``; ``missing`` says in sentences what is out of reach,
    ``whatever_the_seeds`` what is not although no statistics reach it. Earlier records hold ``verdicts`` instead of
    ``outcomes``: there ADOPT takes MATCHED.
    """
    return {"assumptions": assumptions(study), "arms": [_arm(study, arm) for arm in other_arms(study)]}


def assumptions(study: Study) -> list[str]:
    """What is assumed about the spread, and on whose word."""
    rule = study.decision
    found = []
    if rule is not None:
        found.append(f"SD of the log factor between blocks: {rule.sd_log_factor:g} ({rule.reason})")
    for metric in study.curves:
        why = (
            f"registered; its margin: {metric.reason}"
            if metric.sigma_seed is not None
            else f"no pilot: {HALF_THE_MARGIN}"
        )
        found.append(f"SD of {metric.column} between seeds: {sigma_of(metric):.3g} ({why})")
    if study.curves:
        found.append("runs of the same seed are not more alike than others")
    return found


def _arm(study: Study, arm: str) -> dict[str, Any]:
    from tachograph.evidence.design import chance_to_match, check_design
    from tachograph.evidence.verdicts import CurveVerdict, Decision, SpeedVerdict

    design, rule, short = design_of(study, arm), study.decision, too_short(study)
    found = check_design(design)
    speed = [] if rule is None or short else found.speed
    curves = found.curves if study.curves else ()
    verdicts: dict[str, bool] = {
        SpeedVerdict.GAIN: SpeedVerdict.GAIN in speed,
        SpeedVerdict.NO_GAIN: SpeedVerdict.NO_GAIN in speed,
        CurveVerdict.IDENTICAL: CurveVerdict.IDENTICAL in curves,
        CurveVerdict.MATCHED: CurveVerdict.MATCHED in curves,
        CurveVerdict.NOT_MATCHED: CurveVerdict.NOT_MATCHED in curves,
    }
    agreeing = [verdict for verdict in (CurveVerdict.IDENTICAL, CurveVerdict.MATCHED) if verdicts[verdict]]
    verdicts[Decision.ADOPT] = verdicts[SpeedVerdict.GAIN] and bool(agreeing)
    verdicts[Decision.REJECT] = verdicts[SpeedVerdict.NO_GAIN] or (
        rule is not None and verdicts[CurveVerdict.NOT_MATCHED]
    )
    verdicts[Decision.HOLD] = True
    blocks, seeds = f", at an SD of {design.sd_log:g} between blocks", _assumed(study)
    matched = "differences below {:.2f} of every margin"
    chance = chance_to_match(design)
    if chance is not None:
        matched += f", which equal arms show with a probability of {_probability(chance)}"
    sessions = 1 if rule is None else rule.sessions
    gain = "a GAIN" if sessions == 1 else f"a GAIN in records of {sessions} sessions"
    effects: dict[str, str | None] = {
        SpeedVerdict.GAIN: _effect("a measured factor of {:.2f} or more" + blocks, found.gain_from),
        SpeedVerdict.NO_GAIN: _effect("a measured factor below {:.2f}" + blocks, found.no_gain_below),
        CurveVerdict.MATCHED: _effect(matched + seeds, found.matched_below),
        CurveVerdict.NOT_MATCHED: _effect("a difference of {:.2f} margins or more" + seeds, found.not_matched_from),
        CurveVerdict.IDENTICAL: BIT_FOR_BIT,
        Decision.ADOPT: f"{gain} and {' or '.join(agreeing)}{seeds if verdicts[CurveVerdict.MATCHED] else ''}",
    }
    return {
        "arm": arm,
        "blocks": design.blocks,
        "p_min": found.p_min,
        "alpha": design.alpha,
        "delta_star": found.delta_star,
        "outcomes": [
            {"verdict": str(verdict), "reachable": there, "effect": effects.get(verdict) if there else None}
            for verdict, there in verdicts.items()
        ],
        "missing": _missing(study, found.missing),
        "whatever_the_seeds": _whatever_the_seeds(study, verdicts[Decision.ADOPT]),
    }


def _whatever_the_seeds(study: Study, adoptable: bool) -> str | None:
    """What needs no statistics of seeds: curves that are the same bytes; None without curves."""
    if not study.curves:
        return None
    adopted = ", and then a GAIN is enough for ADOPT" if adoptable else ""
    return f"Whatever the number of seeds, the curves are IDENTICAL where {BIT_FOR_BIT}{adopted}"


def _assumed(study: Study) -> str:
    """On whose word the spread between seeds rests, to stand beside what follows from it."""
    columns = [metric.column for metric in study.curves if metric.sigma_seed is None]
    if not columns:
        return ", at the registered SD between seeds"
    return f", assuming (no pilot) that the SD between seeds is {HALF_THE_MARGIN} in {', '.join(columns)}"


def _probability(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else "less than 0.01"


def _missing(study: Study, found: tuple[str, ...]) -> list[str]:
    """What is out of reach, by the design check and for want of what it takes for granted."""
    missing = [sentence for sentence in found if study.curves or not sentence.startswith(("MATCHED", "NOT MATCHED"))]
    missing = [sentence + _assumed(study) if sentence.startswith("MATCHED") else sentence for sentence in missing]
    short = too_short(study)
    if short:
        missing.append(f"GAIN and NO GAIN: {short}")
    if study.decision is None:
        missing.append("GAIN, NO GAIN, ADOPT and REJECT: no decision rule is registered")
    if not study.curves:
        missing.append("MATCHED, NOT MATCHED and ADOPT: no curve is registered with a margin")
    return missing


def _effect(sentence: str, value: float | None) -> str | None:
    return None if value is None else sentence.format(value)
