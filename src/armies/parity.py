"""Do all paths compute the same function? Frozen batches of real positions, against a float64 arm.

Every arm evaluates the same positions with the same weights. Its policy logits are taken on the legal moves,
so that heads over all actions and over legal moves can be compared.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from armies.attention import forced_attention
from armies.checkpoint import damage_named, read_checkpoint
from armies.engine import Games
from armies.errors import ArmiesError
from armies.fused import FusedNetwork
from armies.network import MoveNetwork
from armies.paths import CollectPath, path_named
from armies.policy import forward
from armies.presets import Preset
from armies.rollout import pad_moves
from armies.trainer import device_named, make_trainer

ARMS = (
    "reference",
    "flash",
    "flash+fp32",
    "flash+fp32+legal",
    "flash+fp32+legal+table",
    "flash+fp32+legal+table+rows",
    "flash+fp32+legal+table+rows+products",
    "fast",
    "fused",
)
TOLERANCE = 1e-3  # of a logit
PLIES_BETWEEN = 7  # between two batches, so that they hold different positions


@dataclass(frozen=True)
class Batch:
    """Positions of B games with all that any path reads of them."""

    planes: Tensor  # uint8 [B, PLANES, cells]
    codes: Tensor  # uint8 [B, cells, 2]
    summary: Tensor  # uint8 [B, SUMMARY]
    mask: Tensor  # bool [B, A]
    moves: Tensor  # int64 [B, L], padded with -1


def freeze(games: Games, device: torch.device) -> Batch:
    """The positions that ``games`` are in now."""
    arrays = (
        games.observe(),
        games.tokens(),
        games.summary(),
        games.legal_mask(),
        pad_moves(*games.legal_list()),
    )
    planes, codes, summary, mask, moves = (torch.from_numpy(array.copy()).to(device) for array in arrays)
    return Batch(planes, codes, summary, mask.bool(), moves)


@torch.no_grad()
def evaluate(network: MoveNetwork | FusedNetwork, path: CollectPath, batch: Batch) -> tuple[Tensor, Tensor]:
    """Policy logits of all legal moves of the batch, flat [M], and value logits [B, 3], both float64."""
    observation = (batch.codes if path.table else batch.planes, batch.summary)
    with forced_attention(path.attention):
        if path.legal:
            logits, value = forward(network, path, observation, batch.moves)
            legal = logits[batch.moves >= 0]
        else:
            logits, value = forward(network, path, observation, batch.mask)
            legal = logits[batch.mask]  # in ascending order of the actions, as in the lists
    return legal.double(), value.double()


def parity(
    preset: Preset,
    batches: int,
    device_name: str = "cpu",
    seed: int = 0,
    checkpoint: Path | None = None,
    arms: Sequence[str] = ARMS,
) -> dict[str, Any]:
    """Errors of every arm over ``batches`` batches: a ``parity/1`` document.

    The weights are those of ``checkpoint``, or fresh ones. Each arm runs twice on each batch:
    ``repeat_max_abs`` is the largest difference between the two.
    """
    device = device_named(device_name)
    reference = path_named("reference")
    trainer = make_trainer(preset, reference, seed, device_name)
    if checkpoint is not None:
        content = read_checkpoint(checkpoint)
        if content["preset"]["name"] != preset.name:
            raise ArmiesError(
                f"{checkpoint} was written with preset {content['preset']['name']}, expected {preset.name}"
            )
        with damage_named(checkpoint):
            trainer.network.load_state_dict(content["network"])
    paths = [path for path in map(path_named, arms) if device.type == "cpu" or not path.fused]
    if len({path.name for path in paths}) < len(paths):
        raise ArmiesError(f"paths are {', '.join(arms)}, expected each once")
    networks: dict[str, MoveNetwork | FusedNetwork] = {
        number: copy.deepcopy(trainer.network).to(getattr(torch, number))
        for number in {"float64", *(path.collection_dtype(device.type) for path in (reference, *paths))}
    }
    if device.type == "cpu":
        networks["fused"] = FusedNetwork(trainer.network)
    totals = {(path.name, name): Errors() for path in paths for name in _TENSORS}
    rows = 0
    for _ in range(batches):
        trainer.collector.collect(trainer.collecting_network(), PLIES_BETWEEN, trainer.setups)
        batch = freeze(trainer.games, device)
        rows += len(batch.planes)
        exact = evaluate(networks["float64"], reference, batch)
        ours = evaluate(networks[reference.collection_dtype(device.type)], reference, batch)
        for path in paths:
            network = networks["fused" if path.fused else path.collection_dtype(device.type)]
            once, again = evaluate(network, path, batch), evaluate(network, path, batch)
            for name, *tensors in zip(_TENSORS, once, again, exact, ours, strict=True):
                totals[path.name, name].add(*tensors)
    return {
        "schema": "parity/1",
        "preset": preset.name,
        "device": str(device),
        "batches": batches,
        "rows": rows,
        "tensors": [
            {
                "arm": path.name,
                "name": name,
                "dtype": path.collection_dtype(device.type),
                **totals[path.name, name].summary(),
            }
            for path in paths
            for name in _TENSORS
        ],
    }


_TENSORS = ("policy logits", "value logits")


class Errors:
    """Running sums over batches; numbers that are not finite are counted, and left out of the sums."""

    def __init__(self) -> None:
        self.squares = 0.0
        self.count = 0
        self.nonfinite = 0
        self.largest = {"max_abs_fp64": 0.0, "max_abs_reference": 0.0, "repeat_max_abs": 0.0}

    def add(self, once: Tensor, again: Tensor, exact: Tensor, reference: Tensor) -> None:
        finite = torch.isfinite(once) & torch.isfinite(again)
        self.nonfinite += int((~finite.reshape(len(finite), -1).all(1)).sum())
        once, again, exact, reference = (tensor[finite] for tensor in (once, again, exact, reference))
        if not once.numel():
            return
        self.squares += float((once - exact).square().sum())
        self.count += once.numel()
        for key, other in zip(self.largest, (exact, reference, again), strict=True):
            self.largest[key] = max(self.largest[key], float((once - other).abs().max()))

    def summary(self) -> dict[str, Any]:
        return {
            "rmse_fp64": float(np.sqrt(self.squares / self.count)) if self.count else None,
            **self.largest,
            "nonfinite_rows": self.nonfinite,
            "tolerance": TOLERANCE,
        }
