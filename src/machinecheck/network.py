"""The board network of document 003: 12 planes of 7×7, residual blocks, a policy and a value head."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional

from machinecheck.errors import MachineCheckError

PLANES, BOARD, MOVES = 12, 7, 7
BLOCKS, HEAD_CHANNELS, HIDDEN = 6, 32, 128
GROUPS = 8
# channels → parameters, as document 003 counts them
PARAMETERS = {128: 2_006_888, 64: 667_112}


def _normalised(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(convolution, nn.GroupNorm(GROUPS, outputs))


class ResidualBlock(nn.Module):
    """Two convolutions with group normalisation and a way around them; (B, C, 7, 7) to the same."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.first = _normalised(channels, channels, 3)
        self.second = _normalised(channels, channels, 3)

    def forward(self, board: torch.Tensor) -> torch.Tensor:
        return self.relu(board + self.second(self.relu(self.first(board))))


class BoardNetwork(nn.Module):
    """(B, 12, 7, 7) → policy logits (B, 7) and value (B, 1)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.relu = nn.ReLU()
        self.stem = _normalised(PLANES, channels, 3)
        self.blocks = nn.Sequential(*(ResidualBlock(channels) for _ in range(BLOCKS)))
        squares = HEAD_CHANNELS * BOARD * BOARD
        self.policy_board = _normalised(channels, HEAD_CHANNELS, 1)
        self.policy = nn.Linear(squares, MOVES)
        self.value_board = _normalised(channels, HEAD_CHANNELS, 1)
        self.value_hidden = nn.Linear(squares, HIDDEN)
        self.value = nn.Linear(HIDDEN, 1)

    def forward(self, board: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        board = self.blocks(self.relu(self.stem(board)))
        policy = self.policy(self.relu(self.policy_board(board)).flatten(1))
        hidden = self.relu(self.value_hidden(self.relu(self.value_board(board)).flatten(1)))
        return policy, self.value(hidden)


def parameter_count(network: nn.Module) -> int:
    """Number of trainable numbers."""
    return sum(parameter.numel() for parameter in network.parameters())


def build(channels: int, seed: int) -> BoardNetwork:
    """A network with torch's initial weights for ``seed``, on the processor, fp32.

    MachineCheckError unless ``channels`` can be normalised in groups.
    """
    if channels % GROUPS:
        raise MachineCheckError(f"channels: found {channels}, expected a multiple of {GROUPS}")
    torch.manual_seed(seed)
    return BoardNetwork(channels)


class UnfoldedConvolution(nn.Module):
    """A convolution as patches times weights: another route to the same sums than any convolution kernel."""

    def __init__(self, convolution: nn.Conv2d) -> None:
        super().__init__()
        self.weight = convolution.weight
        self.padding = convolution.padding

    def forward(self, board: torch.Tensor) -> torch.Tensor:
        return unfolded_convolution(board, self.weight, int(self.padding[0]))


def unfolded_convolution(board: torch.Tensor, weight: torch.Tensor, padding: int) -> torch.Tensor:
    """(B, C, H, W) with (O, C, k, k) → (B, O, H, W), stride 1, for k = 2·padding + 1."""
    batch, _, height, width = board.shape
    patches = functional.unfold(board, weight.shape[-1], padding=padding)
    return (weight.flatten(1) @ patches).view(batch, weight.shape[0], height, width)


def unfolded(network: nn.Module) -> nn.Module:
    """A copy whose convolutions all take the other route; parameter names stay."""
    twin = copy.deepcopy(network)
    for parent in list(twin.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, nn.Conv2d):
                setattr(parent, name, UnfoldedConvolution(child))
    return twin


def perturbed(network: nn.Module, unit: float, seed: int) -> nn.Module:
    """A copy that rounds like a format of unit roundoff ``unit``: weights and the outputs of all products are
    off by relative errors drawn from ±``unit``."""
    twin, generator = copy.deepcopy(network), torch.Generator().manual_seed(seed)

    def off(values: torch.Tensor) -> torch.Tensor:
        noise = torch.rand(values.shape, generator=generator, dtype=values.dtype)
        return values * (1 + unit * (2 * noise - 1))

    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.copy_(off(parameter))
    for module in twin.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            module.register_forward_hook(lambda _module, _inputs, output: off(output))
    return twin


def batch(size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """A fixed batch: boards of zeros and ones (B, 12, 7, 7), moves (B,), outcomes (B, 1) in {−1, 0, 1}."""
    generator = torch.Generator().manual_seed(seed)
    boards = torch.randint(0, 2, (size, PLANES, BOARD, BOARD), generator=generator).float()
    moves = torch.randint(0, MOVES, (size,), generator=generator)
    outcomes = torch.randint(-1, 2, (size, 1), generator=generator).float()
    return boards, moves, outcomes


def margins(network: nn.Module, boards: torch.Tensor) -> torch.Tensor:
    """For each board (B,), the smallest |input| of any rectifier: how far it is from another gradient.

    A rectifier's gradient jumps at zero, so an input that rounding could carry over zero has two right
    gradients. Group normalisation keeps the samples of a batch apart.
    """
    smallest = torch.full((boards.shape[0],), torch.inf, dtype=boards.dtype)

    def watch(_: nn.Module, inputs: tuple[torch.Tensor]) -> None:
        torch.minimum(smallest, inputs[0].detach().abs().flatten(1).amin(1), out=smallest)

    hooks = [module.register_forward_pre_hook(watch) for module in network.modules() if isinstance(module, nn.ReLU)]
    with torch.no_grad():
        network(boards)
    for hook in hooks:
        hook.remove()
    return smallest


def steady_batch(network: nn.Module, size: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Of four times as many boards the ``size`` with the largest float64 margins."""
    boards, moves, outcomes = batch(4 * size, seed)
    found = margins(copy.deepcopy(network).double(), boards.double())
    best = found.argsort(descending=True)[:size]
    return boards[best], moves[best], outcomes[best]


def loss(heads: tuple[torch.Tensor, torch.Tensor], moves: torch.Tensor, outcomes: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of the policy plus squared error of the value, means over the batch."""
    policy, value = heads
    return functional.cross_entropy(policy, moves) + functional.mse_loss(value, outcomes)


def gradients(network: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Every parameter's gradient, by name; RuntimeError if one has none."""
    for name, parameter in network.named_parameters():
        if parameter.grad is None:
            raise RuntimeError(f"parameter {name} has no gradient")
        yield name, parameter.grad
