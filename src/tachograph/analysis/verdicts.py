"""Verdicts in the fixed vocabulary; what cannot be judged is NO VERDICT, never a pass."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from tachograph.analysis.curves import curve_of
from tachograph.analysis.rates import retained_rates
from tachograph.analysis.refusal import comparison_refused
from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence.curves import (
    CurveError,
    Curves,
    Window,
    align,
    default_windows,
    identical,
    repeatability,
    seed_correlation,
)
from tachograph.evidence.decision import Prediction, curve_verdict, judge_prediction
from tachograph.evidence.design import Design, half_width
from tachograph.evidence.difference import Difference, difference_test
from tachograph.evidence.equivalence import Equivalence, equivalence_test
from tachograph.evidence.gates import OF_THE_OUTPUT
from tachograph.evidence.interval import rate_interval, t_quantile
from tachograph.evidence.judging import Judged, judged
from tachograph.evidence.randomness import generator
from tachograph.evidence.verdicts import CurveVerdict, PredictionVerdict
from tachograph.study.reach import alpha_of
from tachograph.study.registration import current
from tachograph.wording import counted


def curve_verdicts(sealed: SealedStudy) -> list[dict[str, Any]]:
    """One verdict per arm about all registered curves together (tests D and E of statistics.md, 3.2).

    Runs of the same seed are paired where both arms have the same seeds, unless the reference does not repeat; the
    windows are the registered ones, else thirds of a run.
    """
    return [_judged_curves(sealed, arm) for arm in sealed.other_arms]


def _judged_curves(sealed: SealedStudy, arm: str) -> dict[str, Any]:
    one = judged("the curves", lambda: _curve_verdict(sealed, arm))
    if one.result is None:
        return {"arm": arm, "verdict": str(CurveVerdict.NO_VERDICT), "sentence": one.reason, "metrics": []}
    return one.result


def _curve_verdict(sealed: SealedStudy, arm: str) -> dict[str, Any]:
    metrics = [metric.column for metric in sealed.study.curves]
    if not metrics:
        why = "no curve is registered with a margin"
        return {"arm": arm, "verdict": str(CurveVerdict.NO_VERDICT), "sentence": why, "metrics": []}
    refused = comparison_refused(sealed)
    if refused is not None:
        return {"arm": arm, "verdict": str(CurveVerdict.NO_VERDICT), "sentence": refused, "metrics": metrics}
    alpha = alpha_of(sealed.study)
    found: dict[str, Any] = {"arm": arm, "metrics": metrics, "alpha": alpha}
    gate = failed_gate(sealed, arm)
    if gate:
        return {**found, "verdict": str(CurveVerdict.INVALID), "sentence": gate}
    noise = repeat_noise(sealed, metrics)
    aligned = judged("the curves", lambda: _aligned(sealed, arm, metrics, noise["usable"]))
    if aligned.result is None:
        return {**found, "verdict": str(CurveVerdict.NO_VERDICT), "sentence": aligned.reason}
    rng = generator(current(sealed.registration)["sha256"], f"difference {arm}")
    return {**found, **judge_lines(sealed, aligned.result, rng), "repeat_noise": noise}


def judge_lines(sealed: SealedStudy, lines: Curves, rng: np.random.Generator) -> dict[str, Any]:
    """Verdict and tests on aligned curves, with the registered margins and error rate."""
    alpha = alpha_of(sealed.study)
    resolutions = {metric.column: metric.resolution or 0.0 for metric in sealed.study.curves}
    resolution = [resolutions[metric] for metric in lines.metrics]
    difference = judged("test D", lambda: difference_test(lines, rng, alpha, resolution))
    margins = {metric.column: metric.delta for metric in sealed.study.curves}
    registered = [Window(one.name, one.first, one.last) for one in sealed.study.curve_windows]
    equivalence = judged(
        "test E", lambda: equivalence_test(lines, margins, registered or default_windows(lines.iteration), alpha)
    )
    runs = f"{lines.k} + {lines.m} runs"
    judgement = curve_verdict(identical(lines), difference, equivalence, alpha, runs=runs)
    evaluated = lines.evaluated()
    return {
        "verdict": str(judgement.verdict),
        "sentence": judgement.sentence,
        "why": judgement.why,
        "reference_runs": lines.k,
        "runs": lines.m,
        "paired": lines.paired,
        "seed_correlation": seed_correlation(lines),
        "difference": _difference(difference),
        "equivalence": _equivalence(equivalence),
        **({"evaluated": evaluated} if evaluated else {}),
    }


def repeat_noise(sealed: SealedStudy, metrics: list[str]) -> dict[str, Any]:
    """How far the reference lies from itself with the same seed (A/A) and from its other seeds, metric by metric.

    ``usable`` False: repeats differ as much as seeds do, so runs of the same seed are no pairs (statistics.md, 3.2);
    None where no pair of runs shows it.
    """
    reference, seed = sealed.study.design.reference, sealed.study.design.seeds[0]
    pair = [sealed.runs.get(f"{role}-{reference}-seed{seed}") for role in ("run", "aa")]
    first, second = (None if run is None else curve_of(run, metrics) for run in pair)
    if first is None or second is None:
        return {"usable": None, "reason": "the reference was not run twice with the same seed"}
    others = [curve_of(run, metrics) for run in sealed.of_arm(reference) if run.planned.seed != seed]
    found = judged("A/A", lambda: repeatability(first, second, others, metrics, sealed.trainer.history.sparse_metrics))
    return {"usable": False, "reason": found.reason} if found.result is None else asdict(found.result)


def failed_gate(sealed: SealedStudy, arm: str) -> str | None:
    """Which run of ``arm`` went to its end and then failed a gate, such as rows that are not finite; None if none did.

    A run that was killed or that the trainer itself gave up says nothing about what the arm computes, nor does a step
    of a clock or the state of a cache.
    """
    for run in sealed.planned:
        if run.role == "run" and run.arm == arm:
            settled = sealed.state.settled(run)
            if settled is not None and settled.gate in OF_THE_OUTPUT:
                return f"{run.key} did not pass its gates: {settled.reason}"
    return None


def _aligned(sealed: SealedStudy, arm: str, metrics: list[str], repeats: bool | None) -> Curves:
    """Runs of the same seed are paired unless the reference is known not to repeat."""
    reference = [curve_of(run, metrics) for run in sealed.of_arm(sealed.study.design.reference)]
    other = [curve_of(run, metrics) for run in sealed.of_arm(arm)]
    paired = repeats is not False and {run.seed for run in reference} == {run.seed for run in other}
    if not reference or not other:
        found = counted(len(reference), "reference run")
        raise CurveError(f"{found} and {counted(len(other), 'run')} of {arm} count, expected one or more of each")
    return align(reference, other, metrics, paired, sealed.trainer.history.sparse_metrics)


def _difference(test: Judged[Difference]) -> dict[str, Any]:
    return {"reason": test.reason} if test.result is None else asdict(test.result)


def _equivalence(test: Judged[Equivalence]) -> dict[str, Any]:
    if test.result is None:
        return {"reason": test.reason}
    return {**asdict(test.result), "passes": test.result.passes, "seeds_needed": test.result.seeds_needed}


def prediction(
    sealed: SealedStudy, factors: list[dict[str, Any]], runs: list[dict[str, Any]], unsteady: str | None
) -> dict[str, Any]:
    """The registered prediction against what was measured after warm-up; ``ratio`` = measured / predicted.

    A factor is judged with its interval over blocks, a throughput with that over the runs of its arm (a single run
    borrows the spread of the reference). ``n`` blocks or runs (``n_of``) are what it rests on; ``note`` says what
    weakens the interval; ``resolution`` is the factor by which so many blocks are expected to be off either way, by
    the registered spread between blocks. Where there is no headline it is not tested: ``unsteady`` says why.
    """
    predicted = sealed.study.prediction
    if predicted is None:
        return {"registered": False, "reason": "no prediction is registered"}
    entry = {"registered": True, **predicted.model_dump(mode="json"), "measured": None, "ratio": None}
    if unsteady is not None:
        return {**entry, "verdict": str(PredictionVerdict.NOT_TESTED), "reason_not_tested": unsteady}
    quantity = "iteration" if predicted.quantity == "iteration_factor" else "stage"
    factor = next(
        f for f in factors if f["numerator"] == predicted.arm and f["quantity"] == quantity and f["kind"] == "retained"
    )
    low = predicted.value if predicted.low is None else predicted.low
    high = predicted.value if predicted.high is None else predicted.high
    bounds: Sequence[float | None]
    if predicted.quantity == "stage_throughput":
        measured, *bounds = _mean_rate(sealed, predicted.arm, runs)
        rests = _rests_on_runs(sealed, predicted.arm, runs)
    else:
        measured, bounds = factor["factor"], (factor["low"], factor["high"])
        rests = _rests_on_blocks(sealed, factor)
    if measured is None:
        reason = factor.get("reason", "no run of this arm counts")
        return {**entry, "verdict": str(PredictionVerdict.NOT_TESTED), "reason_not_tested": reason}
    found = judged("the prediction", lambda: judge_prediction(Prediction(low, high), measured, *bounds))
    if found.result is None:
        return {**entry, "verdict": str(PredictionVerdict.NOT_TESTED), "reason_not_tested": found.reason}
    return {
        **entry,
        "verdict": str(found.result.verdict),
        "measured": measured,
        "ratio": measured / predicted.value,
        "window": factor["window"],
        "interval": list(bounds),
        "confidence": 1 - alpha_of(sealed.study),
        **rests,
        "unit": factor["unit"] if predicted.quantity == "stage_throughput" else "times the reference",
    }


def _rests_on_blocks(sealed: SealedStudy, factor: dict[str, Any]) -> dict[str, Any]:
    """How many blocks a factor is the mean of, and how well so many can be expected to know it."""
    if factor["factor"] is None:
        return {}
    n, rule = len(factor["pairs"]), sealed.study.decision
    if not factor["method"].startswith("paired"):
        runs = f"runs, {factor['n_reference']} of the reference and {factor['n_fast']} of the arm, unpaired"
        return {"n": factor["n_reference"] + factor["n_fast"], "n_of": runs, "note": factor["note"], "resolution": None}
    sd = None if rule is None else rule.sd_log_factor
    half = None if sd is None else half_width(Design(n, n, n, False, sd_log=sd, confidence=factor["confidence"]))
    resolution = None if half is None else math.exp(half)
    return {"n": n, "n_of": "blocks", "note": factor["note"], "resolution": resolution, "assumed_spread": sd}


def _rests_on_runs(sealed: SealedStudy, arm: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """How many runs of the arm a rate is the mean of; of a single one the spread is that of the reference."""
    n, others = len(retained_rates(runs, arm)), len(retained_rates(runs, sealed.study.design.reference))
    notes = ["spread of the single run borrowed from the reference"] if n == 1 and others > 1 else []
    if (others if n == 1 else n) == 2:
        notes.append(f"uninformative (t={t_quantile(1, 1 - alpha_of(sealed.study)):.1f})")
    note = "; ".join(notes)
    return {"n": n, "n_of": f"runs of {arm}", "note": note, "resolution": None}


def _mean_rate(
    sealed: SealedStudy, arm: str, runs: list[dict[str, Any]]
) -> tuple[float | None, float | None, float | None]:
    """Geometric mean of the retained stage rate over the runs of ``arm``, with its interval; None without a run."""
    rates, others = retained_rates(runs, arm), retained_rates(runs, sealed.study.design.reference)
    return rate_interval(rates, others, 1 - alpha_of(sealed.study)) if rates else (None, None, None)
