"""What torch sees, printed as one JSON object. A program of its own: touching a broken device can kill it.

Run as ``python -m machinecheck.probe.torch_facts`` for what is known without touching a device, with
``--devices`` for what needs one operation on each, with ``--collect-env`` for torch's own report.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import numpy as np
import scipy.linalg.blas  # noqa: F401 - brings a BLAS library of its own, as it does to a program that uses it
import threadpoolctl
import torch

from machinecheck import attention
from machinecheck.files import to_json
from machinecheck.probe import libraries


def _device(index: int) -> dict[str, Any]:
    properties = torch.cuda.get_device_properties(index)
    facts = {
        "name": properties.name,
        "memory_bytes": properties.total_memory,
        # on RDNA this counts work-group processors, half of the compute units
        "multiprocessors_as_torch_counts": properties.multi_processor_count,
        "capability": f"{properties.major}.{properties.minor}",
        "instruction_set": getattr(properties, "gcnArchName", None),
        "integrated": bool(getattr(properties, "is_integrated", False)),
    }
    probe = torch.ones(64, 64, device=f"cuda:{index}")
    facts["first_operation_right"] = bool(torch.equal((probe @ probe).cpu(), torch.full((64, 64), 64.0)))
    return facts


def _attention(device: str, dtype: torch.dtype) -> dict[str, str]:
    """Each backend: the kernel that runs for a small input of ``dtype``, or why it does not take it."""
    query = torch.ones(1, 2, 16, 32, device=device, dtype=dtype)
    found = {}
    for backend in attention.BACKENDS:
        try:
            found[backend] = attention.refusal(backend, query) or attention.kernel_name(backend, query)
        except RuntimeError as error:
            found[backend] = f"failed: {str(error).splitlines()[0][:200]}"
    return found


def attention_kernels(device: str) -> dict[str, dict[str, str]]:
    """The attention backends of a device by format."""
    formats = {"fp32": torch.float32, "bf16": torch.bfloat16}
    return {name: _attention(device, dtype) for name, dtype in formats.items()}


def devices() -> list[dict[str, Any]]:
    """One dict per accelerator, each of which has done one operation."""
    count = torch.cuda.device_count()
    return [_device(index) | {"attention": attention_kernels(f"cuda:{index}")} for index in range(count)]


def blas(build: str) -> str | None:
    """The BLAS library that torch was built with; linked into torch, it is in no list of loaded libraries."""
    found = re.search(r"\bBLAS_INFO=(\w+)", build)
    return found[1] if found else None


def facts() -> dict[str, Any]:
    """Build, runtimes, effective threads and kernels, attention backends, doubled libraries."""
    torch.ones(8, 8) @ torch.ones(8, 8)  # loads what is loaded on first use
    np.ones((8, 8)) @ np.ones((8, 8))
    return {
        "version": str(torch.__version__),
        "build": torch.__config__.show(),
        "blas": blas(torch.__config__.show()),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "cudnn": torch.backends.cudnn.version() if torch.cuda.is_available() else None,
        "numpy": np.__version__,
        "onednn": {
            "built_in": torch.backends.mkldnn.is_available(),
            "enabled": torch.backends.mkldnn.enabled,
        },
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "threads": torch.get_num_threads(),
        "allow_tf32": torch.backends.cuda.matmul.allow_tf32,
        "float32_matmul_precision": torch.get_float32_matmul_precision(),
        "thread_pools": threadpoolctl.threadpool_info(),
        "device_count": torch.cuda.device_count(),
        "attention": attention_kernels("cpu"),
        "library_copies": libraries.copies_in_this_process(),
    }


def main(arguments: list[str]) -> int:
    if arguments == ["--collect-env"]:
        from torch.utils.collect_env import get_pretty_env_info

        sys.stdout.write(get_pretty_env_info() + "\n")
    elif arguments == ["--devices"]:
        sys.stdout.write(to_json(devices()))
    else:
        sys.stdout.write(to_json(facts()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
