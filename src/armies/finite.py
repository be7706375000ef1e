"""Stopping at the first number that is not finite."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from armies.errors import NonFiniteTrainingError


def require_finite(name: str, tensor: Tensor) -> None:
    """Raise :class:`NonFiniteTrainingError` naming the tensor if a NaN or an infinity is in it."""
    if math.isfinite(tensor.detach().sum()):  # one pass; if the sum only overflowed, the count below is 0
        return
    bad = int((~torch.isfinite(tensor)).sum())
    if bad:
        raise NonFiniteTrainingError(f"{name}: {bad} of {tensor.numel()} numbers are not finite")


def require_finite_parameters(name: str, module: nn.Module) -> None:
    """The same for every parameter of ``module``, named ``name.parameter``."""
    for parameter_name, parameter in module.named_parameters():
        require_finite(f"{name}.{parameter_name}", parameter)
