"""Buffers on the host that the engine fills, and their copies on the device."""

from __future__ import annotations

import torch
from torch import Tensor


class HostBuffers:
    """uint8 arrays of the host for one device.

    Pinned buffers are copied without waiting. That is safe although the engine fills the same buffer again at
    the next ply: the loop reads the actions back from the device in between, and that waits for the copies as
    well.
    """

    def __init__(self, device: torch.device, pinned: bool) -> None:
        self.device = device
        self.pinned = pinned

    def empty(self, *shape: int) -> Tensor:
        return torch.empty(shape, dtype=torch.uint8, pin_memory=self.pinned)

    def to_device(self, tensor: Tensor) -> Tensor:
        """On a CPU the tensor itself, which the next ply overwrites; on another device a copy."""
        return tensor.to(self.device, non_blocking=self.pinned)
