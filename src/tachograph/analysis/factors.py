"""Speed-up factors: each names numerator, denominator, window and unit, and holds its pairs."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Any

from tachograph.analysis.rates import ITERATION, LONGER, RETAINED, SENSITIVITY, WHOLE, WINDOW, retained_rates
from tachograph.analysis.refusal import comparison_refused
from tachograph.analysis.sealed import SealedStudy
from tachograph.evidence.interval import Factor, IntervalError, RunRate, factor_of_runs
from tachograph.evidence.throughput import spread
from tachograph.study.reach import alpha_of

HEADLINE = ("stage", RETAINED)


def factors(sealed: SealedStudy, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every factor of every arm over the reference; ``runs`` are the entries of :func:`rates.run_rows`.

    A factor is a ratio of rates (work per second), numerator over denominator, its mean the geometric one.
    """
    found = []
    longer = any(LONGER in run["rates"]["stage"] for run in runs)
    for arm in sealed.other_arms:
        for quantity, window, label in _quantities(sealed, longer):
            found.append(_factor(sealed, runs, arm, quantity, window, label))
        stage = sealed.trainer.history.stage.name
        phases = [phase.name for phase in sealed.trainer.history.phases if phase.name != stage]
        found += [_phase_factor(sealed, runs, arm, phase) for phase in phases]
    return found


def headline_factor(factors: list[dict[str, Any]], arm: str) -> Factor | None:
    """The headline factor of ``arm`` among the entries of :func:`factors`, None where it has none."""
    return factor_of(factors, arm, *HEADLINE)


def factor_of(factors: list[dict[str, Any]], arm: str, quantity: str, kind: str) -> Factor | None:
    """The factor of ``arm`` of that quantity over that kind of window, None where there is none."""
    wanted = (arm, quantity, kind)
    one = next((one for one in factors if (one["numerator"], one["quantity"], one["kind"]) == wanted), None)
    if one is None or one["factor"] is None:
        return None
    return Factor(**{field.name: one[field.name] for field in fields(Factor)})


def _quantities(sealed: SealedStudy, longer: bool) -> list[tuple[str, str, str]]:
    stage = f"{sealed.trainer.history.stage.name} throughput"
    wanted = [("stage", RETAINED, stage), ("stage", WHOLE, stage)]
    if sealed.study.design.window is not None:
        wanted.append(("stage", WINDOW, stage))
    wanted += [("stage", window, stage) for window in (*SENSITIVITY, *([LONGER] if longer else []))]
    wanted += [
        ("iteration", RETAINED, "iteration wall throughput"),
        ("iteration", WHOLE, "iteration wall throughput"),
        ("end to end", WHOLE, "end-to-end throughput"),
    ]
    return wanted


def _factor(
    sealed: SealedStudy, runs: list[dict[str, Any]], arm: str, quantity: str, window: str, label: str
) -> dict[str, Any]:
    return _compare(
        sealed, runs, arm, quantity, window, label, lambda run: run["rates"][quantity].get(window, {"value": None})
    )


def _phase_factor(sealed: SealedStudy, runs: list[dict[str, Any]], arm: str, phase: str) -> dict[str, Any]:
    def value(run: dict[str, Any]) -> dict[str, Any]:
        seconds, work = run["phase_seconds"][phase], run["rates"][ITERATION][WHOLE].get("work")
        if not seconds or work is None:
            return {"value": None}
        return {"value": work / seconds, "window": WHOLE}

    return _compare(sealed, runs, arm, f"phase {phase}", WHOLE, f"throughput of phase {phase}", value)


def _compare(
    sealed: SealedStudy, runs: list[dict[str, Any]], arm: str, quantity: str, window: str, label: str, value: Any
) -> dict[str, Any]:
    reference = sealed.study.design.reference
    counted = [run for run in runs if run["role"] == "run"]
    rates = {
        name: {run["block"]: (run, value(run)) for run in counted if run["arm"] == name} for name in (reference, arm)
    }
    named = next((v.get("window", window) for group in rates.values() for _, v in group.values()), window)
    entry: dict[str, Any] = {
        "quantity": quantity,
        "kind": window,
        "label": label,
        "window": named,
        "unit": f"{sealed.trainer.history.work.unit}/s",
        "numerator": arm,
        "denominator": reference,
        "headline": (quantity, window) == HEADLINE,
        "pairs": [
            {
                "block": block,
                "seed": rates[arm][block][0]["seed"],
                "numerator": rates[arm][block][1]["value"],
                "denominator": rates[reference][block][1]["value"],
                "factor": rates[arm][block][1]["value"] / rates[reference][block][1]["value"],
            }
            for block in rates[reference]
            if block in rates[arm] and rates[arm][block][1]["value"] and rates[reference][block][1]["value"]
        ],
    }
    refused = comparison_refused(sealed)
    if refused is not None:
        return {**entry, "pairs": [], "factor": None, "low": None, "high": None, "reason": refused}
    try:
        found = factor_of_runs(_run_rates(rates[reference]), _run_rates(rates[arm]), 1 - alpha_of(sealed.study))
    except IntervalError as error:
        return {**entry, "factor": None, "low": None, "high": None, "reason": str(error)}
    return {**entry, **asdict(found)}


def seed_spread(sealed: SealedStudy, runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """How far the runs of each arm lie apart after warm-up, from seed to seed."""
    found = []
    for arm in (sealed.study.design.reference, *sealed.other_arms):
        rates = retained_rates(runs, arm)
        known = {"low": min(rates), "high": max(rates)} if rates else {"low": None, "high": None}
        found.append({"arm": arm, "runs": len(rates), **known, "spread": spread(rates)})
    return found


def _run_rates(group: dict[int, tuple[dict[str, Any], dict[str, Any]]]) -> list[RunRate]:
    return [RunRate(rate["value"], str(block), run["seed"]) for block, (run, rate) in group.items() if rate["value"]]


def baseline(sealed: SealedStudy, series: list[dict[str, Any]]) -> dict[str, Any]:
    """The short run before anything is compared: its rate iteration by iteration, and how far these lie apart."""
    if sealed.study.design.baseline is None:
        return {"registered": False, "reason": "no baseline is registered"}
    found = next((one for one in series if one["role"] == "baseline"), None)
    if found is None:
        return {"registered": True, "rates": None, "reason": "the baseline run does not count"}
    rates = [work / seconds for work, seconds in zip(found["work"], found["stage_seconds"], strict=True)]
    if not rates:
        return {"registered": True, "rates": None, "reason": "no iteration of the baseline run can give a rate"}
    return {
        "registered": True,
        "run": found["run"],
        "unit": f"{sealed.trainer.history.work.unit}/s",
        "rates": rates,
        "spread": spread(rates),
        "stage_seconds": found["stage_seconds"],
        "iteration_seconds": found["iteration_seconds"],
    }
