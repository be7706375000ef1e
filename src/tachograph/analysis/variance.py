"""What would narrow the interval of a factor: longer runs, or more blocks?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from scipy.special import ndtri

from tachograph.analysis.factors import headline_factor
from tachograph.analysis.rates import RETAINED
from tachograph.evidence.variance import variance_split

Row = dict[str, Any]
LEAST_BLOCKS = 3  # two blocks show next to nothing of their own spread
CONFIDENCE = 0.95  # of the precision within a run


def variance(arm_order: list[str], runs: list[Row], factors: list[Row], steadiness: Row) -> list[Row]:
    """The split of the headline's spread for each arm with three paired blocks or more, else a ``reason``.

    ``arm_order``: the reference first; the other arguments are the sections of these names.
    """
    reference, *others = arm_order
    within = {one["run"]: one["within_run"] for one in steadiness["runs"]}
    found: list[Row] = []
    for arm in others:
        factor = headline_factor(factors, arm)
        if factor is None or factor.sd_log is None or not factor.paired or factor.n_fast < LEAST_BLOCKS:
            found.append({"arm": arm, "reason": f"fewer than {LEAST_BLOCKS} blocks of paired runs with a spread"})
            continue
        members = [run for run in runs if run["role"] == "run" and run["arm"] in (reference, arm)]
        members = [run for run in members if within.get(run["run"]) and run["rates"]["stage"][RETAINED]["value"]]
        arms = [[run for run in members if run["arm"] == name] for name in (reference, arm)]
        if not all(arms):
            found.append({"arm": arm, "reason": "the precision within the runs is unknown"})
            continue
        found.append({"arm": arm, **_split(factor.sd_log, arms, within), "reason": None})
    return found


def _split(total: float, arms: list[list[Row]], within: dict[str, Row]) -> Row:
    errors = [[(within[run["run"]]["half_width"] / ndtri((1 + CONFIDENCE) / 2)) ** 2 for run in runs] for runs in arms]
    noise = float(np.sqrt(sum(np.mean(squares) for squares in errors)))
    iterations = round(float(np.mean([run["rates"]["stage"][RETAINED]["iterations"] for runs in arms for run in runs])))
    one_more = float(sum(np.mean([run["iteration_seconds_mean"] for run in runs]) for runs in arms))
    whole = float(sum(np.mean([run["total_wall_seconds"] for run in runs]) for runs in arms))
    return asdict(variance_split(total, noise, iterations, max(0.0, whole - iterations * one_more), one_more))
