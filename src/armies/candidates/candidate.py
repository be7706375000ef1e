"""What a candidate is: another way to compute a part of the collection step, beside the path's own way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from armies.network import MoveNetwork
from armies.parity import Batch
from armies.paths import CollectPath

Output = tuple[Tensor, Tensor]
Function = Callable[[list[Any]], list[Output]]
"""Several inputs, each what ``Candidate.prepare`` made of a batch, to as many outputs (one, where they are joined)."""

FORWARD, SAMPLING = "move network forward", "sampling"  # as the stage profile calls them


class UnavailableError(Exception):
    """This device or installation cannot run the candidate; the message says why."""


@dataclass(frozen=True)
class Setting:
    """What a candidate changes: ``network`` in the number format in which ``path`` collects; ``exact`` in float64."""

    path: CollectPath
    network: MoveNetwork
    exact: MoveNetwork
    generator: torch.Generator

    @property
    def dtype(self) -> str:
        return str(self.network.dtype).removeprefix("torch.")


@dataclass(frozen=True)
class Candidate:
    """``base`` and ``changed`` compute ``part`` of a step for ``group`` inputs at a time.

    ``prepare`` turns a batch of real positions into an input that both get; ``arrange`` turns the inputs of ``base``
    into those of ``changed``, which is not timed. ``bad_rows`` says which games of an output are no result, bool [B].
    ``comparable`` runs a function and gives tensors of float64 by name, ``exact`` gives them without rounding.
    ``dtype`` is the number format of ``changed``. ``compiles``: its first calls compile.
    """

    name: str
    part: str
    base: Function
    changed: Function
    bad_rows: Callable[[Any, Output], Tensor]
    comparable: Callable[[list[Any], Function], dict[str, Tensor]]
    exact: Callable[[list[Any]], dict[str, Tensor]]
    dtype: str
    prepare: Callable[[Batch], Any] = lambda batch: batch
    arrange: Callable[[list[Any]], list[Any]] = lambda given: given
    group: int = 1
    compiles: bool = False
