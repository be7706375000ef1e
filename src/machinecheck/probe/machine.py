"""The whole probe: every fact with its reason where unknown, and the machine's identity."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from machinecheck import METHOD_VERSION
from machinecheck.files import to_json, write_json, write_text
from machinecheck.probe import amd, host, nvidia
from machinecheck.unknown import Unknown, separate

SCHEMA = "machinecheck-probe/1"
GIBIBYTE = 2**30


def _torch_program(*arguments: str, seconds: float = 120.0) -> str | Unknown:
    """Output of the program that touches torch and the devices, or how it died."""
    command = [sys.executable, "-m", "machinecheck.probe.torch_facts", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return Unknown(f"torch did not answer in {seconds:g} s")
    if done.returncode < 0:
        return Unknown(f"torch crashed ({signal.Signals(-done.returncode).name})")
    if done.returncode > 0:
        last = done.stderr.strip().splitlines()
        return Unknown(f"torch failed: {last[-1] if last else 'no message'}")
    return done.stdout


def torch_facts() -> dict[str, Any] | Unknown:
    """What torch sees; its devices are unknown, with the signal's name, if touching them kills a process."""
    printed = _torch_program()
    if isinstance(printed, Unknown):
        return printed
    facts = dict(json.loads(printed))
    for runtime in ("cuda", "hip", "cudnn"):
        if facts.get(runtime) is None:
            facts[runtime] = Unknown(f"this torch was built without {runtime}, or sees no device for it")
    facts["devices"] = []
    if facts["device_count"]:
        touched = _torch_program("--devices")
        facts["devices"] = touched if isinstance(touched, Unknown) else json.loads(touched)
    return facts


def access(dev: Path) -> dict[str, Any]:
    """Whether this user can open the device files (``/dev`` given as ``dev``)."""
    files = [
        dev / "kfd",
        dev / "nvidiactl",
        *sorted(dev.glob("nvidia[0-9]*")),
        *sorted(dev.glob("dri/renderD*")),
    ]
    there = [file for file in files if file.exists()]
    return {str(file): os.access(file, os.R_OK | os.W_OK) for file in there}


def _known(value: Any) -> Any:
    return None if isinstance(value, Unknown) else value


def stable_facts(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts that make it this machine with this software; no clock, load or boot among them."""
    memory = _known(facts["memory"]["total_bytes"])
    software = {} if isinstance(facts["torch"], Unknown) else facts["torch"]
    return {
        "processor": [_known(facts["processor"][key]) for key in ("model", "logical", "physical")],
        "memory_gibibytes": None if memory is None else round(memory / GIBIBYTE),
        "devices": [
            [_known(device.get(key)) for key in ("vendor", "name", "uuid", "pci_address", "driver", "vbios")]
            for device in facts["devices"]
        ],
        "kernel": facts["system"]["kernel"],
        "python": facts["interpreter"]["version"],
        "torch": [_known(software.get(key)) for key in ("version", "cuda", "hip", "numpy")],
        "blas": sorted(
            f"{pool['internal_api']} {pool['version']} {pool.get('architecture', '')}".strip()
            for pool in software.get("thread_pools", [])
        ),
    }


def identity(facts: dict[str, Any], now: datetime) -> str:
    """``MACH-<UTC time of the probe>-<first 12 hex digits of the SHA-256 of the stable facts>``."""
    digest = hashlib.sha256(to_json(stable_facts(facts)).encode()).hexdigest()
    return f"MACH-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{digest[:12]}"


def gather(sys_root: Path, proc: Path, dev: Path) -> dict[str, Any]:
    """All facts, unknown ones as :class:`Unknown`."""
    cards = nvidia.devices()
    return {
        "interpreter": host.interpreter(),
        "system": host.system(proc),
        "processor": host.processor(proc, sys_root),
        "memory": host.memory(proc, sys_root),
        "package_power": host.package_power(sys_root),
        "environment": host.environment(dict(os.environ)),
        "devices": amd.devices(sys_root) + ([] if isinstance(cards, Unknown) else cards),
        "nvidia_smi": cards if isinstance(cards, Unknown) else "answered",
        "compute_processes": {
            "nvidia": nvidia.compute_processes(),
            "amd": amd.compute_processes(sys_root, proc),
        },
        "device_files_open": access(dev),
        "torch": torch_facts(),
    }


def probe(
    out: Path, sys_root: Path = Path("/sys"), proc: Path = Path("/proc"), dev: Path = Path("/dev")
) -> dict[str, Any]:
    """Write the probe to ``out`` and torch's own report to ``collect_env.txt`` beside it; return it."""
    now = datetime.now(UTC)
    with ThreadPoolExecutor(1) as beside:  # each of the two loads torch, which is most of their time
        collecting = beside.submit(_torch_program, "--collect-env")
        facts = gather(sys_root, proc, dev)
        report = collecting.result()
    machine = identity(facts, now)
    plain, unknown = separate(facts)
    if isinstance(report, Unknown):
        unknown["collect_env"] = report.reason
    else:
        write_text(out.with_name("collect_env.txt"), report)
    result = {
        "schema": SCHEMA,
        "method_version": METHOD_VERSION,
        "id": machine,
        "taken": now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "facts": plain,
        "unknown": unknown,
    }
    write_json(out, result)
    return result
