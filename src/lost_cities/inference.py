"""Networks that only answer: copies of the trained ones, for traversals and evaluation."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from lost_cities.network import make_network
from lost_cities.rules import Rules

Weights = dict[str, NDArray[Any]]
"""A network's state as arrays, for the way through a pipe."""


def weights_of(network: torch.nn.Module) -> Weights:
    return {name: tensor.detach().cpu().numpy().copy() for name, tensor in network.state_dict().items()}


class Answerer:
    """One network in inference; calls take arrays and give arrays, whatever the device."""

    def __init__(
        self,
        rules: Rules,
        hidden: int,
        layers: int,
        device: torch.device,
        use_amp: bool = False,
        compiled: bool = False,
    ) -> None:
        self._network = make_network(rules, hidden, layers, 0, device).eval()
        self._call: Any = torch.compile(self._network, dynamic=True) if compiled else self._network
        self._device, self._use_amp = device, use_amp

    def load(self, weights: Weights) -> None:
        self._network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})

    def answer(self, inputs: NDArray[np.int8]) -> NDArray[np.float32]:
        """The network's float32 (n, actions) for int8 (n, inputs)."""
        with torch.inference_mode(), torch.autocast(self._device.type, torch.bfloat16, enabled=self._use_amp):
            answers = self._call(torch.from_numpy(inputs).to(self._device))
            array: NDArray[np.float32] = answers.float().cpu().numpy()
        return array
