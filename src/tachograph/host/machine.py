"""Facts of the machine that a study runs on. What is unknown is null with a reason, never 0."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import psutil

from tachograph.errors import TachographError
from tachograph.files import digest
from tachograph.host.device import Device
from tachograph.host.driver import driver_version
from tachograph.host.tools import Unknown, output_of
from tachograph.lease.processes import boot_id
from tachograph.study.ledger import utc_now
from tachograph.wording import fault

PROBE_SECONDS = 120
RECORDED_PACKAGES = (
    "tachograph", "snakemake", "torch", "numba", "numpy", "scipy", "pandas", "pydantic", "filelock", "psutil",
    "matplotlib", "tabulate", "pyyaml",
)  # fmt: skip


def unknown(reason: str) -> dict[str, Any]:
    """A fact that could not be found out."""
    return {"value": None, "reason": reason}


def machine_facts(device: Device, torch_probe: Path) -> dict[str, Any]:
    """Host, processor, memory, software and device, with an id made of the stable ones.

    ``torch_probe`` is a program that prints what torch says as JSON; it runs in a process of its own because the
    engine does not import torch. Raises TachographError if torch cannot use ``device``.
    """
    at = utc_now()
    stable = {
        "host": socket.gethostname(),
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cpu": _cpu_model(),
        "cpus_logical": psutil.cpu_count(logical=True),
        "cpus_physical": psutil.cpu_count(logical=False) or unknown("not reported by the kernel"),
        "cpus_usable": len(os.sched_getaffinity(0)),
        "memory_bytes": psutil.virtual_memory().total,
        "cgroup_cpu_max": _text(Path("/sys/fs/cgroup/cpu.max")),
        "governor": _text(Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        "hypervisor": _hypervisor(),
        "device": asdict(device),
    }
    torch, everything = probe_torch(torch_probe, device), distributions()
    stamp = at[:19].replace("-", "").replace(":", "") + "Z"
    return {
        "schema": "machine/1",
        "id": f"MACH-{stamp}-{digest(stable)[:12]}",
        "at": at,
        **stable,
        "boot_id": boot_id(),
        "load_average": list(os.getloadavg()),
        "python": {"version": platform.python_version(), "implementation": platform.python_implementation()},
        "packages": installed_packages(everything),
        "driver": driver_version(device),
        "lscpu": _lscpu(),
        "distributions": everything,
        "torch": torch,
    }


def probe_torch(program: Path, device: Device) -> dict[str, Any]:
    """What torch says of itself and of ``device``, from a process of its own."""
    command = [sys.executable, str(program), device.name]
    try:
        done = subprocess.run(command, capture_output=True, timeout=PROBE_SECONDS, check=False, text=True)
    except subprocess.TimeoutExpired:
        raise TachographError(f"{program.name}: torch said nothing of {device.name} within {PROBE_SECONDS} s") from None
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise TachographError(f"device {device.name} ({device.description}): torch cannot use it: {last}")
    facts: dict[str, Any] = json.loads(done.stdout)
    return facts


def _cpu_model() -> str | dict[str, Any]:
    for line in (_text_or_none(Path("/proc/cpuinfo")) or "").splitlines():
        if line.lower().startswith(("model name", "hardware", "cpu model")):
            return line.split(":", 1)[1].strip()
    return platform.processor() or unknown("/proc/cpuinfo names no model")


def _lscpu() -> dict[str, Any]:
    """Sockets, caches, NUMA nodes, mitigations … by the names that lscpu(1) gives them in English; no flags."""
    text = output_of(["env", "LC_ALL=C", "lscpu", "-J"])
    if isinstance(text, Unknown):
        return text.as_record()
    try:
        return dict(_named(json.loads(text)["lscpu"]))
    except (ValueError, KeyError, TypeError) as error:
        return unknown(f"lscpu printed what is no list of fields: {fault(error)}")


def _named(fields: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """Name and value of each field, also of those below others (util-linux 2.38 and later nest them)."""
    for field in fields:
        name = field["field"].rstrip(":")
        if field.get("data") is not None and name != "Flags":
            yield name, field["data"]
        yield from _named(field.get("children", []))


def _hypervisor() -> Any:
    for line in (_text_or_none(Path("/proc/cpuinfo")) or "").splitlines():
        if line.startswith("flags"):
            return "hypervisor" in line.split()
    return unknown("/proc/cpuinfo lists no flags")


def _text_or_none(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def _text(path: Path) -> Any:
    text = _text_or_none(path)
    return unknown(f"{path} cannot be read") if text is None else text.strip()


def distributions() -> dict[str, str]:
    """Name and version of everything that is installed beside this interpreter, as ``pip freeze`` lists it."""
    found: dict[str, str] = {}
    for one in importlib.metadata.distributions():
        facts = one.metadata  # reads the file each time, and each run asks
        if facts["Name"]:  # half an installation may have none
            found.setdefault(_normal(facts["Name"]), facts["Version"])  # the first on the path is what is imported
    return dict(sorted(found.items()))


def _normal(name: str) -> str:
    """One spelling of a name (Python packaging user guide, "Name normalization")."""
    return re.sub(r"[-_.]+", "-", name).lower()


def installed_packages(everything: Mapping[str, str]) -> dict[str, str | None]:
    """Of all :func:`distributions` those that results can depend on, None where one is not installed."""
    return {name: everything.get(_normal(name)) for name in RECORDED_PACKAGES}
