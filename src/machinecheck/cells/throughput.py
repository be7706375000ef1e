"""How fast: matrix products in bursts and sustained, and training steps of the board network."""

from __future__ import annotations

import math
import resource
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import torch

from machinecheck import metrics
from machinecheck import network as nets
from machinecheck.cells.board_network import autocast
from machinecheck.devices import Device, fetch, open_device
from machinecheck.errors import MachineCheckError
from machinecheck.faults import Planter, planted
from machinecheck.precision import Precision, precision, prepare
from machinecheck.probe import amd
from machinecheck.products import parse_shape
from machinecheck.reference import exact_dot
from machinecheck.telemetry import Sampler, lowest_between, sysfs_folder
from machinecheck.timing import Block, Run, calls_per_block, time_at_least, time_block, timed_by
from tachograph.instrument import StageTimer

MEBIBYTE = 2**20
COLD_BYTES = {"cpu": 64 * MEBIBYTE, "cuda": 256 * MEBIBYTE}  # more than the last cache holds
MOST_SETS = 64
CHECKED_ELEMENTS = 16
CLOCK_INTERVAL = 0.05  # seconds between clock readings: one or more in every block
SUBWINDOWS = 8


def _sets(m: int, k: int, n: int, kind: Precision, device: Device) -> list[tuple[torch.Tensor, ...]]:
    """(A, B transposed, C) so many times that a round through them finds none in the cache."""
    each = (m * k + k * n + m * n) * kind.dtype.itemsize
    count = min(MOST_SETS, -(-COLD_BYTES[device.torch_device.type] // each))
    generator = torch.Generator(device.torch_device).manual_seed(0)

    def normal(rows: int, columns: int) -> torch.Tensor:
        # random numbers, because predictable ones are multiplied faster (less power)
        values = torch.randn(rows, columns, device=device.torch_device, generator=generator)
        return values.to(kind.dtype)

    output = torch.empty(m, n, device=device.torch_device, dtype=kind.dtype)
    return [(normal(m, k), normal(n, k), torch.empty_like(output)) for _ in range(count)]


def _multiply(chosen: tuple[torch.Tensor, ...]) -> Run:
    left, right_transposed, output = chosen
    return lambda: torch.mm(left, right_transposed.t(), out=output)


def _looked_at(chosen: tuple[torch.Tensor, ...], kind: Precision, planter: Planter) -> dict[str, Any]:
    """Some elements of a timed product against exactly rounded sums: a fast wrong answer is no throughput."""
    left, right, output = (fetch(tensor) for tensor in (*chosen[:2], planter.output(chosen[2])))
    generator, terms = np.random.default_rng(0), left.shape[1]
    rows = generator.integers(0, left.shape[0], CHECKED_ELEMENTS)
    columns = generator.integers(0, right.shape[0], CHECKED_ELEMENTS)
    exact = np.array([exact_dot(left[i], right[j]) for i, j in zip(rows, columns, strict=True)])
    magnitude = np.array([np.abs(left[i]) @ np.abs(right[j]) for i, j in zip(rows, columns, strict=True)])
    bound = metrics.sum_bound(exact, magnitude, terms, kind)
    return {
        "comparisons": {"some elements of the product": metrics.compare(output[rows, columns], exact, bound)},
        "nonfinite_elements": metrics.nonfinite(output),
    }


def matmul(
    *, size: str = "1024", dtype: str = "fp32", min_block: float = 0.05,
    bursts: int = 4, blocks: int = 4, idle: float = 0.2, lead: float = 1.0, window: float = 2.0,
    device: str = "cpu",
) -> dict[str, Any]:  # fmt: skip
    """Blocks of C = A Bᵀ: in bursts that start from idle, then in a window after a lead-in, in eight parts.

    The rules are mamf-finder v4's (stas00/ml-engineering): random inputs, a cold cache, one synchronisation per block.

    ``min_block``, ``idle``, ``lead`` and ``window`` are seconds.
    """
    if window <= 0:
        raise MachineCheckError(f"window: found {window:g} s, expected more than 0")
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    shape = parse_shape(size, "A@B")
    fault = planted()
    sets = _sets(shape.m, shape.k, shape.n, kind, where)
    timed, runs = timed_by(where, [_multiply(chosen) for chosen in sets], fault)
    calls = calls_per_block(runs, timed, min_block)
    with Sampler(where.torch_device, CLOCK_INTERVAL) as sampler:
        spans: list[tuple[float, Block]] = []
        for _ in range(bursts):
            time.sleep(idle)
            for _ in range(blocks):
                start = time.monotonic()
                spans.append((start, time_at_least(runs, calls, timed, min_block)))
        until = time.monotonic() + lead
        while time.monotonic() < until:
            time_block(runs, calls, timed)
        part = max(min_block, window / SUBWINDOWS)
        windows = [time_at_least(runs, calls, timed, part) for _ in range(SUBWINDOWS)]
        timed.drain()
    clock = "clock_mhz" if not where.is_cpu else "cpu_clock_mhz"
    taken = [
        replace(
            block,
            clock_mhz=lowest_between(
                sampler.samples, clock, start - CLOCK_INTERVAL, start + block.seconds + CLOCK_INTERVAL
            ),
        )
        for start, block in spans
    ]
    return {
        "flop_per_call": 2.0 * shape.m * shape.k * shape.n,
        "blocks": {"burst": [asdict(block) for block in taken], "sustained": [asdict(block) for block in windows]},
        "input_sets": len(sets),
        **_looked_at(sets[0], kind, Planter(fault)),
    }


def memory_used(device: Device) -> dict[str, Any]:
    """Peak bytes that this process used on the device, of how many, and which memory those are."""
    if device.is_cpu:
        used, total = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, psutil.virtual_memory().total
        return {"peak_bytes": used, "total_bytes": total, "of": "main memory"}
    used = torch.cuda.max_memory_allocated(device.torch_device)
    properties = torch.cuda.get_device_properties(device.torch_device)
    return {"peak_bytes": used, **device_memory(properties, bool(torch.version.hip))}


def device_memory(properties: Any, hip: bool, sys_root: Path = Path("/sys")) -> dict[str, Any]:
    """Bytes of the device. Of an APU: the pool shared with the processor, never the carve-out that some tools show."""
    if hip:
        folder = sysfs_folder(properties, sys_root)
        if isinstance(folder, Path):
            held = amd.memory(folder, properties.gcnArchName.partition(":")[0])
            if held["integrated"] is True and isinstance(held["usable_pool_bytes"], int):
                return {"total_bytes": held["usable_pool_bytes"], "of": "the pool shared with the processor"}
    return {"total_bytes": properties.total_memory, "of": "the device's own memory"}


def training(
    *, channels: int = 64, batch: int = 256, dtype: str = "fp32", seconds: float = 1.0, blocks: int = 3,
    stage_steps: int = 3, device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Blocks of forward, backward and Adam step, each of at least ``seconds``.

    fp16 and bf16 mean mixed precision. The stages (forward, backward, optimiser) are timed apart, with a
    synchronisation at each end, and so add up to more than a step without them.
    """
    if seconds <= 0:
        raise MachineCheckError(f"seconds: found {seconds:g}, expected more than 0")
    where = open_device(device)
    prepare(precision(dtype))
    fault = planted()
    planter = Planter(fault)
    model = nets.build(channels, seed).to(where.torch_device)
    boards, moves, outcomes = (tensor.to(where.torch_device) for tensor in nets.batch(batch, seed))
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
    timer = StageTimer(where.synchronize)
    losses: list[torch.Tensor] = []

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with autocast(where, dtype):
            error = nets.loss(model(boards), moves, outcomes)
        error.backward()
        optimiser.step()
        losses.append(error.detach())

    def staged_step() -> None:
        optimiser.zero_grad(set_to_none=True)
        with timer.step():
            with timer.stage("forward"), autocast(where, dtype):
                error = nets.loss(model(boards), moves, outcomes)
            with timer.stage("backward"):
                error.backward()
            with timer.stage("optimiser"):
                optimiser.step()

    timed, runs = timed_by(where, [step], fault)
    calls = calls_per_block(runs, timed, seconds)
    taken = [time_at_least(runs, calls, timed, seconds) for _ in range(blocks)]
    timed.drain()
    for _ in range(stage_steps):
        staged_step()
    last = fetch(planter.output(losses[-1])).item()
    stages = {row["name"]: row["seconds"] / stage_steps for row in timer.stages()}
    return {
        "samples_per_call": batch,
        "blocks": {"best": [asdict(block) for block in taken]},
        "parameters": nets.parameter_count(model),
        "stage_seconds_per_step": stages,
        "last_loss": last if math.isfinite(last) else None,
        "memory": memory_used(where),
    }
