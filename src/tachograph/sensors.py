"""One look at the host: each quantity as a number in a fixed unit, or the reason why it is unknown."""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass, field
from pathlib import Path

from tachograph.device import Device
from tachograph.gpuprocesses import nvidia_card
from tachograph.processes import TICKS_PER_SECOND, descendants, read_stat
from tachograph.tools import Unknown, output_of

Reading = float | Unknown

UNITS = {
    "load_1min": "runnable and blocked tasks, 1 min average of the kernel, ours included",
    "pressure_cpu": "share of time in which some task waited for a processor",
    "pressure_memory": "share of time in which some task waited for memory",
    "pressure_io": "share of time in which some task waited for input or output",
    "cpu_steal": "share of processor time taken by the hypervisor",
    "cpu_foreign": "processors kept busy by processes that are not ours",
    "cpu_mhz": "MHz, mean over the processors",
    "cpu_temperature": "degrees Celsius, hottest sensor of the processor",
    "cpu_power": "W, processor packages",
    "memory_available": "bytes",
    "gpu_temperature": "degrees Celsius",
    "gpu_power": "W, card (of an integrated GPU: the whole package)",
    "gpu_mhz": "MHz, shader clock",
    "gpu_memory_mhz": "MHz, memory clock",
}
SHORTEST_SECONDS = 0.2  # processor time is counted in steps of 10 ms
CPU_SENSORS = ("coretemp", "k10temp", "zenpower", "cpu_thermal")  # names in sysfs hwmon


@dataclass
class Counters:
    """Counts since boot, of which a rate needs two looks."""

    at: float = field(default_factory=time.monotonic)
    processor_ticks: list[int] | None = (
        None  # of /proc/stat: user nice system idle iowait irq softirq steal …
    )
    own_ticks: int = 0
    stalled_us: dict[str, int] = field(default_factory=dict)
    energy_uj: dict[Path, int] = field(default_factory=dict)


def count(root: Path = Path("/")) -> Counters:
    """Take the counts that are readable."""
    counters = Counters()
    first = _read(root / "proc/stat")
    if isinstance(first, str) and first.startswith("cpu "):
        counters.processor_ticks = [int(word) for word in first.splitlines()[0].split()[1:]]
    counters.own_ticks = _own_ticks()
    for name in ("cpu", "memory", "io"):
        text = _read(root / "proc/pressure" / name)
        match = re.search(r"^some .*total=(\d+)", text, re.MULTILINE) if isinstance(text, str) else None
        if match:
            counters.stalled_us[name] = int(match[1])
    for path in _packages(root):
        text = _read(path)
        if isinstance(text, str) and text.strip().isdecimal():
            counters.energy_uj[path] = int(text)
    return counters


def rates(before: Counters, after: Counters, root: Path = Path("/")) -> dict[str, Reading]:
    """What happened between two counts."""
    seconds = after.at - before.at
    found: dict[str, Reading] = {}
    if seconds < SHORTEST_SECONDS:
        names = ("pressure_cpu", "pressure_memory", "pressure_io", "cpu_steal", "cpu_foreign", "cpu_power")
        return dict.fromkeys(names, Unknown(f"the time was shorter than {SHORTEST_SECONDS} s"))
    for name in ("cpu", "memory", "io"):
        if name in before.stalled_us and name in after.stalled_us:
            stalled = after.stalled_us[name] - before.stalled_us[name]
            found[f"pressure_{name}"] = min(stalled / 1e6 / seconds, 1.0)
        else:
            found[f"pressure_{name}"] = _why_unread(root / "proc/pressure" / name)
    if before.processor_ticks and after.processor_ticks:
        ticks = [b - a for a, b in zip(before.processor_ticks, after.processor_ticks, strict=False)]
        user, nice, system, _idle, _iowait, irq, softirq, steal = ticks[:8]
        # Guest time is part of user time already. The counts of the host and of processes are taken a moment
        # apart and in steps of a tick, so that the difference can come out a little below zero.
        busy = user + nice + system + irq + softirq
        found["cpu_steal"] = max(steal, 0) / max(sum(ticks[:8]), 1)
        own = after.own_ticks - before.own_ticks
        found["cpu_foreign"] = max(busy - own, 0) / TICKS_PER_SECOND / seconds
    else:
        found["cpu_steal"] = found["cpu_foreign"] = _why_unread(root / "proc/stat")
    found["cpu_power"] = _power(before, after, seconds, root)
    return found


def gauges(root: Path = Path("/")) -> dict[str, Reading]:
    """What can be read off at once."""
    load = _read(root / "proc/loadavg")
    memory = _read(root / "proc/meminfo")
    available = (
        re.search(r"^MemAvailable:\s+(\d+) kB", memory, re.MULTILINE) if isinstance(memory, str) else None
    )
    return {
        "load_1min": load if isinstance(load, Unknown) else _number(load.partition(" ")[0], "/proc/loadavg"),
        "memory_available": float(available[1]) * 1024
        if available
        else Unknown("/proc/meminfo does not tell"),
        "cpu_mhz": _cpu_mhz(root),
        "cpu_temperature": _cpu_temperature(root),
    }


def gpu_gauges(device: Device, root: Path = Path("/")) -> dict[str, Reading]:
    """Temperature, power and clocks of the card; {} for a processor."""
    if device.kind == "cuda":
        return _nvidia_gauges(device)
    if device.kind == "rocm":
        return _amd_gauges(device, root)
    return {}


def _nvidia_gauges(device: Device) -> dict[str, Reading]:
    fields = {
        "gpu_temperature": "temperature.gpu",
        "gpu_power": "power.draw",
        "gpu_mhz": "clocks.sm",
        "gpu_memory_mhz": "clocks.mem",
    }
    query = f"--query-gpu={','.join(fields.values())}"
    text = output_of(["nvidia-smi", *nvidia_card(device), query, "--format=csv,noheader,nounits"])
    if isinstance(text, Unknown):
        return dict.fromkeys(fields, text)
    words = [word.strip() for word in text.strip().split(",")]
    if len(words) != len(fields):
        return dict.fromkeys(
            fields, Unknown(f"nvidia-smi printed {text[:100]!r}, expected {len(fields)} numbers")
        )
    return {key: _number(word, "nvidia-smi") for key, word in zip(fields, words, strict=True)}


def _amd_gauges(device: Device, root: Path) -> dict[str, Reading]:
    """From the card's hwmon folder (kernel documentation, gpu/amdgpu/thermal): m°C, µW, Hz."""
    keys = ("gpu_temperature", "gpu_power", "gpu_mhz", "gpu_memory_mhz")
    folders = _hwmon(root, ("amdgpu",))
    own = [f for f in folders if os.path.realpath(f / "device").endswith(device.bus)]
    if not own:
        return dict.fromkeys(keys, Unknown("sysfs shows no hwmon folder of this card"))
    files = (("temp1_input",), ("power1_average", "power1_input"), ("freq1_input",), ("freq2_input",))
    scales = (1e3, 1e6, 1e6, 1e6)
    found: dict[str, Reading] = {}
    for key, names, scale in zip(keys, files, scales, strict=True):
        values = [_number_in(own[0] / name, scale) for name in names]
        found[key] = next((v for v in values if isinstance(v, float)), values[0])
    return found


def _cpu_mhz(root: Path) -> Reading:
    paths = (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq")
    values = [v for v in (_number_in(path, 1e3) for path in paths) if isinstance(v, float)]
    if not values:
        text = _read(root / "proc/cpuinfo")
        values = (
            [float(v) for v in re.findall(r"^cpu MHz\s*:\s*([\d.]+)", text, re.MULTILINE)]
            if isinstance(text, str)
            else []
        )
    return (
        sum(values) / len(values) if values else Unknown("neither cpufreq nor /proc/cpuinfo tells the clock")
    )


def _cpu_temperature(root: Path) -> Reading:
    paths = [path for folder in _hwmon(root, CPU_SENSORS) for path in folder.glob("temp*_input")]
    readings = [_number_in(path, 1e3) for path in paths]
    values = [reading for reading in readings if isinstance(reading, float)]
    if values:
        return max(values)
    return readings[0] if readings else Unknown("sysfs shows no temperature sensor of the processor")


def _power(before: Counters, after: Counters, seconds: float, root: Path) -> Reading:
    packages = _packages(root)
    if not packages:
        return Unknown("sysfs shows no energy counter of the processor")
    joules = 0.0
    for path in packages:
        if path not in before.energy_uj or path not in after.energy_uj:
            return _why_unread(path)
        spent = after.energy_uj[path] - before.energy_uj[path]
        if spent < 0:  # the counter has wrapped
            span = _number_in(path.with_name("max_energy_range_uj"), 1.0)
            if isinstance(span, Unknown):
                return span
            spent += int(span)
        joules += spent / 1e6
    return joules / seconds


def _packages(root: Path) -> list[Path]:
    """Energy counters of whole packages; those of parts of one (intel-rapl:0:0) would count twice."""
    return sorted((root / "sys/class/powercap").glob("intel-rapl:[0-9]/energy_uj"))


def _hwmon(root: Path, names: tuple[str, ...]) -> list[Path]:
    folders = sorted((root / "sys/class/hwmon").glob("hwmon*"))
    return [f for f in folders if isinstance(text := _read(f / "name"), str) and text.strip() in names]


def _own_ticks() -> int:
    """Processor time of this process and everything below it, ended and reaped children included."""
    own = read_stat(os.getpid())
    family = descendants(os.getpid()) + ([own] if own else [])
    return sum(stat.user_ticks + stat.system_ticks + stat.reaped_ticks for stat in family)


def _read(path: Path) -> str | Unknown:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        return Unknown(f"{path} cannot be read: {error.strerror}")


def _why_unread(path: Path) -> Unknown:
    text = _read(path)
    return text if isinstance(text, Unknown) else Unknown(f"{path} does not tell")


def _number_in(path: Path, scale: float) -> Reading:
    text = _read(path)
    if isinstance(text, Unknown):
        return text
    number = _number(text.strip(), str(path))
    return number if isinstance(number, Unknown) else number / scale


def _number(word: str, source: str) -> Reading:
    try:
        value = float(word)
    except ValueError:
        return Unknown(f"{source} says {word[:40]!r}")
    return value if abs(value) != float("inf") and value == value else Unknown(f"{source} says {word[:40]!r}")
