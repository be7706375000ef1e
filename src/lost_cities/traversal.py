"""Traversals of one iteration: many of them in lanes that share each forward call of the network."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lost_cities.config import Traversal
from lost_cities.errors import LostCitiesError, NonFiniteTrainingError
from lost_cities.kernels import external, lanes, outcome
from lost_cities.kernels.lanes import Lanes, Records, gather, make_lanes, make_records, start_lanes
from lost_cities.rules import Rules

Forward = Callable[[int, NDArray[np.int8]], NDArray[np.float32]]
"""Advantages (n, actions) that the network of a player predicts for inputs (n, inputs)."""


@dataclass(frozen=True)
class Sampling:
    """How a traversal samples; see the configuration's section ``traversal``."""

    kind: str  # "outcome" or "external"
    epsilon: float
    score_baseline: bool
    points_per_unit: float
    most_decisions: int
    explored_share: float = 1.0


def sampling_of(settings: Traversal) -> Sampling:
    """The sampling that a configuration asks for."""
    return Sampling(
        settings.sampling,
        settings.epsilon,
        settings.baseline == "score",
        settings.points_per_unit,
        settings.max_decisions,
        settings.explored_share,
    )


@dataclass
class Counts:
    """Sums over traversals. A node is a decision, for which the network was asked; forced actions are apart.

    ``chains``: of each traversal the most decisions of which each waits for the answer to the one before it, all of
    them in outcome sampling; branches of external sampling need not wait for each other. ``longest_chain``: of all.
    ``network_seconds``: from asking the network until its answers are there; of several processes the sum.
    """

    traversals: int = 0
    nodes: int = 0
    forced: int = 0
    endings_deck: int = 0
    endings_cap: int = 0
    forward_calls: int = 0
    chains: int = 0
    longest_chain: int = 0
    network_seconds: float = field(default=0.0, compare=False)

    def add(self, other: Counts) -> None:
        longest = max(self.longest_chain, other.longest_chain)
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
        self.longest_chain = longest


@dataclass
class Harvest:
    """Records of a range of traversals, ordered by traversal and by course within it."""

    records: Records
    counts: Counts = field(default_factory=Counts)


class Traverser:
    """Walks traversals in ``width`` lanes; width 1 asks the network for one state at a time."""

    def __init__(self, rules: Rules, sampling: Sampling, width: int) -> None:
        self.rules, self.sampling, self.width = rules, sampling, width
        depth = rules.action_cap
        self._lanes: Lanes = make_lanes(rules, width, depth)
        self._resume: Callable[..., None]
        self._memo: Any
        if sampling.kind == "outcome":
            self._resume, self._memo = outcome.resume_outcome, np.empty((width, depth, 3))
        else:
            self._resume, self._memo = external.resume_external, external.make_frames(rules, width, depth)
        self._records = make_records(rules, 64 * width)

    def run(self, forward: Forward, seed: int, iteration: int, first: int, last: int) -> Harvest:
        """Traversals ``first`` to ``last - 1``; even ones traverse for player 0, odd ones for player 1.

        :class:`LostCitiesError` if one of them has more than ``most_decisions`` decisions,
        :class:`NonFiniteTrainingError` if the network answers with a NaN or an infinity.
        """
        rules, sampling, state = self.rules, self.sampling, self._lanes
        settings = (
            float(sampling.epsilon),
            float(sampling.points_per_unit),
            float(sampling.score_baseline),
            float(sampling.most_decisions),
            float(sampling.explored_share),
        )
        start_lanes(rules, state, seed, iteration, first, last)
        answers = np.zeros((self.width, rules.actions), np.float32)
        filled = calls = 0
        waited = 0.0
        while True:
            if filled + self.width > len(self._records.kind):
                self._records = _doubled(rules, self._records, filled)
            records = self._records
            of_first, of_second = gather(rules, state, records, filled)
            if of_first + of_second == 0:
                break
            middle, end = filled + of_first, filled + of_first + of_second
            asked = time.perf_counter()
            if of_first:
                answers[:of_first] = forward(0, records.inputs[filled:middle])
            if of_second:
                answers[of_first : of_first + of_second] = forward(1, records.inputs[middle:end])
            waited += time.perf_counter() - asked
            calls += (of_first > 0) + (of_second > 0)
            self._resume(rules, state, self._memo, records, filled, answers, settings, seed, iteration, last)
            filled = end
            if state.counts[lanes.NOT_FINITE]:
                raise NonFiniteTrainingError("an answer of an advantage network is not finite")
            if state.counts[lanes.TOO_LONG]:
                raise LostCitiesError(
                    f"traversal.max_decisions: a traversal ({sampling.kind} sampling) has more than "
                    f"{sampling.most_decisions} decisions, expected outcome sampling or a smaller game"
                )
        return Harvest(_ordered(self._records, filled), self._counts(last - first, calls, waited))

    def _counts(self, traversals: int, calls: int, waited: float) -> Counts:
        counts = self._lanes.counts.tolist()
        return Counts(
            traversals,
            counts[lanes.NODES],
            counts[lanes.FORCED],
            counts[lanes.DECK_ENDINGS],
            counts[lanes.CAP_ENDINGS],
            calls,
            counts[lanes.CHAINS],
            counts[lanes.LONGEST_CHAIN],
            waited,
        )


def _doubled(rules: Rules, records: Records, filled: int) -> Records:
    larger = make_records(rules, 2 * len(records.kind))
    new_arrays: list[Any] = [*larger]
    old_arrays: list[Any] = [*records]
    for new, old in zip(new_arrays, old_arrays, strict=True):
        new[:filled] = old[:filled]
    return larger


def _ordered(records: Records, filled: int) -> Records:
    """A copy of the first ``filled`` records, by traversal; records of one traversal keep their order."""
    order = np.argsort(records.traversal[:filled], kind="stable")
    return Records._make(array[order] for array in records)
