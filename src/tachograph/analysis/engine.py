"""What an inference engine could bring at most: the network's time in an iteration, evaluations spread over it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tachograph.analysis.rates import ITERATION, plain_rows
from tachograph.evidence.amdahl import ceiling
from tachograph.evidence.history import History
from tachograph.evidence.phases import evaluation_cost
from tachograph.models.trainer import Phase


@dataclass(frozen=True)
class Engine:
    """Seconds per iteration. ``plain_seconds``: without an evaluation; ``evaluations``: what they add, ``by`` their
    excess or the trainer's own timer.

    ``in_evaluations``: of these the network's answers, as far as they hold the evaluation up; ``elsewhere``: those
    that the phases ``timers`` tell; None where no timer tells. ``ceiling``: the iteration would become this many times
    faster if the network took no time (Amdahl's law); None where no timer tells anything, or without a limit.
    """

    plain_seconds: float
    evaluations: float
    by: str
    in_evaluations: float | None
    elsewhere: float | None
    timers: tuple[str, ...]
    ceiling: float | None


def engine_of(
    histories: Sequence[History], warmup: int, kinds: Sequence[dict[str, Any]], network: Sequence[Phase]
) -> Engine:
    """``kinds`` of evaluations as observed; ``network``: phases outside of them that time the network's answers.

    At least one of ``histories`` must hold a plain iteration after ``warmup``.
    """
    plain = [(one, plain_rows(one, warmup)) for one in histories]
    seconds = float(np.concatenate([one.durations[ITERATION][rows] for one, rows in plain]).mean())
    by = "excess" if all(kind["told"] for kind in kinds) else "timer"
    evaluations = sum(evaluation_cost(kind[by], kind["every"]) for kind in kinds)
    saved = [(kind["breakdown"] and kind["breakdown"]["saved"], kind["every"]) for kind in kinds]
    inside = None
    if all(one is not None for one, _ in saved):
        inside = sum(evaluation_cost(one, every) for one, every in saved)
    elsewhere = None
    if network:
        elsewhere = sum(
            float(np.concatenate([np.nan_to_num(one.durations[phase.name][rows]) for one, rows in plain]).mean())
            for phase in network
        )
    known = [part for part in (inside, elsewhere) if part is not None]
    return Engine(
        seconds, evaluations, by, inside, elsewhere, tuple(phase.name for phase in network),
        bound(seconds + evaluations, sum(known) if known else None),
    )  # fmt: skip


def bound(whole: float, network: float | None) -> float | None:
    """Amdahl's ceiling for ``network`` of ``whole`` seconds; None if unknown or without a limit."""
    if network is None:
        return None
    found = ceiling(min(1.0, network / whole))
    return found if math.isfinite(found) else None
