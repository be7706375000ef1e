"""Timers that a loop may be given: Tachograph's stage timer, or none at all."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

import torch

from tachograph.instrument import StageTimer


class Timer(Protocol):
    """What the collection loop asks of a timer; :class:`tachograph.instrument.StageTimer` is one."""

    def stage(self, name: str, group: str | None = None) -> AbstractContextManager[None]: ...

    def step(self) -> AbstractContextManager[None]: ...


class _NoTimer:
    """Measures nothing and never synchronises."""

    _nothing = nullcontext()

    def stage(self, name: str, group: str | None = None) -> AbstractContextManager[None]:
        return self._nothing

    def step(self) -> AbstractContextManager[None]:
        return self._nothing


NO_TIMER: Timer = _NoTimer()


def synchronize(device: torch.device) -> None:
    """Block until the device has finished all work given to it. A CPU always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def stage_timer(device: torch.device) -> StageTimer:
    """A stage timer whose brackets synchronise ``device``."""
    return StageTimer(synchronize=lambda: synchronize(device))
