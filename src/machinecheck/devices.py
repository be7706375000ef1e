"""The device a cell runs on: where tensors live, how to wait for it, whether it still works."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch

from machinecheck.errors import MachineCheckError
from machinecheck.metrics import Array

Run = Callable[[], object]


class Clocked(Protocol):
    """What timing needs of a device; self-tests have one that works in the background."""

    def synchronize(self) -> None:
        """Block until all queued work is done."""

    def pending(self) -> bool:
        """Whether queued work is still running."""

    def drain(self) -> None:
        """Block until all work is done, whatever fault is planted in ``synchronize``."""


@dataclass(frozen=True)
class Device:
    """``cpu`` or ``cuda:N`` (which ROCm devices are called too)."""

    torch_device: torch.device

    @property
    def is_cpu(self) -> bool:
        return self.torch_device.type == "cpu"

    def synchronize(self) -> None:
        if not self.is_cpu:
            torch.cuda.synchronize(self.torch_device)

    def pending(self) -> bool:
        return not self.is_cpu and not torch.cuda.current_stream(self.torch_device).query()

    def drain(self) -> None:
        self.synchronize()

    def put(self, values: Array, dtype: torch.dtype) -> torch.Tensor:
        """A float64 array, rounded to ``dtype`` on the processor, then copied to the device."""
        return torch.tensor(values).to(dtype).to(self.torch_device)


def open_device(name: str) -> Device:
    """The device called ``name``; MachineCheckError if torch does not see it."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise MachineCheckError(f"device: found {name!r}, expected cpu or cuda:N") from None
    if device.type == "cpu":
        return Device(device)
    if device.type != "cuda":
        raise MachineCheckError(f"device: found {name!r}, expected cpu or cuda:N")
    count = torch.cuda.device_count()
    if (device.index or 0) >= count:
        there = f"cpu or cuda:0 to cuda:{count - 1}" if count else "cpu, as torch sees no GPU here"
        raise MachineCheckError(f"device: found {name!r}, expected {there}")
    return Device(torch.device("cuda", device.index or 0))


@contextmanager
def onednn(enabled: bool) -> Iterator[None]:
    """Allow or forbid oneDNN's kernels on the processor within the block."""
    before = torch.backends.mkldnn.enabled
    torch.backends.mkldnn.enabled = enabled  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.backends.mkldnn.enabled = before


def fetch(values: torch.Tensor) -> Array:
    """A copy as float64 on the processor (exact for every format of at most 53 bits)."""
    return np.asarray(values.detach().cpu().to(torch.float64, copy=True).numpy())
