"""The driver of a GPU: part of what a run was made with, as the packages are."""

from __future__ import annotations

import platform
import re
from pathlib import Path

from tachograph.host.device import Device

MODULES = {"cuda": "nvidia", "rocm": "amdgpu"}


def driver_version(device: Device, root: Path = Path("/")) -> dict[str, str | None]:
    """``{"nvidia driver": "570.86.15"}``, with None where the kernel does not tell; {} for a processor.

    An amdgpu module without a version of its own is that of the kernel, whose release is told.
    """
    module = MODULES.get(device.kind)
    if module is None:
        return {}
    version = _text(root / f"sys/module/{module}/version")
    if not version and module == "nvidia":
        line = re.search(r"Kernel Module.*?\s(\d+(?:\.\d+)+)\s", _text(root / "proc/driver/nvidia/version"))
        version = line[1] if line else ""
    if not version and module == "amdgpu" and (root / f"sys/module/{module}").is_dir():
        version = f"of kernel {platform.release()}"
    return {f"{module} driver": version or None}


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
