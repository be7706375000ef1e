"""Processor, memory, kernel, limits and environment of the host."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path
from typing import Any

import psutil

from machinecheck.probe import read
from machinecheck.unknown import Unknown

# Names that change numbers or speed. Never the whole environment: it holds secrets.
ENVIRONMENT_PREFIXES = (
    "OMP_", "MKL_", "OPENBLAS_", "GOTO_", "BLIS_", "NUMBA_", "KMP_", "GOMP_",
    "CUDA_", "CUBLAS_", "CUDNN_", "NVIDIA_", "HIP_", "HSA_", "ROCR_", "ROCBLAS_", "HIPBLASLT_", "MIOPEN_",
    "TORCH_", "PYTORCH_", "TUNABLEOP_", "ONEDNN_", "DNNL_", "SLURM_",
)  # fmt: skip
ENVIRONMENT_NAMES = ("LD_PRELOAD", "LD_LIBRARY_PATH", "GPU_DEVICE_ORDINAL")
SECRET_WORDS = ("TOKEN", "KEY", "SECRET", "PASSWORD")


def environment(variables: dict[str, str]) -> dict[str, str]:
    """The variables that matter for numbers and speed, by an allow-list."""
    return {
        name: value
        for name, value in sorted(variables.items())
        if (name.startswith(ENVIRONMENT_PREFIXES) or name in ENVIRONMENT_NAMES)
        and not any(word in name for word in SECRET_WORDS)
    }


def _cpuinfo(proc: Path) -> dict[str, str]:
    found = read.text(proc / "cpuinfo")
    if isinstance(found, Unknown):
        return {}
    pairs = (line.split(":", 1) for line in found.split("\n\n")[0].splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


NO_LIMIT = Unknown("no limit is set")


def _cpu_limit(sys_root: Path) -> float | Unknown:
    """Processors allowed by the control group."""
    found = read.text(sys_root / "fs/cgroup/cpu.max")
    if isinstance(found, Unknown):
        return found
    quota, _, period = found.partition(" ")
    if quota == "max":
        return NO_LIMIT
    place = sys_root / "fs/cgroup/cpu.max"
    allowed, of = read.as_number(quota, place), read.as_number(period or "100000", place)
    if isinstance(allowed, Unknown) or isinstance(of, Unknown):
        return allowed if isinstance(allowed, Unknown) else of
    return allowed / of if of > 0 else Unknown(f"{place}: expected a period, found {period!r}")


def _lscpu() -> Any:
    found = read.output(["lscpu", "-J"])
    if isinstance(found, Unknown):
        return found
    try:
        return json.loads(found)["lscpu"]
    except (ValueError, KeyError, TypeError):
        return Unknown("lscpu -J printed something unreadable")


def processor_name() -> str | None:
    """What the kernel calls the processor; None where it gives it no name."""
    return _cpuinfo(Path("/proc")).get("model name")


def processor(proc: Path, sys_root: Path) -> dict[str, Any]:
    """Model, counts, governor, limits, mitigations (counts are processors; frequencies MHz)."""
    info = _cpuinfo(proc)
    frequency = sys_root / "devices/system/cpu/cpu0/cpufreq"
    vulnerabilities = sys_root / "devices/system/cpu/vulnerabilities"
    scale = 1e-3  # sysfs gives kHz
    return {
        "model": info.get("model name") or Unknown(f"{proc / 'cpuinfo'}: no model name"),
        "architecture": platform.machine(),
        "logical": psutil.cpu_count() or Unknown("not reported by the system"),
        "physical": psutil.cpu_count(logical=False) or Unknown("not reported by the system"),
        "usable": len(os.sched_getaffinity(0)),
        "control_group_limit": _cpu_limit(sys_root),
        "hypervisor": "hypervisor" in info.get("flags", "").split() if "flags" in info else Unknown("no flags"),
        "governor": read.text(frequency / "scaling_governor"),
        "frequency_driver": read.text(frequency / "scaling_driver"),
        "frequency_max_mhz": read.number(frequency / "cpuinfo_max_freq", scale),
        "boost": read.text(sys_root / "devices/system/cpu/cpufreq/boost"),
        "numa_nodes": len(list((sys_root / "devices/system/node").glob("node[0-9]*")))
        or Unknown(f"{sys_root / 'devices/system/node'}: no node listed"),
        "mitigations": {file.name: read.text(file) for file in sorted(vulnerabilities.glob("*"))}
        or Unknown(f"{vulnerabilities}: nothing listed"),
        "lscpu": _lscpu(),
    }


def memory(proc: Path, sys_root: Path) -> dict[str, Any]:
    """Total memory and the control group's limit, bytes."""
    total: int | Unknown = Unknown(f"{proc / 'meminfo'}: no MemTotal")
    found = read.text(proc / "meminfo")
    if not isinstance(found, Unknown):
        for line in found.splitlines():
            if line.startswith("MemTotal:"):
                kibibytes = read.as_whole(line.removeprefix("MemTotal:").removesuffix("kB").strip(), proc / "meminfo")
                total = kibibytes * 1024 if isinstance(kibibytes, int) else kibibytes
    limit: int | str | Unknown = read.text(sys_root / "fs/cgroup/memory.max")
    if isinstance(limit, str):
        limit = NO_LIMIT if limit == "max" else read.as_whole(limit, sys_root / "fs/cgroup/memory.max")
    return {"total_bytes": total, "control_group_limit_bytes": limit}


def package_power(sys_root: Path) -> dict[str, Any]:
    """Whether the processor's energy counter (RAPL) can be read at all; it is often root's alone."""
    counter = sys_root / "class/powercap/intel-rapl:0/energy_uj"
    return {"source": "RAPL, whole package", "energy_counter_microjoule": read.integer(counter)}


def interpreter() -> dict[str, Any]:
    """The Python that runs the measurements."""
    return {
        "implementation": platform.python_implementation(),
        "version": platform.python_version(),
        "compiler": platform.python_compiler(),
        "executable": sys.executable,
    }


def system(proc: Path) -> dict[str, Any]:
    """Kernel, C library and the identity of this boot."""
    return {
        "kernel": platform.release(),
        "libc": " ".join(platform.libc_ver()).strip() or Unknown("not a glibc system"),
        "boot_id": read.text(proc / "sys/kernel/random/boot_id"),
        "load_average": read.text(proc / "loadavg"),
        "pressure": {name: read.text(proc / "pressure" / name) for name in ("cpu", "memory", "io")},
    }
