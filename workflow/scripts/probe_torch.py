"""Print as JSON what torch says of itself and of one device: python workflow/scripts/probe_torch.py cpu"""

import json
import sys
from typing import Any

import torch


def facts(device: str) -> dict[str, Any]:
    """Version, build, threads and properties of ``device``. Raises if a tensor cannot be made on it."""
    torch.ones(1, device=device).sum().item()
    found: dict[str, Any] = {
        "version": torch.__version__,
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "threads": torch.get_num_threads(),
        "cpu_capability": torch.backends.cpu.get_cpu_capability(),
        "mkldnn": torch.backends.mkldnn.is_available(),
        "configuration": torch.__config__.show(),
    }
    if device.startswith("cuda"):
        properties = torch.cuda.get_device_properties(torch.device(device))
        found["device"] = {"name": properties.name, "memory_bytes": properties.total_memory}
    return found


print(json.dumps(facts(sys.argv[1])))
