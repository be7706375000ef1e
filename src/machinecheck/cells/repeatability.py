"""Repeatability of named operations: hashes over repeats × thread counts × processes.

The two host defects of document 003 are two named rows here: the threaded single-precision product
(``sgemm``) and the convolution that does not repeat (``convolution``).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from threadpoolctl import threadpool_info, threadpool_limits
from torch.nn import functional

from machinecheck import devices, metrics, repeats
from machinecheck import network as nets
from machinecheck.cells import convolution as convolutions
from machinecheck.devices import Device, open_device
from machinecheck.errors import MachineCheckError
from machinecheck.faults import Planter, planted
from machinecheck.precision import precision, prepare
from machinecheck.products import Operands, normal_operands, parse_shape, product, prove_product, rounded
from machinecheck.reference import Reference
from machinecheck.repeats import Row, Truth
from machinecheck.settings import arguments_of

PROVING_REPEATS = 2
AS_STARTED = "as-started"
MOST_THREADS = 1024  # as a study may register; the threads of one cell more could be refused to everybody else
Run = Callable[[], torch.Tensor]


class OtherProcessError(Exception):
    """Another process of the cell ended without rows; the message says how."""


def thread_counts(text: str, usable: int) -> list[int]:
    """``1,2,4,8,all`` as counts, rising and each once. More threads than processors are allowed: races like them.

    ``as-started`` is none of them: libraries keep the threads that they came with, as an environment limits them.
    """
    if text == AS_STARTED:
        return []
    found = set()
    for part in text.split(","):
        word = part.strip()
        if word != "all" and not (word.isdigit() and int(word) > 0):
            raise MachineCheckError(
                f"threads: found {text!r}, expected numbers or all, like 1,2,4,8,all, or {AS_STARTED}"
            )
        found.add(usable if word == "all" else int(word))
    if max(found) > MOST_THREADS:
        raise MachineCheckError(f"threads: found {text!r}, expected no more than {MOST_THREADS}")
    return sorted(found)


def threads_started(library: str) -> int:
    """Threads that the BLAS of ``library`` came with, or torch where the library is torch."""
    pools = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    return torch.get_num_threads() if library == "torch" or not pools else max(pools)


@contextmanager
def thread_limit(count: int) -> Iterator[None]:
    """Limit torch's threads and every BLAS library's to ``count`` within the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with threadpool_limits(limits=count):
            yield
    finally:
        torch.set_num_threads(before)


def _rows(run: Run, truth: Truth | None, device: Device, given: dict[str, Any], process: int) -> list[Row]:
    count = given["repeats"]
    planter = Planter(planted())

    def once() -> torch.Tensor:
        output = planter.output(run())
        device.synchronize()
        return output

    if not device.is_cpu:
        return [{"threads": None, "oversubscribed": False, "process": process, **repeats.watch(once, count, truth)}]
    rows, usable = [], len(os.sched_getaffinity(0))
    limits: list[tuple[int, AbstractContextManager[None]]]
    limits = [(number, thread_limit(number)) for number in thread_counts(given["threads"], usable)]
    for number, limit in limits or [(threads_started(given.get("library", "torch")), nullcontext())]:
        with limit:
            pools = {Path(pool["filepath"]).name: pool["num_threads"] for pool in threadpool_info()}
            row = repeats.watch(once, count, truth)
            oversubscribed = number > usable
            rows.append(
                {"threads": number, "oversubscribed": oversubscribed, "process": process, "thread_pools": pools, **row}
            )
    return rows


@contextmanager
def _other_processes(operation: str, given: dict[str, Any], processes: int) -> Iterator[Callable[[], list[Row]]]:
    """The same cell in fresh interpreters beside this one; call what is yielded for their rows.

    They share nothing with this process but the machine, and running at once makes a race likelier to show.
    """
    command = [sys.executable, "-m", "machinecheck", "cell", "repeatability", operation, "--processes=1"]
    command += arguments_of(given)
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        started = []
        for process in range(1, processes):
            out = Path(folder) / f"{process}.json"
            child = stack.enter_context(
                subprocess.Popen([*command, f"--out={out}"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            )
            stack.callback(child.kill)
            started.append((process, child, out))

        def rows() -> list[Row]:
            found: list[Row] = []
            for process, child, out in started:
                _, complaint = child.communicate()
                found += [row | {"process": process} for row in _rows_of(process, child.returncode, complaint, out)]
            return found

        yield rows


def _rows_of(process: int, code: int, complaint: bytes, out: Path) -> list[Row]:
    """What another process measured. OtherProcessError says how it ended if it measured nothing."""
    if code < 0:
        raise OtherProcessError(f"process {process}: crashed({signal_name(-code)})")
    measured = json.loads(out.read_text(encoding="utf-8"))["measured"] if out.exists() else {"rows": []}
    if code or not measured["rows"]:
        said = complaint.decode(errors="replace").strip().splitlines()[-1:] or ["it measured nothing"]
        raise OtherProcessError(f"process {process}: exit code {code}: {said[0]}")
    return list(measured["rows"])


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; the number where the system has no name for it."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _measured(
    operation: str,
    given: dict[str, Any],
    processes: int,
    run: Run,
    prove: Callable[[], tuple[Reference, Truth | None]] | None = None,
) -> dict[str, Any]:
    """Rows of this process and of the others; with ``prove``, held against its truth.

    ``lost`` says of another process how it ended without rows.
    """
    thread_counts(given["threads"], 1)  # a wrong word is told before anything is computed
    with _other_processes(operation, given, processes) as others:
        proof, truth = prove() if prove is not None else (None, None)
        if proof is not None and not proof.usable:
            return {"rows": [], "lost": None, "reference": proof.numbers()}
        device = open_device(given["device"])
        rows, lost = _rows(run, truth, device, given, 0), None
        try:
            rows += others()
        except OtherProcessError as error:
            lost = str(error)
    return {"rows": rows, "lost": lost, "reference": None if proof is None else proof.numbers()}


def sgemm(
    *, size: str = "1024", form: str = "A@B", library: str = "torch", dtype: str = "fp32",
    threads: str = "1,2,4,8,all", repeats: int = 40, processes: int = 2, device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """The matrix product of one library, each call also held against a proven float64 product."""
    given = {name: value for name, value in locals().items() if name != "processes"}
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    shape = parse_shape(size, form)
    operands: Operands = normal_operands(shape, form, kind.dtype, seed)

    def prove() -> tuple[Reference, Truth | None]:
        magnitude = operands.magnitude
        proof = prove_product(operands, magnitude, PROVING_REPEATS)
        if not proof.usable:
            return proof, None
        reference = proof.tensors["C"]
        return proof, Truth(reference, metrics.sum_bound(reference, magnitude, shape.k, kind))

    return _measured("sgemm", given, processes, product(operands, form, kind, library, where), prove)


def convolution(
    *, batch: int = 256, channels: int = 128, board: int = 7, dtype: str = "fp32", onednn: bool = True,
    threads: str = "1,2,4,8,all", repeats: int = 20, processes: int = 2, device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Document 003's convolution over (256, 128, 7, 7), each call held against a proven float64 one."""
    given = {name: value for name, value in locals().items() if name != "processes"}
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    values = convolutions.inputs(batch, channels, board, kind.dtype, seed)[:2]
    tensors = [where.put(value, kind.dtype) for value in values]
    terms = channels * convolutions.KERNEL**2

    def prove() -> tuple[Reference, Truth | None]:
        magnitude = convolutions.forward([np.abs(value) for value in values])
        proof = convolutions.proven_forward(values, magnitude, terms, PROVING_REPEATS)
        if not proof.usable:
            return proof, None
        reference = proof.tensors["output"]
        return proof, Truth(reference, metrics.convolution_bound(reference, magnitude, terms, kind))

    def run() -> torch.Tensor:
        with devices.onednn(onednn), torch.no_grad():
            return convolutions.through_torch(*tensors)

    return _measured("convolution", given, processes, run, prove)


def linear(
    *, batch: int = 256, inputs: int = 1568, outputs: int = 128, dtype: str = "fp32",
    threads: str = "1,2,4,8,all", repeats: int = 20, processes: int = 2, device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """A linear layer of the board network's value head."""
    given = {name: value for name, value in locals().items() if name != "processes"}
    shapes: list[tuple[int, ...]] = [(batch, inputs), (outputs, inputs), (outputs,)]
    data, weight, bias = _normals(device, dtype, shapes, seed)
    return _measured("linear", given, processes, lambda: functional.linear(data, weight, bias))


def group_norm(
    *, batch: int = 256, channels: int = 128, board: int = 7, groups: int = 8, dtype: str = "fp32",
    threads: str = "1,2,4,8,all", repeats: int = 20, processes: int = 2, device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """Group normalisation of the board network."""
    if channels % groups:
        raise MachineCheckError(f"channels: found {channels}, expected a multiple of the {groups} groups")
    given = {name: value for name, value in locals().items() if name != "processes"}
    shapes = [(batch, channels, board, board), (channels,), (channels,)]
    data, weight, bias = _normals(device, dtype, shapes, seed)

    def run() -> torch.Tensor:
        return functional.group_norm(data, groups, weight, bias)

    return _measured("group-norm", given, processes, run)


def _normals(device: str, dtype: str, shapes: list[tuple[int, ...]], seed: int) -> list[torch.Tensor]:
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    generator = np.random.default_rng(seed)
    values = [rounded(generator.standard_normal(shape), kind.dtype) for shape in shapes]
    return [where.put(value, kind.dtype) for value in values]


def network(
    *, channels: int = 128, batch: int = 256, passes: str = "forward", onednn: bool = True,
    dtype: str = "fp32", threads: str = "1,2,4,8,all", repeats: int = 20, processes: int = 2,
    device: str = "cpu", seed: int = 0,
) -> dict[str, Any]:  # fmt: skip
    """The whole board network: logits and value (``forward``), or all gradients too (``backward``)."""
    if passes not in ("forward", "backward"):
        raise MachineCheckError(f"passes: found {passes!r}, expected forward or backward")
    given = {name: value for name, value in locals().items() if name != "processes"}
    kind, where = precision(dtype), open_device(device)
    prepare(kind)
    model = nets.build(channels, seed).to(where.torch_device, kind.dtype).train(passes == "backward")
    boards, moves, outcomes = (tensor.to(where.torch_device) for tensor in nets.batch(batch, seed))

    def run() -> torch.Tensor:
        with devices.onednn(onednn), torch.set_grad_enabled(passes == "backward"):
            model.zero_grad(set_to_none=True)
            heads = model(boards.to(kind.dtype))
            parts = [head.detach().flatten() for head in heads]
            if passes == "backward":
                nets.loss(heads, moves, outcomes.to(kind.dtype)).backward()
                parts += [gradient.flatten() for _, gradient in nets.gradients(model)]
        return torch.cat(parts)

    return _measured("network", given, processes, run)
