"""Measures the engine without network and learning: what a step and an observation cost.

Actions are drawn uniformly from the legal ones by a kernel, outside of the timed brackets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numba

from armies.engine import Games, signatures, warm_up
from armies.variants import Variant


def engine_alone(
    variant: Variant,
    games: int,
    steps: int,
    threads: int,
    repeats: int = 5,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Any]:
    """Play ``games`` games for ``steps`` steps per repeat; returns a record of schema ``component/1``.

    Rates: "legal_mask + step" (environment steps per second: one ply of one game each) and "observe"
    (observations per second). ``value`` is all work over all seconds, ``repeats`` the rate of each repeat.
    As many untimed steps go before, so that the games are at different stages. ``clock`` returns seconds: CPU
    time (``time.process_time``) is the better one for one thread on a busy machine. Raises ValueError for more
    threads than numba has, or numbers below 1.
    """
    available = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    if not 1 <= threads <= available:
        raise ValueError(f"{threads} threads are asked for; 1 to {available} are available")
    if min(games, steps, repeats) < 1:
        raise ValueError(f"games, steps and repeats are {games}, {steps}, {repeats}; each must be at least 1")
    warm_up(variant)
    before = signatures()
    batch = Games(variant, games, seed)
    mask, planes, actions = batch.legal_mask(), batch.observe(), batch.random_actions()
    for _ in range(steps):
        batch.step(batch.random_actions(actions))

    def step() -> None:
        batch.legal_mask(mask)
        batch.step(actions)

    def observe() -> None:
        batch.observe(planes)

    used = numba.get_num_threads()
    numba.set_num_threads(threads)
    try:
        rows = []
        for _ in range(repeats):
            step_seconds = observe_seconds = 0.0
            for _ in range(steps):
                batch.random_actions(actions)
                step_seconds += _seconds(step, clock)
                observe_seconds += _seconds(observe, clock)
            rows.append((step_seconds, observe_seconds))
    finally:
        numba.set_num_threads(used)
    if signatures() != before:
        raise RuntimeError("a kernel was compiled within the timed bracket; the rates would contain it")

    work = games * steps
    rates = [
        {
            "name": name,
            "unit": unit,
            "value": work * repeats / sum(seconds),
            "seconds": sum(seconds),
            "work": work * repeats,
            "repeats": [work / second for second in seconds],
        }
        for (name, unit), seconds in zip(
            [("legal_mask + step", "environment steps/s"), ("observe", "observations/s")],
            zip(*rows, strict=True),
            strict=True,
        )
    ]
    return {
        "schema": "component/1",
        "name": "engine",
        "variant": variant.name,
        "threads": threads,
        "games": games,
        "rates": rates,
    }


def _seconds(call: Callable[[], None], clock: Callable[[], float]) -> float:
    """Seconds that a call takes."""
    start = clock()
    call()
    return clock() - start
