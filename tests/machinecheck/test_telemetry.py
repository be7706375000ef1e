"""Load, clock, temperature and power are read or null with a reason; so are other programs."""

from __future__ import annotations

import os
import time

import pytest

from machinecheck import telemetry
from machinecheck.telemetry import Sampler
from machinecheck.unknown import Unknown


def sample(foreign: float = 0.0, stolen: float = 0.0, **more):
    """One reading of an otherwise quiet host."""
    return {"load_average": 0.1, "foreign_processors": foreign, "stolen_processors": stolen} | more


def every_second(*samples):
    """The summary of readings that were taken a second apart."""
    return telemetry.summary([(float(second), one) for second, one in enumerate(samples, 1)], 0.0, 2)


def test_unknown_is_null_with_a_reason():
    """A quantity without any reading is null and says why; one with some readings uses those."""
    found = every_second(sample(power_watts=Unknown("N/A")), sample(power_watts=Unknown("N/A")))
    assert found["power_watts"] is None
    assert found["unknown"] == {"power_watts": "N/A"}
    mixed = every_second(sample(power_watts=Unknown("N/A")), sample(power_watts=50.0))
    assert mixed["power_watts"] == {"mean": 50, "min": 50, "max": 50}


def test_a_mean_is_over_time():
    """One tick of the kernel's clock in the last 10 ms of ten quiet seconds is no half of a processor."""
    found = telemetry.summary([(10.0, sample(foreign=0.0)), (10.01, sample(foreign=1.0))], 0.0, 2)
    assert found["foreign_processors"] == {"mean": pytest.approx(0.01 / 10.01), "min": 0.0, "max": 1.0}
    assert found["samples"] == 2


def test_own_work_is_not_foreign():
    """A process that keeps one processor busy for a while is not counted among the others."""
    reader = telemetry.HostReader()
    before = os.times()
    end = time.monotonic() + 0.4
    while time.monotonic() < end:
        pass
    after = os.times()
    spent = after.user + after.system - before.user - before.system
    found = reader.read()
    busy = found["foreign_processors"]
    assert isinstance(busy, float)
    assert busy <= telemetry.usable_processors() - spent / 0.4 + 0.3


def test_sampler_takes_a_last_sample():
    """Even a cell shorter than the interval has one sample."""
    with Sampler(interval=60) as sampler:
        pass
    assert len(sampler.samples) == 1
    assert sampler.series("load_average")[0][1] == pytest.approx(os.getloadavg()[0], abs=5)


def test_lowest_clock_of_a_block():
    """The lowest reading within the block decides; none in it is unknown."""
    readings = [
        (1.0, {"clock_mhz": 2900.0}),
        (2.0, {"clock_mhz": 2084.0}),
        (3.0, {"clock_mhz": Unknown("x")}),
    ]
    assert telemetry.lowest_between(readings, "clock_mhz", 0.5, 2.5) == 2084
    assert telemetry.lowest_between(readings, "clock_mhz", 2.5, 3.5) is None


def test_counters_of_energy():
    """Watts are joules over seconds; a counter that started again, or cannot be read, gives no number."""
    assert telemetry.power(10.0, 70.0, 2.0) == 30
    assert telemetry.power(70.0, 10.0, 2.0) == Unknown("the energy counter started again")
    assert telemetry.power(Unknown("denied"), 1.0, 2.0) == Unknown("denied")


def test_other_programs_on_the_device():
    """Another program on the device is named; an unreadable list is unknown, never "none"."""
    quiet = every_second(sample())
    mine, other = {"pid": 7, "name": "me"}, {"pid": 226424, "name": "llama-server"}
    assert telemetry.with_device_users(quiet, [[mine], [mine]], 7)["device_users"] == []
    shared = telemetry.with_device_users(quiet, [[mine], [mine, other]], 7)
    assert shared["device_users"] == [other]
    ended = {"pid": 8, "name": Unknown("/proc/8/comm: No such file or directory")}
    assert telemetry.with_device_users(quiet, [[mine, ended]], 7)["device_users"] == [{"pid": 8, "name": None}]
    unreadable = telemetry.with_device_users(quiet, [[mine], Unknown("garbage")], 7)
    assert unreadable["device_users"] is None
    assert unreadable["unknown"]["device_users"] == "garbage"


def test_nvidia_reader_gives_the_latest_line(tmp_path, monkeypatch):
    """The running nvidia-smi's last line is the reading; before one, and for N/A, the reason."""
    script = tmp_path / "nvidia-smi"
    script.write_text("#!/bin/sh\necho '1980, [N/A], 31'\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    reader = telemetry.NvidiaReader("0000:01:00.0")
    try:
        for _ in range(500):
            found = reader.read()
            if found["clock_mhz"] == 1980:
                break
            assert isinstance(found["clock_mhz"], Unknown)
            time.sleep(0.01)
    finally:
        reader.close()
    assert found == {
        "clock_mhz": 1980,
        "power_watts": Unknown("nvidia-smi power.draw: [N/A]"),
        "temperature_celsius": 31,
    }


def test_address_of_a_device():
    """The PCI address is torch's, in the form that sysfs and nvidia-smi use."""

    class Properties:
        pci_domain_id, pci_bus_id, pci_device_id = 0, 0xC5, 0

    assert telemetry.pci_address(Properties()) == "0000:c5:00"
    assert isinstance(telemetry.pci_address(object()), Unknown)


def test_a_sensor_that_says_nan_is_unknown():
    """A reading that is no number ends no cell: it is left out, and told where there is no other."""
    sampler = Sampler()
    sampler._readers = [type("Reader", (), {"read": lambda _: sample(cpu_temperature_celsius=float("nan"))})()]
    sampler._take()
    found = telemetry.summary(sampler.samples, sampler.since, 2)
    assert found["cpu_temperature_celsius"] is None
    assert found["unknown"]["cpu_temperature_celsius"] == "the sensor said nan"
    assert found["load_average"]["mean"] == 0.1
