"""Devices by name, and the settings of torch that a configuration asks for."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch

from lost_cities.config import Run
from lost_cities.errors import LostCitiesError


def device_named(name: str, key: str) -> torch.device:
    """The device; :class:`LostCitiesError` that names ``key`` if there is none of that name here."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise LostCitiesError(f"{key}: found {name!r}, expected cpu, cuda or cuda:N") from None
    if device.type not in ("cpu", "cuda") or (device.type == "cpu" and name != "cpu"):  # torch takes cpu:5 for cpu
        raise LostCitiesError(f"{key}: found {name!r}, expected cpu, cuda or cuda:N")
    if device.type == "cuda":
        count = torch.cuda.device_count()
        if (device.index or 0) >= count:
            there = f"cpu or cuda:0 to cuda:{count - 1}" if count else "cpu, as torch sees no GPU here"
            raise LostCitiesError(f"{key}: found {name!r}, expected {there}")
    return device


def synchronizer(device: torch.device) -> Callable[[], None]:
    """What waits until the device is idle."""
    if device.type == "cuda":
        return lambda: torch.cuda.synchronize(device)
    return lambda: None


def apply_run_settings(run: Run) -> None:
    """Threads and determinism of this process. Call it before the first work on a device."""
    if run.threads:
        torch.set_num_threads(run.threads)
    if run.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read by cuBLAS at its first use
    torch.use_deterministic_algorithms(run.deterministic)
