"""Saving a training between two iterations and loading it exactly, as tensors and plain values only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from armies.errors import ArmiesError
from armies.files import part_of
from armies.trainer import Trainer

CHECKPOINT = "checkpoint.pt"
SCHEMA = "armies-checkpoint/1"
CONTENT = {
    "preset": dict,
    "path": str,
    "seed": int,
    "iteration": int,
    "network": dict,
    "optimizer": dict,
    "setup_network": dict,
    "setup_optimizer": dict,
    "games": dict,
    "setups": dict,
    "sampling": torch.Tensor,
    "shuffle": torch.Tensor,
}


def save_checkpoint(path: Path, trainer: Trainer) -> None:
    """Write ``path``, complete or not at all; :class:`ArmiesError` if that is refused."""
    content = {
        "preset": asdict(trainer.preset),
        "path": trainer.path.name,
        "seed": trainer.seed,
        "iteration": trainer.iteration,
        "network": trainer.network.state_dict(),
        "optimizer": trainer.optimizer.state_dict(),
        "setup_network": trainer.setup_network.state_dict(),
        "setup_optimizer": trainer.setup_optimizer.state_dict(),
        "games": _tensors(trainer.games.state_dict()),
        "setups": _tensors(trainer.setups.state_dict()),
        "sampling": trainer.sampling.get_state(),
        "shuffle": trainer.shuffle.get_state(),
    }
    try:
        torch.save({"schema": SCHEMA, **content}, part_of(path))
        os.replace(part_of(path), path)
    except (OSError, RuntimeError) as error:  # torch raises the latter
        raise ArmiesError(f"{path} cannot be written: {_first_line(error)}") from error


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint; :class:`ArmiesError` if the file is not one."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ArmiesError(f"{path} is not there, expected a checkpoint") from None
    except OSError as error:
        raise ArmiesError(f"{path} cannot be read as a checkpoint: {error.strerror or error}") from None
    except Exception:  # torch.load raises many kinds for a file that is not its own, some with unsafe advice
        raise ArmiesError(f"{path} cannot be read as a checkpoint: it is damaged, or not one of armies") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ArmiesError(f"{path} is not a checkpoint of armies, expected schema {SCHEMA}")
    for key, kind in CONTENT.items():
        if not isinstance(content.get(key), kind):
            found = type(content[key]).__name__ if key in content else "nothing"
            raise ArmiesError(f"{path}, {key}: found {found}, expected {kind.__name__}")
    for part in ("network", "setup_network"):
        for name, tensor in content[part].items():
            if not isinstance(tensor, torch.Tensor) or not tensor.isfinite().all():
                raise ArmiesError(f"{path}, {part}, {name}: found what is not finite, expected finite numbers")
    return content


@contextmanager
def damage_named(path: Path) -> Iterator[None]:
    """Inside, parts of the checkpoint ``path`` are taken over; what does not fit is an :class:`ArmiesError`.

    A checkpoint with the right keys can still hold anything: other shapes, other names, other settings.
    """
    try:
        yield
    except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ArmiesError(
            f"{path} does not fit, expected a checkpoint of this version of armies: {_first_line(error)}"
        ) from error


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def load_checkpoint(path: Path, trainer: Trainer) -> None:
    """Take over the state in ``path``. Its preset, path and seed must be those of ``trainer``."""
    content = read_checkpoint(path)
    expected = {"preset": asdict(trainer.preset), "path": trainer.path.name, "seed": trainer.seed}
    for key, value in expected.items():
        if content[key] != value:
            found = content[key].get("name") if key == "preset" else content[key]
            wanted = trainer.preset.name if key == "preset" else value
            if found == wanted:
                found, wanted = f"{found} with other settings", f"{wanted} as it is now"
            raise ArmiesError(f"{path} was written with {key} {found}, expected {wanted}")
    with damage_named(path):
        trainer.network.load_state_dict(content["network"])
        trainer.optimizer.load_state_dict(content["optimizer"])
        trainer.setup_network.load_state_dict(content["setup_network"])
        trainer.setup_optimizer.load_state_dict(content["setup_optimizer"])
        trainer.games.load_state_dict(_arrays(content["games"]))
        trainer.setups.load_state_dict(_arrays(content["setups"]))
        trainer.sampling.set_state(content["sampling"])
        trainer.shuffle.set_state(content["shuffle"])
        trainer.iteration = content["iteration"]


def _tensors(arrays: dict[str, NDArray[Any]]) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(array) for name, array in arrays.items()}


def _arrays(tensors: dict[str, torch.Tensor]) -> dict[str, NDArray[Any]]:
    return {name: tensor.numpy() for name, tensor in tensors.items()}
