"""Saving a training between two iterations and loading it exactly, as tensors and plain values only."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from armies.errors import ArmiesError
from armies.trainer import Trainer

CHECKPOINT = "checkpoint.pt"
SCHEMA = "armies-checkpoint/1"


def save_checkpoint(path: Path, trainer: Trainer) -> None:
    """Write ``path``, complete or not at all."""
    content = {
        "schema": SCHEMA,
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
    temporary = path.with_name(path.name + ".part")
    torch.save(content, temporary)
    os.replace(temporary, path)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint; :class:`ArmiesError` if the file is not one."""
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except FileNotFoundError:
        raise ArmiesError(f"{path} is not there, expected a checkpoint") from None
    except Exception as error:  # torch.load raises many kinds for a file that is not its own
        raise ArmiesError(f"{path} cannot be read as a checkpoint: {str(error).splitlines()[0]}") from None
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ArmiesError(f"{path} is not a checkpoint of armies, expected schema {SCHEMA}")
    return content


def load_checkpoint(path: Path, trainer: Trainer) -> None:
    """Take over the state in ``path``. Its preset, path and seed must be those of ``trainer``."""
    content = read_checkpoint(path)
    expected = {"preset": asdict(trainer.preset), "path": trainer.path.name, "seed": trainer.seed}
    for key, value in expected.items():
        if content[key] != value:
            found = content[key]["name"] if key == "preset" else content[key]
            wanted = trainer.preset.name if key == "preset" else value
            if found == wanted:
                found, wanted = f"{found} with other settings", f"{wanted} as it is now"
            raise ArmiesError(f"{path} was written with {key} {found}, expected {wanted}")
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
