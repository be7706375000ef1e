"""Do both ways of inference compute the same? Frozen batches of real states, against float64.

The arms of a study of traversals differ in how many states share a call of the advantage networks. Here each arm
answers the same states with the same weights: ``single`` one state per call, ``batched`` a whole batch per call.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lost_cities.config import Config
from lost_cities.crew import Crew
from lost_cities.devices import apply_run_settings, device_named
from lost_cities.errors import LostCitiesError
from lost_cities.inference import Answerer, weights_of
from lost_cities.trainer import Trainer
from lost_cities.traversal import Harvest

Doubles = NDArray[np.float64]

SCHEMA = "parity/1"
STATES = 64  # per batch
TOLERANCE = 1e-5  # of an advantage, in units of traversal.points_per_unit; float32 rounds to about 1e-7 of them


def parity(config: Config, arms: Mapping[str, str], batches: int, iterations: int, seed: int) -> dict[str, Any]:
    """Errors of the arms (name -> ``single`` or ``batched``, the reference first): a ``parity/1`` document.

    The networks are those after ``iterations`` of training, as untrained ones answer 0 whatever the way. The states
    are met by the traversals of the next iteration: ``batches`` batches of 64 per player. Advantages of legal actions
    are compared; each arm answers twice, ``repeat_max_abs`` is the largest difference between the two.
    :class:`LostCitiesError` if the traversals meet too few states.
    """
    apply_run_settings(config.run)
    device = device_named(config.traversal.device, "traversal.device")
    trainer, harvest = _trained(config, seed, iterations)
    tensors, rows = [], 0
    for player, learner in enumerate(trainer.advantage):
        answerer = Answerer(trainer.rules, config.network.hidden, config.network.layers, device)
        answerer.load(weights_of(learner.network))
        exact_network = learner.network.double().to("cpu")
        errors = {arm: Errors() for arm in arms}
        for inputs, legal in _frozen(harvest, player, batches, seed):
            rows += len(inputs)
            with torch.inference_mode():
                exact = exact_network(torch.from_numpy(inputs)).numpy()
            answers = {arm: [_answers(answerer, how, inputs) for _ in range(2)] for arm, how in arms.items()}
            reference = next(iter(answers.values()))[0]
            for arm, (once, again) in answers.items():
                errors[arm].add(legal, *(array.astype(np.float64) for array in (once, again, exact, reference)))
        name = f"advantages of player {player}"
        tensors += [{"arm": arm, "name": name, "dtype": "float32", **errors[arm].summary()} for arm in arms]
    return {
        "schema": SCHEMA,
        "device": str(device),
        "iterations": iterations,
        "batches": batches,
        "rows": rows,
        "tensors": tensors,
    }


def _trained(config: Config, seed: int, iterations: int) -> tuple[Trainer, Harvest]:
    """A trainer after ``iterations`` without evaluation, and the traversals of the iteration that would follow."""
    trainer = Trainer(config, seed)
    with closing(Crew(config)) as crew:
        while True:
            trainer.iteration += 1
            weights = [weights_of(learner.network) for learner in trainer.advantage]
            harvest = crew.traverse(weights, seed, trainer.iteration)
            if trainer.iteration > iterations:
                return trainer, harvest
            trainer.add_to_memories(harvest)
            trainer.fit_advantages()


def _frozen(harvest: Harvest, player: int, batches: int, seed: int) -> list[tuple[NDArray[np.int8], NDArray[np.bool_]]]:
    """Inputs (64, inputs) and legal actions (64, actions) of states of one player, drawn without repetition."""
    records = harvest.records
    states = np.flatnonzero(records.player == player)
    needed = batches * STATES
    if len(states) < needed:
        raise LostCitiesError(
            f"parity: the traversals meet {len(states)} states of player {player}, expected at least {needed}: "
            "more traversal.traversals_per_player or fewer --batches"
        )
    chosen = np.random.default_rng((seed, player)).choice(states, (batches, STATES), replace=False)
    return [(records.inputs[rows], records.legal[rows] > 0) for rows in chosen]


def _answers(answerer: Answerer, inference: str, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
    """Advantages (n, actions) as traversals with this ``inference`` get them."""
    if inference == "batched":
        return answerer.answer(inputs)
    return np.concatenate([answerer.answer(inputs[row : row + 1]) for row in range(len(inputs))])


class Errors:
    """Running errors over batches; rows that are not finite are counted, and their bad answers left out."""

    def __init__(self) -> None:
        self.squares, self.count, self.nonfinite = 0.0, 0, 0
        self.largest = {"max_abs_fp64": 0.0, "max_abs_reference": 0.0, "repeat_max_abs": 0.0}

    def add(self, legal: NDArray[np.bool_], once: Doubles, again: Doubles, exact: Doubles, reference: Doubles) -> None:
        """All (n, actions): an arm's answers, its answers again, those in float64, those of the reference."""
        finite = np.isfinite(once) & np.isfinite(again)
        self.nonfinite += int((legal & ~finite).any(1).sum())
        counted = legal & finite
        self.squares += float(((once - exact)[counted] ** 2).sum())
        self.count += int(counted.sum())
        for key, other in zip(self.largest, (exact, reference, again), strict=True):
            self.largest[key] = float(np.abs(once - other)[counted].max(initial=self.largest[key]))

    def summary(self) -> dict[str, Any]:
        return {
            "rmse_fp64": float(np.sqrt(self.squares / self.count)) if self.count else None,
            **self.largest,
            "nonfinite_rows": self.nonfinite,
            "tolerance": TOLERANCE,
        }
