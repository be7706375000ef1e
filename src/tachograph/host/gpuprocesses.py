"""Programs that compute on a GPU without the lease. What cannot be seen is unknown, not clean."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tachograph.host.cards import amd_cards
from tachograph.host.device import Device
from tachograph.host.tools import Unknown, output_of
from tachograph.lease.processes import printable, program_name

# The first process namespace has this fixed number (PROC_PID_INIT_INO of the kernel's proc_ns.h).
_FIRST_PID_NAMESPACE = "pid:[4026531836]"


@dataclass(frozen=True)
class GpuProcess:
    """A process with a compute context; ``mib`` is its memory on the card in MiB, None if not told."""

    pid: int
    name: str
    mib: float | None

    def as_record(self) -> dict[str, Any]:
        return {"pid": self.pid, "name": self.name, "mib": self.mib}


def compute_processes(device: Device, root: Path = Path("/")) -> list[GpuProcess] | Unknown:
    """The processes that compute on the card of ``device``, ours included; for a processor, on any GPU.

    Graphics contexts (a desktop) are not compute and are not listed. [] also where the machine has no GPU.
    """
    listings: list[list[GpuProcess] | Unknown] = []
    nvidia = any((root / "dev").glob("nvidia[0-9]*")) or shutil.which("nvidia-smi") is not None
    if device.kind == "cuda" or (device.kind == "cpu" and nvidia):
        listings.append(_nvidia_processes(device, root))
    if device.kind == "rocm" or (device.kind == "cpu" and (root / "dev/kfd").exists()):
        listings.append(_amd_processes(device, root))
    found: list[GpuProcess] = []
    for listing in listings:
        if isinstance(listing, Unknown):
            return listing
        found += listing
    return found


def _nvidia_processes(device: Device, root: Path) -> list[GpuProcess] | Unknown:
    query = ["--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader"]
    text = output_of(["nvidia-smi", *nvidia_card(device), *query])
    found = text if isinstance(text, Unknown) else parse_compute_apps(text)
    if found == [] and device.kind == "cuda" and not sees_all_processes(root):
        return Unknown("nvidia-smi lists no processes of other containers, and this program runs in one")
    return found


def parse_compute_apps(text: str) -> list[GpuProcess] | Unknown:
    """Read ``pid, process name, used memory`` lines; Unknown if any line is something else."""
    found = []
    for line in text.splitlines():
        if not line.strip():
            continue
        match = re.fullmatch(r"\s*(\d+)\s*,\s*(.*\S)\s*,\s*(?:(\d+(?:\.\d+)?)\s*MiB|\[[^\]]*\])\s*", line)
        if match is None:
            return Unknown(f"nvidia-smi printed {printable(line, 100)!r}, expected pid, process name, used memory")
        memory = float(match[3]) if match[3] else None
        program = match[2].split()[0]  # the driver may add arguments, which may hold secrets
        found.append(GpuProcess(int(match[1]), printable(program), memory))
    return found


def nvidia_card(device: Device) -> list[str]:
    """The option that makes nvidia-smi speak of this card alone; for a processor: of all."""
    return [f"--id={device.bus}"] if device.kind == "cuda" else []


def sees_all_processes(root: Path = Path("/")) -> bool:
    """Whether process numbers here are those of the whole machine: false in most containers."""
    try:
        return os.readlink(root / "proc/self/ns/pid") == _FIRST_PID_NAMESPACE
    except OSError:
        return False


def _amd_processes(device: Device, root: Path) -> list[GpuProcess] | Unknown:
    """From amdkfd's list of processes with a compute context: those with a queue or memory on this card."""
    cards = {c.driver_id for c in amd_cards(root) if device.kind == "cpu" or c.bus == device.bus}
    folder = root / "sys/class/kfd/kfd/proc"
    found = []
    try:
        for entry in sorted(folder.iterdir()):
            with suppress(FileNotFoundError):  # it has ended while we looked
                queues = {path.read_text().strip() for path in entry.glob("queues/*/gpuid")}
                memory = sum(int(path.read_text()) for c in cards for path in entry.glob(f"vram_{c}"))
                if queues & cards or memory > 0:
                    pid = int(entry.name)
                    name = program_name(pid, root / "proc") or "program not shown"
                    found.append(GpuProcess(pid, name, memory / 2**20))
    except (OSError, ValueError) as error:
        return Unknown(f"{folder} cannot be read: {error}")
    return found
