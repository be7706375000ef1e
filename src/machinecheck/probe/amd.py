"""AMD devices, read from sysfs; ``amd-smi`` only adds what sysfs lacks.

On integrated devices (APUs) amd-smi often answers "N/A" everywhere while sysfs has the numbers, and the
"VRAM" that tools report is a firmware carve-out of a few hundred MiB: the memory that programs get is the
pool shared with the processor (GTT). Both are reported, apart, and never added.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from machinecheck.probe import read
from machinecheck.unknown import Unknown

AMD = "0x1002"
GIBIBYTE = 2**30
INTEGRATED = (
    "gfx902", "gfx90c", "gfx1013", "gfx1033", "gfx1035", "gfx1036", "gfx1037", "gfx1103",
    "gfx1150", "gfx1151", "gfx1152", "gfx1153",
)  # fmt: skip
SMALLEST_CARD = 4 * GIBIBYTE  # less video memory than this, with a larger shared pool, is a carve-out


def instruction_set(version: int) -> str:
    """KFD's ``gfx_target_version`` as the compiler's name: 110501 is gfx1151 (minor and step in hex)."""
    return f"gfx{version // 10_000}{version // 100 % 100:x}{version % 100:x}"


def _properties(node: Path) -> dict[str, int]:
    found = read.text(node / "properties")
    if isinstance(found, Unknown):
        return {}
    pairs = (line.split() for line in found.splitlines())
    numbers = {pair[0]: read.as_whole(pair[1], node) for pair in pairs if len(pair) == 2}
    return {name: value for name, value in numbers.items() if isinstance(value, int) and value >= 0}


def _kfd_nodes(sys_root: Path) -> dict[str, dict[str, int]]:
    """Compute nodes by PCI address."""
    nodes = {}
    for node in sorted((sys_root / "class/kfd/kfd/topology/nodes").glob("*")):
        facts = _properties(node)
        if facts.get("simd_count", 0) > 0:
            place = facts.get("location_id", 0)
            address = f"{facts.get('domain', 0):04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"
            nodes[address] = facts
    return nodes


def _pci_address(device: Path) -> str | Unknown:
    found = read.text(device / "uevent")
    if isinstance(found, Unknown):
        return found
    for line in found.splitlines():
        if line.startswith("PCI_SLOT_NAME="):
            return line.partition("=")[2]
    return Unknown(f"{device / 'uevent'}: no PCI_SLOT_NAME")


def _current_clock(device: Path) -> float | Unknown:
    """MHz of the level marked with a star in ``pp_dpm_sclk``."""
    found = read.text(device / "pp_dpm_sclk")
    if isinstance(found, Unknown):
        return found
    for line in found.splitlines():
        if line.rstrip().endswith("*"):
            digits = line.partition(":")[2].strip().lower().partition("mhz")[0]
            if digits.strip().isdecimal():
                return float(digits)
    return Unknown(f"{device / 'pp_dpm_sclk'}: no level is marked as current")


def sensors(device: Path) -> dict[str, Any]:
    """Clock (MHz), temperature (°C) and power (W) now, from the device's hwmon folder."""
    folders = sorted((device / "hwmon").glob("hwmon*"))
    if not folders:
        missing = Unknown(f"{device / 'hwmon'}: no sensor folder")
        return {"clock_mhz": _current_clock(device), "temperature_celsius": missing, "power_watts": missing}
    folder = folders[0]
    clock: float | Unknown = read.number(folder / "freq1_input", 1e-6)
    power: float | Unknown = read.number(folder / "power1_average", 1e-6)
    if isinstance(power, Unknown):
        power = read.number(folder / "power1_input", 1e-6)
    return {
        "clock_mhz": _current_clock(device) if isinstance(clock, Unknown) else clock,
        "temperature_celsius": read.number(folder / "temp1_input", 1e-3),
        "power_watts": power,
    }


def _smi_power(address: str | Unknown) -> float | Unknown:
    """Socket power of the device at this PCI address by amd-smi, W; "N/A" is unknown."""
    if isinstance(address, Unknown):
        return Unknown(f"amd-smi cannot be asked about this device: {address.reason}")
    printed = read.output(["amd-smi", "metric", "--power", "--json", "--gpu", address])
    if isinstance(printed, Unknown):
        return printed
    power: float | Unknown
    try:
        answer = json.loads(printed)
        rows = answer.get("gpu_data", answer) if isinstance(answer, dict) else answer
        found = rows[0]["power"]["socket_power"]
        found = found["value"] if isinstance(found, dict) else found
        power = read.as_number(str(found), "amd-smi")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        power = Unknown("amd-smi: no socket power")
    if isinstance(power, Unknown):
        return Unknown(f"amd-smi: {'N/A' if 'N/A' in printed else printed.strip()[:80]}")
    return power


def pool(carve_out: int | Unknown, shared: int | Unknown, integrated: bool | Unknown) -> dict[str, Any]:
    """Memory of the device in bytes: carve-out and shared pool apart, and which of them programs get."""
    if integrated is True:
        return {"carve_out_bytes": carve_out, "shared_pool_bytes": shared, "usable_pool_bytes": shared}
    return {"memory_bytes": carve_out, "shared_pool_bytes": shared, "usable_pool_bytes": carve_out}


def memory(device: Path, isa: str | Unknown) -> dict[str, Any]:
    """:func:`pool` of the device with this sysfs folder, and whether it is ``integrated``."""
    video = read.integer(device / "mem_info_vram_total")
    shared = read.integer(device / "mem_info_gtt_total")
    integrated = _integrated(isa, video, shared)
    return {"integrated": integrated, **pool(video, shared, integrated)}


def _integrated(isa: str | Unknown, video: int | Unknown, shared: int | Unknown) -> bool | Unknown:
    if isinstance(isa, str):
        return isa in INTEGRATED
    if isinstance(video, int) and isinstance(shared, int):
        return video < SMALLEST_CARD and video < shared
    return Unknown("neither instruction set nor memory sizes could be read")


def devices(sys_root: Path) -> list[dict[str, Any]]:
    """One dict per AMD display device of ``sys_root`` (``/sys``)."""
    nodes = _kfd_nodes(sys_root)
    found = []
    for card in sorted((sys_root / "class/drm").glob("card*")):
        device = card / "device"
        if not card.name[4:].isdecimal() or read.text(device / "vendor") != AMD:
            continue
        address = _pci_address(device)
        node = nodes.get(address, {}) if isinstance(address, str) else {}
        isa: str | Unknown = Unknown("no compute node (KFD) for this device")
        units: int | Unknown = Unknown("no compute node (KFD) for this device")
        if node.get("gfx_target_version"):
            isa = instruction_set(node["gfx_target_version"])
            units = node["simd_count"] // max(node.get("simd_per_cu", 2), 1)
        held = memory(device, isa)
        integrated = held.pop("integrated")
        now = sensors(device)
        power = now["power_watts"]
        if isinstance(power, Unknown):
            power = _smi_power(address)
        found.append(
            {
                "vendor": "AMD",
                "card": card.name,
                "name": read.text(device / "product_name"),
                "pci_address": address,
                "unique_id": node.get("unique_id") or Unknown("not given; identified by its PCI address"),
                "instruction_set": isa,
                "compute_units": units,
                "integrated": integrated,
                "memory": held,
                "vbios": read.text(device / "vbios_version"),
                "driver": read.text(sys_root / "module/amdgpu/version"),
                "clock_mhz": now["clock_mhz"],
                "temperature_celsius": now["temperature_celsius"],
                # on an APU the sensor is the socket's: processor and graphics together
                ("package_power_watts" if integrated is True else "board_power_watts"): power,
            }
        )
    return found


def compute_processes(sys_root: Path, proc: Path) -> list[dict[str, Any]] | Unknown:
    """Programs that have an AMD device open for computing now (KFD's list)."""
    folder = sys_root / "class/kfd/kfd/proc"
    if not folder.is_dir():
        return Unknown(f"{folder}: not there")
    pids = sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal())
    return [{"pid": pid, "name": read.text(proc / str(pid) / "comm")} for pid in pids]
