"""The forward sweep of the network, and how much of its gain the supply of states can reach."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.evidence.sweep import Sweep, reach, supply, sweep
from tachograph.study.planning import SWEEP

Row = dict[str, Any]


def forward_sweep(sealed: SealedStudy) -> dict[str, Any]:
    """``rows``, ``peak`` and ``monotone`` of the sweep with the ``supply`` of each arm beside it, or a ``reason``.

    ``network``: the widths of its layers, empty where the trainer does not say. ``warm_up``, ``calls``: as registered.
    """
    if sealed.study.sweep is None:
        return _without("no sweep is registered", registered=False)
    run = next((run for run in sealed.of_role("profile") if run.planned.arm == SWEEP), None)
    if run is None:
        return _without("the sweep does not count")
    content = run.content()
    try:
        sizes = [int(row["batch_size"]) for row in content["rows"]]
        found = sweep(sizes, [float(row["microseconds_per_call"]) / 1e6 for row in content["rows"]])
        if sizes != sealed.study.sweep.batch_sizes:
            raise ValueError(f"found batch sizes {sizes}, expected {sealed.study.sweep.batch_sizes}")
        network = [int(width) for width in content.get("network") or []]
        described = {"device": str(content["device"]), "threads": content.get("threads"), "network": network}
    except (KeyError, TypeError, ValueError) as error:
        source = f"{run.attempt.folder}/{run.facts['result']}"
        return _without(f"{source}: {error}, expected rows with batch_size and microseconds_per_call")
    supplies = [one for arm in sealed.study.arms if (one := _supply(sealed, arm, found))]
    made = {"warm_up": sealed.study.sweep.warm_up, "calls": sealed.study.sweep.calls}
    return {"registered": True, **described, **made, **asdict(found), "supply": supplies}


def _without(reason: str, *, registered: bool = True) -> dict[str, Any]:
    return {"registered": registered, "rows": [], "supply": [], "reason": reason}


def _supply(sealed: SealedStudy, arm: str, found: Sweep) -> Row | None:
    """What states could share a call over the counted runs of an arm, and what each supply reaches of the sweep."""
    declared = sealed.trainer.history.supply
    runs = [run for run in sealed.of_arm(arm) if run.history is not None]
    if declared is None or not runs:
        return None
    columns = {
        name: np.concatenate([_column(run, column) for run in runs]) for name, column in declared.columns().items()
    }
    levels = supply(**columns)
    if not levels:
        return None
    reached = {name: asdict(reach(found, states)) for name, states in levels.items()}
    return {"arm": arm, "group": declared.group, "networks": declared.networks, "levels": reached}


def _column(run: SealedRun, name: str) -> Any:
    assert run.history is not None
    return run.history.columns[name]
