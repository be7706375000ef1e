"""A reservoir of records in contiguous arrays: what a batch needs is one gather per field away from tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lost_cities.kernels.random import derive
from lost_cities.kernels.reservoir import add_records
from lost_cities.rules import Rules

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]


class Memory:
    """At most ``capacity`` records, a uniform sample of all that were ever added.

    The arrays are allocated at once and never copied; pages that were not yet written cost no memory. A record of
    the standard game takes 365 + 22 * 4 + 22 + 4 = 479 bytes: 0.96 GB for 2,000,000 of them.
    """

    def __init__(self, rules: Rules, capacity: int) -> None:
        self.capacity = capacity
        self.seen = 0
        self.arrays: tuple[NDArray[Any], ...] = (
            np.empty((capacity, rules.inputs), np.int8),
            np.empty((capacity, rules.actions), np.float32),
            np.empty((capacity, rules.actions), np.uint8),
            np.empty(capacity, np.float32),
        )
        self._tensors = tuple(torch.from_numpy(array) for array in self.arrays)

    def __len__(self) -> int:
        return min(self.seen, self.capacity)

    @property
    def bytes(self) -> int:
        """Bytes of the arrays when full."""
        return sum(array.nbytes for array in self.arrays)

    def add(
        self,
        inputs: NDArray[np.int8],
        targets: NDArray[np.float32],
        legal: NDArray[np.uint8],
        weight: float,
        seed: tuple[int, int, int, int],
    ) -> None:
        """Offer n records, inputs (n, inputs), targets and legal (n, actions), of one weight (the iteration).

        ``seed``: four whole numbers that name the random stream of this call.
        """
        streams = np.array([derive(*seed)], np.uint64)
        self.seen = int(add_records(self.arrays, self.seen, inputs, targets, legal, np.float32(weight), streams))

    def batch(self, rows: torch.Tensor, device: torch.device) -> Batch:
        """Inputs (int8), targets (float32), legal (uint8) and weights (float32) of ``rows`` (int64) on ``device``."""
        inputs, targets, legal, weights = (tensor.index_select(0, rows).to(device) for tensor in self._tensors)
        return inputs, targets, legal, weights

    def state_dict(self) -> dict[str, Any]:
        """The count and the filled part of the arrays: a copy, or the arrays themselves when they are full."""
        full = len(self) == self.capacity  # saving a part that shares storage would save the whole storage
        return {"seen": self.seen, "arrays": [t if full else t[: len(self)].clone() for t in self._tensors]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.seen = state["seen"]
        for tensor, saved in zip(self._tensors, state["arrays"], strict=True):
            tensor[: len(self)] = saved
