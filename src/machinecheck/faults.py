"""Faults planted on purpose, so that a record shows what this check would have caught that day.

A cell plants the fault that the environment variable ``MACHINECHECK_FAULT`` names, in the output of the
operation under test, and writes its name into the result. Without the variable nothing here does anything.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass

import torch

from machinecheck.errors import MachineCheckError

VARIABLE = "MACHINECHECK_FAULT"
ONE_ELEMENT = "one wrong element"
NAN = "one NaN"
NOT_REPEATING = "does not repeat"
NO_SYNCHRONISATION = "missing synchronisation"
CRASH = "crash"
HANG = "hang"
KERNEL = "kernel build failure"
TRANSPOSED = "wrong A@A.T"
NAMES = (ONE_ELEMENT, NAN, NOT_REPEATING, NO_SYNCHRONISATION, CRASH, HANG, KERNEL, TRANSPOSED)

RACE_FRACTION, RACE_SIZE = 1e-3, 14.0  # the race of document 003: 0.1 % of the elements, off by about 14


def planted() -> str | None:
    """The fault that this process must plant; MachineCheckError for a name that is none."""
    name = os.environ.get(VARIABLE) or None
    if name is not None and name not in NAMES:
        raise MachineCheckError(f"{VARIABLE}: found {name!r}, expected one of {', '.join(NAMES)}")
    return name


@dataclass
class Planter:
    """Plants one fault into successive outputs of an operation."""

    fault: str | None
    calls: int = 0

    def output(self, values: torch.Tensor, form: str = "") -> torch.Tensor:
        """``values``, or a damaged copy. May not return at all: a crash and a hang are faults too."""
        self.calls += 1
        if self.fault is None or self.fault == NO_SYNCHRONISATION:
            return values
        if self.fault == CRASH:
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.fault == HANG:
            time.sleep(3600)
        if self.fault == KERNEL:
            raise RuntimeError(f"miopenStatusUnknownError (simulated by the planted fault {self.fault!r})")
        damaged = values.detach().clone()
        flat = damaged.view(-1)
        if self.fault == ONE_ELEMENT:
            flat[flat.numel() // 2] += 0.5
        elif self.fault == NAN:
            flat[flat.numel() // 2] = float("nan")
        elif self.fault == NOT_REPEATING and self.calls % 2 == 0:
            # signs alternate and the places move, as in a race; every second call is clean
            count = max(1, round(RACE_FRACTION * flat.numel()))
            places = (torch.arange(count) * 997 + self.calls * 131) % flat.numel()
            signs = 1.0 - 2.0 * (torch.arange(count) % 2)
            flat[places.to(flat.device)] += (RACE_SIZE * signs).to(flat)
        elif self.fault == TRANSPOSED and form == "A@A.T":
            damaged[0, -1] += RACE_SIZE
        return damaged
