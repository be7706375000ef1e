"""Compile or load every kernel before anything is timed."""

from __future__ import annotations

import numpy as np

from lost_cities.config import Config
from lost_cities.evaluation import Match, play_match
from lost_cities.kernels.opponents import OPPONENTS
from lost_cities.memory import Memory
from lost_cities.traversal import Traverser, sampling_of


def warm_up(config: Config) -> None:
    """Walk two traversals, add their records to a memory and play one game per kind of opponent, with no network."""
    rules = config.game.rules()

    def no_answers(inputs: np.ndarray) -> np.ndarray:
        return np.zeros((len(inputs), rules.actions), np.float32)

    harvest = Traverser(rules, sampling_of(config.traversal), 2).run(lambda _, inputs: no_answers(inputs), 0, 0, 0, 2)
    records = harvest.records
    Memory(rules, 8).add(records.inputs, records.targets, records.legal, 1.0, (0, 0, 0, 0))
    for opponent in OPPONENTS:
        play_match(rules, no_answers, Match(opponent, 1, 1, True, 0, 0))
