"""All cells by kind and operation, their settings, and one measured cell as a record."""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import threadpoolctl
import torch

from machinecheck import METHOD_VERSION, faults, settings
from machinecheck.cells import board_network, convolution, layers, matmul, repeatability, soak, throughput
from machinecheck.devices import Device, open_device
from machinecheck.errors import MachineCheckError
from machinecheck.probe import libraries
from machinecheck.probe.host import environment, processor_name
from machinecheck.telemetry import Sampler, device_users, summary, usable_processors, with_device_users

SCHEMA = "machinecheck-cell/2"
Cell = Callable[..., dict[str, Any]]

CELLS: dict[str, dict[str, Cell]] = {
    "correctness": {
        "matmul": matmul.matmul,
        "integers": matmul.integers,
        "convolution": convolution.convolution,
        "network": board_network.network,
        "steps": board_network.steps,
        "optimiser": layers.optimiser,
        "attention": layers.attention,
        "batch-norm": layers.batch_norm,
        "group-norm": layers.group_norm,
    },
    "repeatability": {
        "sgemm": repeatability.sgemm,
        "convolution": repeatability.convolution,
        "linear": repeatability.linear,
        "group-norm": repeatability.group_norm,
        "network": repeatability.network,
    },
    "throughput": {"matmul": throughput.matmul, "training": throughput.training},
    "soak": {"training": soak.training},
}


def defaults(kind: str, operation: str) -> dict[str, Any]:
    """A cell's settings with their defaults. MachineCheckError naming the cells there are, for another."""
    if kind not in CELLS:
        raise MachineCheckError(f"cell kind: found {kind!r}, expected one of {', '.join(CELLS)}")
    if operation not in CELLS[kind]:
        expected = ", ".join(CELLS[kind])
        raise MachineCheckError(f"{kind} operation: found {operation!r}, expected one of {expected}")
    parameters = inspect.signature(CELLS[kind][operation]).parameters
    return {name: parameter.default for name, parameter in parameters.items()}


def parse_settings(kind: str, operation: str, arguments: list[str]) -> dict[str, Any]:
    """``["--size", "1024", …]`` as typed settings; MachineCheckError for an unknown or mistyped one."""
    return settings.parse(f"cell {kind} {operation}", defaults(kind, operation), arguments)


def effective() -> dict[str, Any]:
    """What this process really ran with: versions, threads, BLAS kernels, doubled libraries, environment."""
    return {
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "torch_threads": torch.get_num_threads(),
        "thread_pools": threadpoolctl.threadpool_info(),
        "allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        "library_copies": libraries.copies_in_this_process(),
        "environment": environment(dict(os.environ)),
    }


def device_name(device: Device) -> str | None:
    """What torch calls an accelerator, or the kernel the processor: by it a study declares peaks."""
    return processor_name() if device.is_cpu else str(torch.cuda.get_device_properties(device.torch_device).name)


def measure(kind: str, operation: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Run one cell in this process and return its record."""
    started, clock = datetime.now(UTC), time.monotonic()
    device = open_device(given["device"])
    others = [] if device.is_cpu else [device_users()]
    with Sampler(device.torch_device) as sampler:
        measured = CELLS[kind][operation](**given)
    others += [] if device.is_cpu else [device_users()]
    host = summary(sampler.samples, sampler.since, usable_processors())
    return {
        "schema": SCHEMA,
        "method_version": METHOD_VERSION,
        "kind": kind,
        "operation": operation,
        "settings": dict(given),
        "device_name": device_name(device),
        "fault": faults.planted(),
        "started": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "seconds": time.monotonic() - clock,
        "measured": measured,
        "effective": effective(),
        "host": host if device.is_cpu else with_device_users(host, others, os.getpid()),
    }
