"""Clocks beside the rates: the factor in clock cycles, throttled runs, the best run of each arm as a lower bound."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from tachograph.analysis.rates import RETAINED
from tachograph.evidence.bestof import BestOf, best_of, ratio_is_lower_bound
from tachograph.evidence.contention import cycle_check, cycle_rate, throttled
from tachograph.evidence.interval import RunRate, factor_of_runs

Row = dict[str, Any]


def clocks(analysis: Row) -> Row:
    """``best`` run of each arm (a lower bound of its uncontended throughput), ``cycles`` per other arm, ``throttled``.

    ``analysis`` holds the sections registration, runs and factors. A clock that nobody sampled shows nothing.
    """
    held = analysis["registration"]
    reference = held["design"]["reference"]
    runs = {arm: [run for run in analysis["runs"] if _counts(run, arm)] for arm in held["arm_order"]}
    best = {arm: _best(found) for arm, found in runs.items() if found}
    rows = []
    for arm, one in best.items():
        row: Row = {"arm": arm, **asdict(one), "label": one.label, "ratio_is_lower_bound": None}
        if arm != reference and reference in best:
            mean = {name: _mean_clock(runs[name]) for name in (reference, arm)}
            row["ratio_is_lower_bound"] = ratio_is_lower_bound(best[reference], one, mean[reference], mean[arm])
        rows.append(row)
    others = [arm for arm in held["arm_order"] if arm != reference]
    return {
        "unit": f"{held['trainer']['work_unit']}/s",
        "best": rows,
        "cycles": [found for arm in others if (found := _cycles(analysis["factors"], runs, reference, arm))],
        "throttled": [run["run"] for found in runs.values() for run in _throttled(found)],
    }


def _counts(run: Row, arm: str) -> bool:
    return bool(run["role"] == "run" and run["arm"] == arm and run["rates"]["stage"].get(RETAINED, {}).get("value"))


def _best(runs: list[Row]) -> BestOf:
    rates = [run["rates"]["stage"][RETAINED] for run in runs]
    loads = [run["host"]["quantities"].get("load_1min", {}).get(end) for run in runs for end in ("min", "max")]
    known = [load for load in loads if load is not None]
    return best_of([rate["work"] for rate in rates], [rate["seconds"] for rate in rates], known)


def _clock(run: Row) -> Row:
    """The clock of the device that the run used, as sampled; empty if nobody knows."""
    name = "cpu_mhz" if run["device"]["kind"] == "cpu" else "gpu_mhz"
    found: Row = run["host"]["quantities"].get(name, {})
    return found if found.get("mean") else {}


def _mean_clock(runs: list[Row]) -> float | None:
    found = [_clock(run).get("mean") for run in runs]
    return None if None in found or not found else float(np.mean([one for one in found if one is not None]))


def _throttled(runs: list[Row]) -> list[Row]:
    """Runs of a GPU; the mean over the processors of a host says nothing about the one that was used."""
    sampled = [run for run in runs if run["device"]["kind"] != "cpu" and _clock(run)]
    largest = max((_clock(run)["max"] for run in sampled), default=0.0)
    return [run for run in sampled if throttled(_clock(run)["mean"], largest)]


def _cycles(factors: list[Row], runs: dict[str, list[Row]], reference: str, arm: str) -> Row | None:
    """The headline factor in time and in clock cycles, with a sentence where they disagree; None without clocks."""
    in_time = next((one["factor"] for one in factors if one["headline"] and one["numerator"] == arm), None)
    pair = [runs[reference], runs[arm]]
    sampled = [_clock(run) for found in pair for run in found]
    if in_time is None or not all(pair) or not all(sampled):
        return None
    if min(one["min"] for one in sampled) == max(one["max"] for one in sampled):
        return None  # a virtual machine shows the nominal clock, which is no measurement
    ours, theirs = ([_per_cycle(run) for run in found] for found in pair)
    in_cycles = factor_of_runs(ours, theirs).factor
    return {"arm": arm, "time": in_time, "cycles": in_cycles, "sentence": cycle_check(in_time, in_cycles)}


def _per_cycle(run: Row) -> RunRate:
    rate = run["rates"]["stage"][RETAINED]
    value = cycle_rate(np.array([rate["work"]]), np.array([rate["seconds"]]), np.array([_clock(run)["mean"]]))
    return RunRate(value, str(run["block"]), run["seed"])
