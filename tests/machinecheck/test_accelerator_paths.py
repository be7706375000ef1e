"""Every cell that the study of an accelerator has for the device runs through the accelerator's branches of the code.

The device here is the processor under another name, so nothing is shown about a real accelerator; a wrong name, a
missing key or a setting that no cell takes would fail.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

from machinecheck import devices, registry, telemetry
from machinecheck.cells import board_network, convolution, layers, matmul, repeatability, soak, throughput
from machinecheck.settings import arguments_of
from tachograph.files import parse_json, pretty_json
from tachograph.machine.cells import study_cells
from tachograph.machine.contention import contention
from tachograph.machine.judging import judge_record
from tachograph.machine.verdict import Verdict
from tachograph.study.loading import load_study

STUDY, CHECKER = load_study(Path(__file__).parents[2] / "config", "machine")
SMALLER = {"size": "48", "batch": 8, "channels": 16, "steps": 4, "repeats": 2, "numbers": 100, "processes": 1,
           "bursts": 1, "blocks": 1, "idle": 0.0, "lead": 0.0, "window": 0.4, "seconds": 0.05, "board": 5,
           "stage_steps": 1}  # fmt: skip
MODULES = (registry, board_network, convolution, layers, matmul, repeatability, soak, throughput)


@dataclass(frozen=True)
class Renamed(devices.Device):
    """The processor, taken for an accelerator."""

    @property
    def is_cpu(self) -> bool:
        return False

    def synchronize(self) -> None:
        """It is never behind."""

    def pending(self) -> bool:
        return False


class Properties:
    """What torch says of an accelerator."""

    name = "Radeon 8060S Graphics"
    pci_domain_id, pci_bus_id, pci_device_id, total_memory = 0, 1, 0, 2**34


@pytest.fixture
def accelerator(monkeypatch):
    """``cuda:0`` is there, and it is the processor."""

    def open_device(name):
        return Renamed(torch.device("cpu")) if name.startswith("cuda") else devices.open_device(name)

    for module in MODULES:
        monkeypatch.setattr(module, "open_device", open_device)
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda _: 2**20)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Properties)


def of_the_device():
    """One small cell for each operation, format, form, backend and fault that the study has for the device."""
    found = {}
    for cell in study_cells(STUDY, CHECKER)[1:]:
        if cell.place == "device" and cell.fault is None:
            known = registry.defaults(cell.kind, cell.operation)
            smaller = {name: value for name, value in SMALLER.items() if name in known}
            settings = {**cell.settings, **smaller}
            if cell.operation == "attention":
                settings["shape"] = cell.settings.get("shape", "1,2,9,16")
            words = tuple(arguments_of(settings))
            found[cell.kind, cell.operation, words] = cell
    return found


CELLS = of_the_device()


@pytest.mark.parametrize("key", CELLS, ids=lambda key: f"{key[0]} {key[1]} {' '.join(key[2])}")
def test_cells_of_the_device_run(key, accelerator):
    """The cell measures, its record can be judged, nothing is wrong, and its host is sampled."""
    kind, operation, words = key
    given = registry.parse_settings(kind, operation, ["--device=cuda:0", *words])
    record = parse_json(pretty_json(registry.measure(kind, operation, given)))
    asked = CELLS[key]
    cell = type(asked)(**{**vars(asked), "settings": {name: given[name] for name in asked.settings}})
    found = judge_record(cell, record, STUDY.bounds, STUDY.peaks)
    assert record["device_name"] == Properties.name
    if (kind, operation) == ("throughput", "matmul"):
        assert found.derived["peak"] == STUDY.peaks[Properties.name][given["dtype"]]
    slow = {"the sustained window was not steady"} if kind == "throughput" else set()
    refused = record["measured"].get("refused") is not None
    # of four steps neither the loss nor the speed says anything
    small_soak = kind == "soak" and found.reasons[:1] and re.match("the loss did not|slowed down", found.reasons[0])
    assert found.verdict is Verdict.PASS or refused or small_soak or set(found.reasons) <= slow, found.reasons
    assert contention(record, STUDY.quiet).contended is not False or record["host"]["device_users"] == []


def test_sensors_of_a_device_without_any(monkeypatch):
    """Where neither nvidia-smi nor sysfs answers, clock, power and temperature are null with a reason."""
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: Properties)
    monkeypatch.setenv("PATH", "/nothing")
    with telemetry.Sampler(torch.device("cuda:0"), 0.01) as sampler:
        pass
    found = telemetry.summary(sampler.samples, sampler.since, 2)
    for name in ("clock_mhz", "power_watts", "temperature_celsius"):
        assert found[name] is None
        assert "nvidia-smi" in found["unknown"][name]


def test_a_device_waits_and_is_asked_through_torch(monkeypatch):
    """Synchronising and asking for pending work go to torch's stream of that very device."""
    calls = []

    class Stream:
        def query(self):
            return False

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "synchronize", calls.append)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: calls.append(device) or Stream())
    device = devices.open_device("cuda:1")
    device.synchronize()
    assert device.pending()
    assert calls == [torch.device("cuda:1")] * 2
