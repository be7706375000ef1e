"""NVIDIA devices, read from ``nvidia-smi``'s query interface (stable field names, one CSV row per device)."""

from __future__ import annotations

import csv
from typing import Any

from machinecheck.probe import read
from machinecheck.unknown import Unknown

MEBIBYTE = 2**20
# field of nvidia-smi -> (our name, factor; None keeps the text)
FIELDS: dict[str, tuple[str, float | None]] = {
    "index": ("index", 1),
    "name": ("name", None),
    "uuid": ("uuid", None),
    "pci.bus_id": ("pci_address", None),
    "driver_version": ("driver", None),
    "vbios_version": ("vbios", None),
    "memory.total": ("memory_bytes", MEBIBYTE),
    "power.draw": ("board_power_watts", 1),
    "power.limit": ("power_limit_watts", 1),
    "clocks.sm": ("clock_mhz", 1),
    "clocks.max.sm": ("clock_max_mhz", 1),
    "temperature.gpu": ("temperature_celsius", 1),
    "ecc.mode.current": ("ecc", None),
    "persistence_mode": ("persistence", None),
    "compute_mode": ("compute_mode", None),
    "mig.mode.current": ("mig", None),
}


def value(text: str, field: str, factor: float | None) -> Any:
    text = text.strip()
    if text.startswith("[") or text in ("N/A", ""):
        return Unknown(f"nvidia-smi {field}: {text or 'empty'}")
    if factor is None:
        return text
    value = read.as_number(text, f"nvidia-smi {field}", factor)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def devices() -> list[dict[str, Any]] | Unknown:
    """One dict per device. Unknown if there is no nvidia-smi or it prints something else than was asked."""
    printed = read.output(["nvidia-smi", f"--query-gpu={','.join(FIELDS)}", "--format=csv,noheader,nounits"])
    if isinstance(printed, Unknown):
        return printed
    rows = [row for row in csv.reader(printed.splitlines()) if row]
    if any(len(row) != len(FIELDS) for row in rows):
        return Unknown(f"nvidia-smi printed something unreadable: {printed.strip()[:80]!r}")
    return [
        {"vendor": "NVIDIA"}
        | {name: value(text, field, factor) for text, (field, (name, factor)) in zip(row, FIELDS.items(), strict=True)}
        for row in rows
    ]


def compute_processes() -> list[dict[str, Any]] | Unknown:
    """Programs computing on a device now; an answer that cannot be read is unknown, never "none"."""
    printed = read.output(["nvidia-smi", "--query-compute-apps=pid,process_name,used_memory", "--format=csv,noheader"])
    if isinstance(printed, Unknown):
        return printed
    found: list[dict[str, Any]] = []
    for row in csv.reader(printed.splitlines(), skipinitialspace=True):
        if not row:
            continue
        if len(row) != 3 or not row[0].strip().isdecimal():
            return Unknown(f"nvidia-smi printed something unreadable: {printed.strip()[:80]!r}")
        amount, _, unit = row[2].strip().partition(" ")
        memory: Any = (
            int(amount) * MEBIBYTE if unit == "MiB" and amount.isdecimal() else Unknown(f"nvidia-smi: {row[2]}")
        )
        found.append({"pid": int(row[0]), "name": row[1].strip(), "memory_bytes": memory})
    return found
