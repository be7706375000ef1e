"""Saving a training between two iterations, and loading it exactly. Files hold tensors and plain values only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import torch

from lost_cities.config import Config
from lost_cities.errors import LostCitiesError
from lost_cities.evaluator import Due
from lost_cities.trainer import Trainer

CHECKPOINT = "checkpoint.pt"
SCHEMA = "lost-cities-checkpoint/1"
MAY_CHANGE = ("run.iterations", "evaluation.", "checkpoint.")
"""Keys that may differ when a training is resumed: they do not change what it computes."""


def save_checkpoint(path: Path, trainer: Trainer, row: dict[str, Any], under_way: Due | None = None) -> None:
    """Write ``path``, complete or not at all. :class:`LostCitiesError` if the disk refuses it.

    ``row``: the iteration's metrics, in case the file lacks them; ``under_way``: an evaluation without result yet.
    """
    with_memories = trainer.config.checkpoint.memories
    learners = [*trainer.advantage, trainer.strategy]
    content = {
        "schema": SCHEMA,
        "config": trainer.config.model_dump(),
        "seed": trainer.seed,
        "iteration": trainer.iteration,
        "row": row,
        "under_way": None if under_way is None else _saved(under_way),
        "networks": [learner.network.state_dict() for learner in learners],
        "optimizers": [learner.optimizer.state_dict() for learner in learners],
        "memories": [learner.memory.state_dict() for learner in learners] if with_memories else None,
    }
    temporary = path.with_name(path.name + ".part")
    try:
        torch.save(content, temporary)
        os.replace(temporary, path)
    except (OSError, RuntimeError) as error:  # torch raises the latter for a disk that takes no more
        with suppress(OSError):
            temporary.unlink()
        reason = error.strerror if isinstance(error, OSError) else "the disk did not take all of it"
        raise LostCitiesError(f"{path} cannot be written: {reason}; the one before it, if any, stays") from error


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint; :class:`LostCitiesError` if the file is not one."""
    if not path.is_file():
        found = "no file" if path.exists() else "not there"
        raise LostCitiesError(f"{path} is {found}, expected a checkpoint")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception:  # torch.load raises many kinds for a file that is not its own, none of which says more
        raise LostCitiesError(f"{path} cannot be read as a checkpoint, expected one that a training wrote") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise LostCitiesError(f"{path} is not a checkpoint of lost_cities, expected schema {SCHEMA}")
    return content


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Inside, parts of the checkpoint ``path`` are taken over; what does not fit is a :class:`LostCitiesError`.

    A checkpoint with the right schema can still hold anything: other keys, other shapes, other settings.
    """
    try:
        yield
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        first = " ".join(str(error).split())[:200]
        raise LostCitiesError(f"{path} does not fit, expected a checkpoint of this version: {first}") from error


def load_checkpoint(path: Path, trainer: Trainer) -> tuple[dict[str, Any], Due | None]:
    """Take over the state in ``path``, which must be of the same configuration and seed.

    Returns the row of its iteration and the evaluation that was under way.
    """
    content = read_checkpoint(path)
    with damage_named(path):
        return _taken_over(path, content, trainer)


def _taken_over(path: Path, content: dict[str, Any], trainer: Trainer) -> tuple[dict[str, Any], Due | None]:
    if content["seed"] != trainer.seed:
        raise LostCitiesError(f"{path} was written with seed {content['seed']}, expected {trainer.seed}")
    _same_configuration(path, content["config"], trainer.config)
    if content["iteration"] > trainer.config.run.iterations:
        raise LostCitiesError(
            f"{path} holds {content['iteration']} iterations already, expected at most run.iterations "
            f"{trainer.config.run.iterations}"
        )
    if content["memories"] is None:
        raise LostCitiesError(f"{path} has no memories, expected one written with checkpoint.memories true")
    learners = [*trainer.advantage, trainer.strategy]
    for learner, network, optimizer, memory in zip(
        learners, content["networks"], content["optimizers"], content["memories"], strict=True
    ):
        learner.network.load_state_dict(network)
        learner.optimizer.load_state_dict(optimizer)
        learner.memory.load_state_dict(memory)
    trainer.iteration = content["iteration"]
    return content["row"], None if content["under_way"] is None else _restored(content["under_way"])


def _saved(due: Due) -> dict[str, Any]:
    weights = {name: torch.from_numpy(array) for name, array in due.weights.items()}
    return {"iteration": due.iteration, "opponents": due.opponents, "games": due.games, "weights": weights}


def _restored(saved: dict[str, Any]) -> Due:
    weights = {name: tensor.numpy() for name, tensor in saved["weights"].items()}
    return Due(saved["iteration"], saved["opponents"], saved["games"], weights)


def _same_configuration(path: Path, found: dict[str, Any], config: Config) -> None:
    for section, keys in config.model_dump().items():
        for key, expected in keys.items():
            name = f"{section}.{key}"
            if not name.startswith(MAY_CHANGE) and found.get(section, {}).get(key) != expected:
                raise LostCitiesError(
                    f"{path} was written with {name} {found.get(section, {}).get(key)!r}, expected {expected!r}"
                )
