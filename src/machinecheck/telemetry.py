"""Load, clock, temperature and power, sampled in the background while a cell runs."""

from __future__ import annotations

import math
import os
import subprocess
import threading
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

import psutil
import torch

from machinecheck.probe import amd, nvidia, read
from machinecheck.unknown import Unknown

Sample = dict[str, float | Unknown]
NVIDIA_FIELDS = ("clocks.sm", "power.draw", "temperature.gpu")


def _own_seconds() -> float:
    """Processor seconds of this process, its live descendants and those it has waited for."""
    times = os.times()
    total = times.user + times.system + times.children_user + times.children_system
    for child in psutil.Process().children(recursive=True):
        try:
            spent = child.cpu_times()
            total += spent.user + spent.system
        except psutil.NoSuchProcess:
            continue
    return total


def _cpu_clock() -> float | Unknown:
    """Mean clock of the processors now, MHz; of a virtual machine often a constant."""
    try:
        frequency = psutil.cpu_freq()
    except (OSError, NotImplementedError, ValueError) as error:
        return Unknown(f"the system gives no clock: {error}")
    return frequency.current if frequency else Unknown("the system gives no clock")


def finite(value: float | Unknown) -> float | Unknown:
    """A reading; a driver's "nan" is none."""
    return value if isinstance(value, Unknown) or math.isfinite(value) else Unknown(f"the sensor said {value}")


class HostReader:
    """Host load since the last reading: other programs' processors, stolen time, clock, temperature."""

    def __init__(self, sys_root: Path = Path("/sys")) -> None:
        self._counter = sys_root / "class/powercap/intel-rapl:0/energy_uj"
        self._energy = read.number(self._counter, 1e-6)
        self._last = self._now()

    def _now(self) -> tuple[float, float, float, float]:
        spent = psutil.cpu_times()
        stolen = getattr(spent, "steal", 0.0)
        idle = spent.idle + getattr(spent, "iowait", 0.0)
        guest = getattr(spent, "guest", 0.0) + getattr(spent, "guest_nice", 0.0)  # counted in user already
        busy = sum(spent) - idle - guest - stolen
        return time.monotonic(), busy, stolen, _own_seconds()

    def read(self) -> Sample:
        before, self._last = self._last, self._now()
        seconds = self._last[0] - before[0]
        busy, stolen, own = (self._last[index] - before[index] for index in (1, 2, 3))
        energy, self._energy = self._energy, read.number(self._counter, 1e-6)
        sensors: dict[str, Any] = psutil.sensors_temperatures()
        known = [entry.current for name in ("k10temp", "coretemp", "zenpower") for entry in sensors.get(name, [])]
        return {
            "load_average": os.getloadavg()[0],
            "foreign_processors": max(0.0, busy - own) / seconds if seconds > 0 else Unknown("no time passed"),
            "stolen_processors": stolen / seconds if seconds > 0 else Unknown("no time passed"),
            "cpu_clock_mhz": _cpu_clock(),
            "package_power_watts": power(energy, self._energy, seconds),
            "cpu_temperature_celsius": max(known) if known else Unknown("no processor sensor"),
        }


def power(before: float | Unknown, after: float | Unknown, seconds: float) -> float | Unknown:
    """Mean watts between two readings of an energy counter in joule, which starts again now and then."""
    if isinstance(before, Unknown) or isinstance(after, Unknown):
        return after if isinstance(after, Unknown) else before
    if after < before or seconds <= 0:
        return Unknown("the energy counter started again")
    return (after - before) / seconds


class NvidiaReader:
    """One ``nvidia-smi`` that prints a line every 100 ms; a reading is its latest line."""

    def __init__(self, address: str) -> None:
        command = ["nvidia-smi", f"--id={address}", f"--query-gpu={','.join(NVIDIA_FIELDS)}"]
        command += ["--format=csv,noheader,nounits", "-lms", "100"]
        self._line = ""
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        threading.Thread(target=self._follow, daemon=True).start()

    def _follow(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._line = line

    def read(self) -> Sample:
        names = ("clock_mhz", "power_watts", "temperature_celsius")
        parts = self._line.split(",")
        if len(parts) != len(names):
            return dict.fromkeys(names, Unknown(f"nvidia-smi: {self._line.strip() or 'no line yet'}"))
        values = (nvidia.value(part, field, 1) for part, field in zip(parts, NVIDIA_FIELDS, strict=True))
        return dict(zip(names, values, strict=True))

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


class AmdReader:
    """The device's sysfs sensors."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self) -> Sample:
        return amd.sensors(self._folder)

    def close(self) -> None:
        """Nothing is open."""


def pci_address(facts: Any) -> str | Unknown:
    """``0000:c5:00``, without the function, from torch's properties of a device."""
    try:
        return f"{facts.pci_domain_id:04x}:{facts.pci_bus_id:02x}:{facts.pci_device_id:02x}"
    except AttributeError:
        return Unknown("this torch does not give the device's PCI address")


def sysfs_folder(facts: Any, sys_root: Path) -> Path | Unknown:
    """The sysfs folder of a device, from torch's properties of it."""
    address = pci_address(facts)
    if isinstance(address, Unknown):
        return address
    functions = sorted((sys_root / "bus/pci/devices").glob(f"{address}.*"))  # .0 is the display, .1 its sound
    return functions[0] if functions else Unknown(f"no sysfs folder of {address}")


def device_reader(device: torch.device, sys_root: Path = Path("/sys")) -> NvidiaReader | AmdReader | Unknown:
    """The reader of one accelerator's sensors."""
    facts = torch.cuda.get_device_properties(device)
    if torch.version.hip:
        folder = sysfs_folder(facts, sys_root)
        return folder if isinstance(folder, Unknown) else AmdReader(folder)
    address = pci_address(facts)
    if isinstance(address, Unknown):
        return address
    try:
        return NvidiaReader(f"{address}.0")
    except OSError as error:
        return Unknown(f"nvidia-smi: {error.strerror}")


class Sampler:
    """Takes a sample every ``interval`` seconds while its block runs; summarise it afterwards."""

    def __init__(self, device: torch.device | None = None, interval: float = 0.25) -> None:
        self.interval = interval
        self.samples: list[tuple[float, Sample]] = []
        self.since = time.monotonic()
        self._readers: list[Any] = [HostReader()]
        self._missing: Sample = {}
        if device is not None and device.type == "cuda":
            reader = device_reader(device)
            if isinstance(reader, Unknown):
                self._missing = dict.fromkeys(("clock_mhz", "power_watts", "temperature_celsius"), reader)
            else:
                self._readers.append(reader)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _take(self) -> None:
        sample: Sample = dict(self._missing)
        for reader in self._readers:
            sample |= {name: finite(value) for name, value in reader.read().items()}
        self.samples.append((time.monotonic(), sample))

    def _run(self) -> None:
        while not self._stop.wait(self.interval):
            self._take()

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self._take()
        for reader in self._readers[1:]:
            reader.close()

    def series(self, name: str) -> list[tuple[float, float]]:
        """(seconds since the first sample, value) of one quantity, unknown samples left out."""
        start = self.samples[0][0]
        found = ((when - start, sample.get(name)) for when, sample in self.samples)
        return [(when, value) for when, value in found if isinstance(value, int | float)]


def summary(samples: Sequence[tuple[float, Sample]], since: float, processors: int) -> dict[str, Any]:
    """Mean, least and greatest of each quantity, ``None`` with the reason where there was no reading.

    ``samples`` with their times, ``since`` when sampling began (monotonic seconds). In the mean each sample counts for
    the time since the one before it: the last one, at the end of a cell, may cover a few milliseconds in which a tick
    of the kernel's clock looks like a busy processor.
    """
    names = list(dict.fromkeys(name for _, sample in samples for name in sample))
    times = [since, *(when for when, _ in samples)]
    covered = [end - start for start, end in pairwise(times)]
    found: dict[str, Any] = {"samples": len(samples), "unknown": {}}
    for name in names:
        values = [sample.get(name) for _, sample in samples]
        known = {index: float(value) for index, value in enumerate(values) if isinstance(value, int | float)}
        if known:
            mean = fmean(known.values(), [covered[index] for index in known])
            found[name] = {"mean": mean, "min": min(known.values()), "max": max(known.values())}
        else:
            found[name] = None
            found["unknown"][name] = next(value.reason for value in values if isinstance(value, Unknown))
    return found | {"processors": processors}


def device_users() -> list[dict[str, Any]] | Unknown:
    """Programs that compute on the accelerators of torch's vendor now."""
    if torch.version.hip:
        return amd.compute_processes(Path("/sys"), Path("/proc"))
    return nvidia.compute_processes()


def with_device_users(
    host: dict[str, Any], snapshots: Sequence[list[dict[str, Any]] | Unknown], own: int
) -> dict[str, Any]:
    """The summary with the other programs that computed on the device; an unreadable list is not "none"."""
    unreadable = next((found for found in snapshots if isinstance(found, Unknown)), None)
    if unreadable is not None:
        return host | {"device_users": None, "unknown": host["unknown"] | {"device_users": unreadable.reason}}
    users = {
        user["pid"]: None if isinstance(user["name"], Unknown) else user["name"]  # it may have ended by then
        for found in snapshots
        if not isinstance(found, Unknown)
        for user in found
        if user["pid"] != own
    }
    return host | {"device_users": [{"pid": pid, "name": name} for pid, name in users.items()]}


def lowest_between(samples: Sequence[tuple[float, Sample]], name: str, start: float, end: float) -> float | None:
    """The lowest reading of ``name`` taken in [start, end] (monotonic seconds); ``None`` without any."""
    values = (sample.get(name) for when, sample in samples if start <= when <= end)
    return min((float(value) for value in values if isinstance(value, int | float)), default=None)


def usable_processors() -> int:
    """Processors that this process may run on."""
    return len(os.sched_getaffinity(0))
