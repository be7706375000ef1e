"""Measures the engine without network and learning: random games, and the encoding of their states."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from lost_cities.kernels.game import play_random_games
from lost_cities.kernels.matches import deal_games, encode_games
from lost_cities.kernels.random import derive
from lost_cities.rules import Rules

ENCODINGS = 20  # of each state in a repeat: once takes less than a millisecond together, too little to time


def engine_alone(
    rules: Rules, games: int, repeats: int = 5, seed: int = 0, clock: Callable[[], float] = time.thread_time
) -> dict[str, Any]:
    """Play ``games`` random games per repeat, then encode ``games`` states, each :data:`ENCODINGS` times; a record of
    schema ``component/1``.

    Rates: "actions" (legal actions found, one drawn and taken, per second) and "encode" (states per second), both
    on one thread. ``value`` is all work over all seconds, ``repeats`` the rate of each repeat. One untimed repeat
    goes before, which compiles or loads the kernels.
    """
    rows = np.empty((games, rules.row), np.int16)
    streams = np.empty(games, np.uint64)
    inputs = np.empty((games, rules.inputs), np.int8)
    numbers = np.arange(games)
    scores, endings = np.zeros((games, 2), np.int64), np.zeros(games, np.int64)
    work: dict[str, list[int]] = {"actions": [], "encode": []}
    seconds: dict[str, list[float]] = {"actions": [], "encode": []}
    for repeat in range(repeats + 1):
        for game in range(games):
            streams[game] = derive(seed, repeat, 0, game)
        start = clock()
        actions = play_random_games(rules, streams, scores, endings)
        played = clock()
        deal_games(rules, rows, streams, seed, repeat, 0)
        dealt = clock()
        for _ in range(ENCODINGS):
            encode_games(rules, rows, numbers, inputs)
        encoded = clock()
        if repeat:
            work["actions"].append(int(actions))
            seconds["actions"].append(played - start)
            work["encode"].append(ENCODINGS * games)
            seconds["encode"].append(encoded - dealt)
    units = {"actions": "actions/s", "encode": "states/s"}
    rates = [
        {
            "name": name,
            "unit": unit,
            "value": sum(work[name]) / sum(seconds[name]),
            "seconds": sum(seconds[name]),
            "work": sum(work[name]),
            "repeats": [done / took for done, took in zip(work[name], seconds[name], strict=True)],
        }
        for name, unit in units.items()
    ]
    return {"schema": "component/1", "name": "engine", "threads": 1, "games": games, "rates": rates}
