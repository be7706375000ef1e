"""Timed runs that wait until the device is as cool as it was before the first of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tachograph_study import DEVICE, lay_out, opened

from tachograph.analysis.sealed import read_sealed
from tachograph.analysis.study import sections
from tachograph.execution import cooldown, running
from tachograph.execution.cooldown import Cooled, cool_down, temperature
from tachograph.execution.running import Host, execute
from tachograph.files import read_json, write_json
from tachograph.host.device import Device
from tachograph.host.machine import machine_facts
from tachograph.host.sampler import HostSampler
from tachograph.host.tools import Unknown
from tachograph.models.study import CoolDown
from tachograph.record.head import registration
from tachograph.study.layout import StudyFolder
from tachograph.study.registration import register
from tachograph.study.state import read_state


class Clock:
    """Time that passes only by sleeping, and a device that loses 1 °C every 10 s, down to a floor."""

    def __init__(self, celsius: float, floor: float) -> None:
        self.now, self.celsius, self.floor = 0.0, celsius, floor
        self.said: list[str] = []

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def look(self) -> float:
        return max(self.floor, self.celsius - self.now / 10)

    def wait(self, registered: CoolDown, first: float | None) -> Cooled:
        return cool_down(registered, first, self.look, self.said.append, self.sleep)


@pytest.mark.parametrize(
    ("floor", "first", "expected"),
    [
        (40.0, None, Cooled(60.0, None, 0.0, True, None)),
        (40.0, 58.0, Cooled(60.0, 58.0, 0.0, True, None)),
        (40.0, 50.0, Cooled(53.0, 50.0, 70.0, True, None)),
        (55.0, 50.0, Cooled(55.0, 50.0, 120.0, False, "55.0 °C after 120 s, registered at most 50.0 + 3 °C")),
    ],
)
def test_wait_ends_at_the_registered_temperature_or_time(
    monkeypatch: pytest.MonkeyPatch, floor: float, first: float | None, expected: Cooled
) -> None:
    """Within 3 °C of the first start there is no wait; 60 °C take 70 s to 53; a room too warm ends it after 2 min."""
    clock = Clock(60.0, floor)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    assert clock.wait(CoolDown(degrees=3.0, max_minutes=2.0), first) == expected
    assert len(clock.said) == (expected.waited_seconds > 0)


def test_unknown_temperature_is_not_cool(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no sensor tells is neither waited for nor taken for reached."""
    clock = Clock(60.0, 40.0)
    monkeypatch.setattr(time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(clock, "look", lambda: Unknown("no sensor"))
    found = clock.wait(CoolDown(degrees=3.0), 50.0)
    assert found == Cooled(None, 50.0, 0.0, None, "no sensor")


def test_temperature_is_that_of_the_device(tmp_path: Path) -> None:
    """The processor's hottest sensor where the study runs on it; the card's own one for a card."""
    for number, (name, file) in enumerate([("k10temp", "61500"), ("amdgpu", "70000")]):
        folder = tmp_path / f"sys/class/hwmon/hwmon{number}"
        folder.mkdir(parents=True)
        (folder / "name").write_text(name)
        (folder / "temp1_input").write_text(file)
    card = tmp_path / "0000:c5:00.0"
    card.mkdir()
    (tmp_path / "sys/class/hwmon/hwmon1/device").symlink_to(card)
    assert temperature(DEVICE, tmp_path) == 61.5
    rocm = Device(name="cuda:0", kind="rocm", physical_id="x", description="a card", bus="0000:c5:00.0")
    assert temperature(rocm, tmp_path) == 70.0


def test_runs_of_a_study_cool_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Starts at 50 °C, then 58 that cool to 52, then no sensor: all stand in run.json, the last as a deviation."""
    lay_out(tmp_path, lambda text: text.replace("repeat_reference = true", "cool_down = { degrees = 3 }"))
    one, folder = opened(tmp_path), StudyFolder(tmp_path / "results/stub")
    folder.path.mkdir(parents=True)
    register(folder, one.study, one.trainer, one.planned, read_state(folder), tmp_path)
    (tmp_path / "probe.py").write_text("print('{}')")
    write_json(folder.machine, machine_facts(DEVICE, tmp_path / "probe.py"))
    readings: Iterator[float | Unknown] = iter([50.0, 58.0, 52.0, Unknown("no sensor")])
    monkeypatch.setattr(running, "temperature", lambda device: next(readings))
    monkeypatch.setattr(cooldown, "POLL_SECONDS", 0.01)
    monkeypatch.setenv("STUB_PAUSE", "0.1")  # runs long enough to be looked at
    since: list[float | None] = []
    summary = HostSampler.summary
    monkeypatch.setattr(HostSampler, "summary", lambda self, at: since.append(at) or summary(self, at))
    host = Host(DEVICE, tmp_path / "lease", 60.0)
    chosen = [run for run in one.planned if run.role in ("burnin", "run")][:4]
    for run in chosen:
        execute(run, folder, host, forced=False, say=lambda _: None, root=tmp_path)
    facts = [read_json(folder.path / run.run_file).get("cool_down") for run in chosen]
    assert facts[0] is None  # the burn-in warms the device up
    assert [(one["first_celsius"], one["celsius"], one["reached"]) for one in facts[1:]] == [
        (None, 50.0, True), (50.0, 52.0, True), (50.0, None, None),
    ]  # fmt: skip
    assert None not in since[1:]  # the only iteration of the burn-in may be seen too late
    for run, at in zip(chosen, since, strict=True):  # clocks are asked for from the first iteration on
        outcome = read_json(folder.path / run.run_file)["outcome"]
        assert at is None or outcome["started_monotonic"] < at <= outcome["ended_monotonic"]
    found = sections(read_sealed(folder))
    assert "until the device is at most 3 °C warmer than before the first of them, 10 minutes at most" in registration(
        found
    )
    told = [one for one in found["deviations"] if one["kind"] == "cool-down"]
    assert [(one["run"], one["what_happened"]) for one in told] == [
        (chosen[3].key, "its temperature is unknown: no sensor")
    ]
