"""What else went on at the host during a run: sampled seldom and lightly, summarised for ``run.json``."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import linear_regression
from typing import Any

from tachograph.host.device import Device
from tachograph.host.gpuprocesses import GpuProcess, compute_processes, sees_all_processes
from tachograph.host.sensors import UNITS, Counters, Reading, count, gauges, gpu_gauges, rates
from tachograph.host.tools import Unknown
from tachograph.lease.processes import descendants
from tachograph.wording import fault

TEMPERATURES = ("cpu_temperature", "gpu_temperature")
CLOCKS = ("cpu_mhz", "gpu_mhz", "gpu_memory_mhz")
MIN_SLOPE_SECONDS = 60.0


class HostSampler:
    """Looks at the host from :meth:`start` to :meth:`stop`; :meth:`tick` is the ``on_tick`` of ``supervise``.

    No thread: a sample is taken by the supervisor, which sleeps otherwise. ``interval_s`` is the least time
    between two samples of the host, ``gpu_interval_s`` that between two of the card, which need a program of
    the driver. Programs on the card that are not ours are looked for before, after, and with each sample of
    it.
    """

    def __init__(
        self,
        device: Device,
        *,
        interval_s: float = 5.0,
        gpu_interval_s: float = 30.0,
        root: Path = Path("/"),
    ) -> None:
        self.device, self.interval_s, self.gpu_interval_s, self.root = (
            device,
            interval_s,
            gpu_interval_s,
            root,
        )
        self._readings: dict[str, list[tuple[float, Reading]]] = {}
        self._foreign: dict[int, dict[str, Any]] = {}
        self._unknown_processes: list[Unknown] = []
        self._counters = Counters()
        self._gpu_at = 0.0
        self._samples = 0
        self._errors: list[str] = []

    def start(self) -> None:
        """Just before the program: begin to count, and look at the card."""
        with self._harmless():
            self._look_for_programs("before")
            self._counters = count(self.root)
        self._gpu_at = time.monotonic()

    def tick(self, _: int = 0) -> None:
        """Take a sample if it is time."""
        with self._harmless():
            self._sample_if_due(time.monotonic())

    def stop(self) -> None:
        """Just after the program: the last sample, unless one has just been taken, and the card once more."""
        with self._harmless():
            if self._samples == 0 or time.monotonic() - self._counters.at >= 1.0:
                self._sample()
            self._look_for_programs("after")

    @contextmanager
    def _harmless(self) -> Iterator[None]:
        """An observer must not end what it observes: what goes wrong here is told, and nothing is clean."""
        try:
            yield
        except Exception as error:
            self._errors.append(repr(error))
            self._unknown_processes.append(Unknown(f"sampling failed: {fault(error)}"))

    def _sample_if_due(self, now: float) -> None:
        if now - self._counters.at >= self.interval_s:
            self._sample()
        if self.device.kind != "cpu" and now - self._gpu_at >= self.gpu_interval_s:
            self._gpu_at = now
            self._note(gpu_gauges(self.device, self.root))
            if sees_all_processes(self.root):  # or our own trainer could not be told from others
                self._look_for_programs("during")

    def summary(self, working_since: float | None = None) -> dict[str, Any]:
        """``{"samples", "interval_s", "errors", "quantities", "gpu_processes"}``.

        ``quantities`` maps a name to ``{"unit", "min", "mean", "max", "n"}``, a temperature that was followed for
        long enough also to its ``"slope_per_minute"``. Clocks are those from ``working_since`` on (monotonic seconds),
        if any was read then: while a program starts, its device idles at other ones; ``"before"`` counts the readings
        that were left out. A quantity that was never known
        is ``{"value": null, "reason"}``. ``gpu_processes`` has ``status`` ``clean``, ``contaminated``
        (``processes`` says by whom, and when seen) or ``unknown`` (with ``reason``).
        """
        names = [name for name in UNITS if name in self._readings]
        return {
            "samples": self._samples,
            "interval_s": self.interval_s,
            "errors": self._errors,
            "quantities": {name: _summarised(name, self._readings[name], working_since) for name in names},
            "gpu_processes": self._programs(),
        }

    def _sample(self) -> None:
        counters = count(self.root)
        self._note({**gauges(self.root), **rates(self._counters, counters, self.root)})
        self._counters = counters
        self._samples += 1

    def _note(self, readings: dict[str, Reading]) -> None:
        now = time.monotonic()
        for name, reading in readings.items():
            self._readings.setdefault(name, []).append((now, reading))

    def _look_for_programs(self, when: str) -> None:
        found = compute_processes(self.device, self.root)
        if isinstance(found, Unknown):
            self._unknown_processes.append(found)
            return
        own = {stat.pid for stat in descendants(os.getpid())} | {os.getpid()}
        for process in found:
            if process.pid not in own:
                self._note_foreign(process, when)

    def _note_foreign(self, process: GpuProcess, when: str) -> None:
        entry = self._foreign.setdefault(process.pid, {**process.as_record(), "seen": []})
        if when not in entry["seen"]:
            entry["seen"].append(when)
        if process.mib is not None:
            entry["mib"] = max(entry["mib"] or 0.0, process.mib)

    def _programs(self) -> dict[str, Any]:
        processes = list(self._foreign.values())
        reason = self._unknown_processes[0].reason if self._unknown_processes else None
        status = "contaminated" if processes else "unknown" if reason else "clean"
        return {"status": status, "reason": reason, "processes": processes}


def _summarised(name: str, readings: list[tuple[float, Reading]], working_since: float | None) -> dict[str, Any]:
    known = [(at, reading) for at, reading in readings if isinstance(reading, float)]
    before = 0
    if name in CLOCKS and working_since is not None:
        while_working = [one for one in known if one[0] >= working_since]
        if while_working:
            before, known = len(known) - len(while_working), while_working
    unknown = [reading for _, reading in readings if isinstance(reading, Unknown)]
    if not known:
        return unknown[-1].as_record()
    values = [value for _, value in known]
    mean = sum(values) / len(values)
    entry = {"unit": UNITS[name], "min": min(values), "mean": mean, "max": max(values), "n": len(values)}
    if before:
        entry["before"] = before
    if name in TEMPERATURES and (slope := slope_per_minute(known)) is not None:
        entry["slope_per_minute"] = slope
    if unknown:
        entry["unknown"] = len(unknown)
        entry["reason"] = unknown[-1].reason
    return entry


def slope_per_minute(points: Sequence[tuple[float, float]]) -> float | None:
    """Least-squares slope of (seconds, value) points, per minute; None for fewer than three or within a minute."""
    if len(points) < 3 or points[-1][0] - points[0][0] < MIN_SLOPE_SECONDS:
        return None
    return 60 * linear_regression(*zip(*points, strict=True)).slope
