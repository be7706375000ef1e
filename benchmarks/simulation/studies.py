"""A simulated study as the analysis of a real one sees it, up to the reservations that cap its verdict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np

from simulation.noise import ITERATION_CORRELATION, Floats, simulate_seconds
from tachograph.analysis.clocks import clocks
from tachograph.analysis.conditions import drift, judge_steadiness, reservations
from tachograph.analysis.factors import headline_factor
from tachograph.evidence.interval import RunRate, factor_of_runs
from tachograph.evidence.placebo import judge_placebo, placebo_cap
from tachograph.study.planning import block_order

WARMUP, WORK = 1, 3200.0
CLOCK, CLOCK_SD = 2900.0, 0.003  # MHz of a device whose clock holds; relative SD of the mean of a run
Row = dict[str, Any]


def simulate_study(
    rng: np.random.Generator,
    blocks: int,
    iterations: int,
    factor: float,
    minimum_effect: float,
    *,
    arms: int = 2,
    correlation: float = ITERATION_CORRELATION,
    shape: Floats | float = 0.0,
) -> Row:
    """The sections of the analysis that reservations speak of, and the factors, for a quiet host and an A/A pair.

    The runs are made in the order of a registered study; the repeat of the reference comes last, as in one.
    """
    names = ["reference", *(f"arm {number}" for number in range(1, arms))]
    seconds = simulate_seconds(rng, blocks, iterations, factor, correlation, shape, arms)
    again = simulate_seconds(rng, 1, iterations, factor, correlation, shape, arms=1)[0, 0]
    runs = {
        f"run-{name}-seed{block}": _run(rng, name, block, seconds[number, block])
        for number, name in enumerate(names)
        for block in range(blocks)
    }
    realised = [f"run-{name}-seed{block}" for block in range(blocks) for name in block_order(names, block)]
    held = {"design": {"reference": names[0]}, "arm_order": names, "trainer": {"work_unit": "steps"}}
    rows = [{"run": key, **row} for key, row in runs.items()]
    analysis: Row = {
        "registration": held,
        "runs": rows,
        "factors": [_factor(rows, names[0], name) for name in names[1:]],
        "preflight": {"checks": []},
        "quiet": {"foreign_cpus": 0.1, "load": None},
        "order": {"realised": realised, "block_deviations": []},
        "steadiness": judge_steadiness(
            {f"run-{name}-seed{b}": seconds[a, b] for a, name in enumerate(names) for b in range(blocks)},
            {key: row["arm"] for key, row in runs.items()},
            dict.fromkeys(runs, WARMUP),
        ),
        "drift": drift(names, rows, realised),
    }
    analysis["clocks"] = clocks(analysis)
    analysis["placebo"] = {"caps": list(_placebo(analysis, again, minimum_effect))}
    return analysis


def caps(analysis: Row) -> dict[str, bool]:
    """Which kinds of reservation the study has, and whether it has any."""
    sections = ("steadiness", "drift", "placebo", "clocks")
    found = {name: bool(reservations(_only(analysis, name))) for name in sections}
    return {**found, "any": bool(reservations(analysis))}


def _only(analysis: Row, section: str) -> Row:
    """The analysis with nothing against it but what one section finds."""
    silent: Row = {
        "steadiness": {"runs": [], "arms": {}},
        "drift": [],
        "placebo": {},
        "clocks": {"cycles": [], "throttled": []},
    }
    return {**analysis, **silent, section: analysis[section]}


def _run(rng: np.random.Generator, arm: str, block: int, seconds: Floats) -> Row:
    kept = seconds[WARMUP:]
    rate = {"value": WORK * len(kept) / kept.sum(), "work": WORK * len(kept), "seconds": float(kept.sum())}
    clock = CLOCK * (1 + CLOCK_SD * rng.standard_normal())
    host = {
        "quantities": {
            "cpu_foreign": {"mean": 0.0},
            "gpu_mhz": {"mean": clock, "min": clock, "max": clock * (1 + CLOCK_SD)},
        },
        "gpu_processes": {"status": "clean"},
    }
    return {
        "role": "run",
        "arm": arm,
        "seed": block,
        "block": block,
        "rates": {"stage": {"retained": rate}},
        "host": host,
        "device": {"kind": "cuda"},
    }


def _factor(rows: list[Row], reference: str, arm: str) -> Row:
    rates = {
        name: [
            RunRate(row["rates"]["stage"]["retained"]["value"], str(row["block"]), row["seed"])
            for row in rows
            if row["arm"] == name
        ]
        for name in (reference, arm)
    }
    found = asdict(factor_of_runs(rates[reference], rates[arm]))
    return {"headline": True, "quantity": "stage", "kind": "retained", "numerator": arm, **found}


def _placebo(analysis: Row, again: Floats, minimum_effect: float) -> Iterator[Row]:
    first = analysis["runs"][0]["rates"]["stage"]["retained"]["value"]
    kept = again[WARMUP:]
    ratio = judge_placebo([first], [WORK * len(kept) / kept.sum()]).factor.factor
    for one in analysis["factors"]:
        sentence = placebo_cap(ratio, headline_factor(analysis["factors"], one["numerator"]), minimum_effect)
        if sentence:
            yield {"arm": one["numerator"], "sentence": sentence}
