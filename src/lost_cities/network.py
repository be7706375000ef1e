"""The networks: multilayer perceptrons from a state's whole-number inputs to one number per action."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

from lost_cities.encoding import input_scales
from lost_cities.rules import Rules


class Perceptron(nn.Module):
    """``layers`` hidden layers of ``hidden`` units with ReLU; (B, inputs) int8 to (B, actions) float32.

    The last layer starts at zero: an untrained network answers 0, which regret matching and soft-max both turn
    into uniform play.
    """

    scales: torch.Tensor

    def __init__(self, rules: Rules, hidden: int, layers: int) -> None:
        super().__init__()
        self.register_buffer("scales", torch.from_numpy(input_scales(rules)), persistent=False)
        widths = [rules.inputs] + [hidden] * layers
        blocks: list[nn.Module] = []
        for before, after in pairwise(widths):
            blocks += [nn.Linear(before, after), nn.ReLU()]
        last = nn.Linear(widths[-1], rules.actions)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.body = nn.Sequential(*blocks, last)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        answers: torch.Tensor = self.body(inputs.to(torch.float32) * self.scales)
        return answers


def make_network(rules: Rules, hidden: int, layers: int, seed: int, device: torch.device) -> Perceptron:
    """A network with initial weights drawn from ``seed``; the global random state stays as it was."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Perceptron(rules, hidden, layers).to(device)
