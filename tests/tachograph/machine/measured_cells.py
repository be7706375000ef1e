"""Cells as they are after measuring, made by hand: what the tables and sentences are computed from."""

from __future__ import annotations

from tachograph.machine.cells import Cell
from tachograph.machine.contention import contention
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import DONE
from tachograph.machine.verdict import Verdict
from tachograph.models.machine import Quiet


def spread(value):
    """A sampled quantity with one value."""
    return {"mean": value, "min": value, "max": value}


def host(load=0.1, clock=None, foreign=0.0, **more):
    """What a cell sampled of its host."""
    found = {"processors": 32, "load_average": spread(load), "stolen_processors": spread(0.0), "unknown": {}}
    found["foreign_processors"] = None if foreign is None else spread(foreign)
    found |= {"clock_mhz": spread(clock) if clock else None, "power_watts": None}
    return found | more


def file_of(status="finished", code=0, signal=None, record=None, said="", started=True, oom=0, unreadable=None,
            reason="no time was left"):  # fmt: skip
    """A cell's file."""
    ends = {"status": status, "exit_code": code, "signal": signal, "oom_kills": oom, "started": started}
    ends |= {"limit_seconds": 60.0, "reason": reason}
    return {"ended": ends, "record": record, "said": said, "unreadable": unreadable}


def cell_of(kind, operation, settings, arm="as-installed", fault=None, name=None):
    """A planned cell."""
    name = name or "-".join([operation, *map(str, settings.values()), arm])
    return Cell(name, kind, operation, settings, "device", arm, fault, {}, 60.0)


def measured(kind, operation, settings, numbers, verdict="PASS", reasons=(), device="cpu", load=0.1, clock=None,
             foreign=0.0, **more):  # fmt: skip
    """A cell that was measured."""
    record = {
        "settings": {"device": device, **settings},
        "measured": numbers,
        "host": host(load, clock, foreign),
        "fault": more.get("fault"),
    }
    cell = cell_of(kind, operation, settings, **more)
    return MeasuredCell(cell, DONE, Verdict(verdict), list(reasons), record, None, 1.0, contention(record, Quiet()))


def ended(kind, operation, settings, outcome, verdict="INCOMPLETE", signal=None, reasons=("x",), **more):
    """A cell that was not measured."""
    return MeasuredCell(
        cell_of(kind, operation, settings, **more), outcome, Verdict(verdict), list(reasons), None, signal, 1.0
    )


def training(channels, batch, device, rate, **more):
    """A training throughput cell that measured ``rate`` samples per second."""
    numbers = {
        "parameters": {128: 2_006_888, 64: 667_112}[channels],
        "samples_per_second": {"rate": rate, "status": "measured"},
        "forward_samples_per_second": rate * 3,
        "backward_samples_per_second": rate * 1.5,
        "memory_share": 0.0581,
        "memory": {"of": "main memory"},
    }
    settings = {"channels": channels, "batch": batch, "dtype": "fp32"}
    return measured("throughput", "training", settings, numbers, device=device, **more)


def matmul(size, dtype, rate, peak=None, **more):
    """A matrix-product throughput cell that sustained ``rate`` TFLOP/s on a device with this declared peak."""
    sustained = {"rate": rate, "steady": True, "status": "measured"}
    numbers = {"burst": {"rate": None if rate is None else rate * 1.1}, "sustained": sustained, "peak": peak}
    return measured("throughput", "matmul", {"size": size, "dtype": dtype}, numbers, device="cuda:0", **more)
