"""What the host did meanwhile: right numbers from known counts, and "unknown" wherever nothing is known."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tachograph.execution.supervise import supervise
from tachograph.host.device import Device
from tachograph.host.gpuprocesses import GpuProcess, compute_processes, parse_compute_apps
from tachograph.host.sampler import HostSampler, slope_per_minute
from tachograph.host.sensors import UNITS, Counters, count, gauges, gpu_gauges, rates
from tachograph.host.tools import Unknown
from tachograph.lease.acquire import acquire
from tachograph.lease.processes import TICKS_PER_SECOND

CPU = Device("cpu", "cpu", "cpu-0", "a processor")
H200 = Device("cuda:0", "cuda", "gpu-01111111-2222-3333-4444-555555555555", "NVIDIA H200", "0000:03:00.0")
APU = Device("cuda:0", "rocm", "gpu-0000:c5:00.0", "AMD gfx1151", "0000:c5:00.0")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine that shows nothing at all."""
    (tmp_path / "root/dev").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin" / "nvidia-smi"
    path.parent.mkdir()
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")
    return path


def fake(tool: Path, script: str) -> None:
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def programs(device: Device, root: Path) -> dict[str, Any]:
    sampler = HostSampler(device, root=root)
    sampler.start()
    sampler.stop()
    found: dict[str, Any] = sampler.summary()["gpu_processes"]
    return found


@pytest.mark.parametrize("device", [CPU, H200], ids=["cpu", "gpu"])
def test_foreign_program_contaminates(root: Path, tool: Path, device: Device) -> None:
    """D14: a program on the GPU that never took the lease is named with pid, name and MiB."""
    fake(tool, "echo '226424, /usr/local/lib/ollama/llama-server, 1328 MiB'")
    found = programs(device, root)
    assert found["status"] == "contaminated"
    [process] = found["processes"]
    assert process == {
        "pid": 226424,
        "name": "/usr/local/lib/ollama/llama-server",
        "mib": 1328.0,
        "seen": ["before", "after"],
    }


@pytest.mark.parametrize(
    "script",
    [
        "echo garbage",
        "echo '{\"processes\": []}'",
        "echo 'pid, process_name, used_gpu_memory [MiB]'",
        "echo '1, a, 5 MiB'; echo 'and then this'",
        "echo 'Failed to initialize NVML' >&2; exit 9",
        "printf '\\377\\376'",
    ],
)
@pytest.mark.parametrize("device", [CPU, H200], ids=["cpu", "gpu"])
def test_what_is_not_understood_is_never_clean(root: Path, tool: Path, device: Device, script: str) -> None:
    """D14: garbage, an unknown schema, a failing tool: unknown, with the reason."""
    fake(tool, script)
    found = programs(device, root)
    assert found["status"] == "unknown"
    assert found["reason"]
    assert found["processes"] == []


def test_program_seen_once_stays_though_the_tool_fails_later(root: Path, tool: Path) -> None:
    """Contamination seen before the run is not forgotten when the look after it fails."""
    fake(tool, f"[ -e {tool}.called ] && exit 9; : > {tool}.called; echo '7, server, 5 MiB'")
    found = programs(CPU, root)
    assert found["status"] == "contaminated"
    assert found["processes"][0]["seen"] == ["before"]
    assert "exit code 9" in found["reason"]


def test_clean_needs_a_view_of_all_processes(root: Path, tool: Path) -> None:
    """An empty list means clean on the machine itself; in a container it means nothing."""
    fake(tool, "exit 0")
    namespace = root / "proc/self/ns/pid"
    namespace.parent.mkdir(parents=True)
    namespace.symlink_to("pid:[4026532999]")
    assert programs(H200, root)["status"] == "unknown"
    namespace.unlink()
    namespace.symlink_to("pid:[4026531836]")
    assert programs(H200, root)["status"] == "clean"


def test_machine_without_gpu_is_clean_and_a_lost_tool_is_not(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No card and no tool: nothing can compute there. A card without the tool: unknown."""
    monkeypatch.setenv("PATH", "/nonexistent")
    assert programs(CPU, root)["status"] == "clean"
    (root / "dev/nvidia0").touch()
    for device in (CPU, H200):
        found = programs(device, root)
        assert (found["status"], found["reason"]) == ("unknown", "nvidia-smi is not installed")


def test_lines_of_compute_programs() -> None:
    """Names with commas, memory that is not told, and an empty list are read; a graphics table is not.

    What the driver tells after the program's name may hold a secret and is left out.
    """
    assert parse_compute_apps("") == []
    assert parse_compute_apps("12, a,b.py --key=secret, 3 MiB\n13, x, [N/A]\n") == [
        GpuProcess(12, "a,b.py", 3.0),
        GpuProcess(13, "x", None),
    ]
    assert isinstance(parse_compute_apps("|    0   N/A  N/A   1234   G   /usr/lib/xorg/Xorg   30MiB |"), Unknown)


def test_only_the_leased_card_is_asked(root: Path, tool: Path) -> None:
    """On a machine with several cards nvidia-smi is asked about the leased one, by its address."""
    fake(tool, f'echo "$@" > {tool}.said')
    compute_processes(H200, root)
    assert "--id=0000:03:00.0 " in Path(f"{tool}.said").read_text()


def amd(root: Path) -> Path:
    """A machine with two AMD cards, numbers 1001 and 1002; returns amdkfd's list of processes."""
    for node, (number, location) in enumerate([(1001, 0xC500), (1002, 0x0300)]):
        folder = root / f"sys/class/kfd/kfd/topology/nodes/{node}"
        write(folder / "name", "gfx1151\n")
        write(folder / "gpu_id", f"{number}\n")
        properties = f"simd_count 80\nlocation_id {location}\ndomain 0\nunique_id 0\ndrm_render_minor {128 + node}\n"
        write(folder / "properties", properties)
        write(root / f"dev/dri/renderD{128 + node}", "")
    write(root / "dev/kfd", "")
    listed = root / "sys/class/kfd/kfd/proc"
    listed.mkdir()
    return listed


def test_amd_programs_by_queue_or_memory(root: Path) -> None:
    """On AMD a program counts if it has a queue or memory on this card; one on the other card does not."""
    listed = amd(root)
    assert programs(APU, root)["status"] == "clean"
    write(listed / "31/queues/0/gpuid", "1002\n")
    write(listed / "31/vram_1002", "1048576\n")
    write(listed / "31/vram_1001", "0\n")
    assert programs(APU, root)["status"] == "clean"
    write(listed / "32/queues/0/gpuid", "1001\n")
    write(listed / "33/vram_1001", f"{3 * 2**20}\n")
    write(root / "proc/33/cmdline", "python\0--key=secret\0")
    (root / "proc/33/exe").symlink_to("/usr/bin/python3.11")
    found = programs(APU, root)
    rows = [(p["pid"], p["name"], p["mib"]) for p in found["processes"]]
    assert rows == [(32, "program not shown", 0.0), (33, "python3.11", 3.0)]
    write(listed / "33/vram_1001", "N/A\n")
    assert programs(APU, root)["status"] == "unknown"


def test_rates_from_known_counts(root: Path) -> None:
    """Shares, processors and watts are those of a hand calculation."""
    hertz = TICKS_PER_SECOND
    pressure = {"cpu": 1_000_000, "memory": 0, "io": 500_000}
    package = root / "sys/class/powercap/intel-rapl:0/energy_uj"
    before = Counters(100.0, [0] * 10, 0, dict.fromkeys(pressure, 0), {package: 9_000_000})
    # In ten seconds on four processors: 15 s user, 5 s system, 18 s idle, 2 s stolen; 12 s were ours.
    ticks = [15 * hertz, 0, 5 * hertz, 18 * hertz, 0, 0, 0, 2 * hertz, 0, 0]
    after = Counters(110.0, ticks, 12 * hertz, pressure, {package: 4_000_000})
    write(package, "4000000\n")
    write(package.with_name("max_energy_range_uj"), "105000000\n")
    found = rates(before, after, root)
    assert found == {
        "pressure_cpu": pytest.approx(0.1),
        "pressure_memory": 0.0,
        "pressure_io": pytest.approx(0.05),
        "cpu_steal": pytest.approx(2 / 40),
        "cpu_foreign": pytest.approx((20 - 12) / 10),
        "cpu_power": pytest.approx(10.0),  # 9 -> 105 (wrapped) -> 4: 100 J in 10 s
    }


def test_everything_unknown_has_a_reason(root: Path) -> None:
    """On a machine that shows nothing each quantity is null with a reason, never 0."""
    sampler = HostSampler(APU, interval_s=0.0, gpu_interval_s=0.0, root=root)
    sampler.start()
    time.sleep(0.25)
    sampler.tick()
    summary = sampler.summary()
    assert set(summary["quantities"]) == set(UNITS)
    for entry in summary["quantities"].values():
        assert entry["value"] is None
        assert entry["reason"]
    assert summary["errors"] == []
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_slope_of_a_temperature_is_by_least_squares() -> None:
    """3 °C in two minutes are 1.5 per minute, also with a symmetric bump; seconds alone or two points tell none."""
    assert slope_per_minute([(0, 60), (60, 61.5), (120, 63)]) == pytest.approx(1.5)
    assert slope_per_minute([(10, 60), (40, 62), (100, 63.5), (130, 63)]) == pytest.approx(
        60 * np.polyfit([10, 40, 100, 130], [60, 62, 63.5, 63], 1)[0]
    )
    assert slope_per_minute([(0, 60), (120, 63)]) is None
    assert slope_per_minute([(0, 60), (5, 61), (59, 70)]) is None


def test_temperatures_alone_have_a_slope(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor's temperature file rises by 2 °C in each minute of the sampler's clock; the load has no slope."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    write(root / "sys/class/hwmon/hwmon1/name", "k10temp\n")
    write(root / "proc/loadavg", "1.25 2.0 3.0 4/500 12345\n")
    sampler = HostSampler(CPU, root=root)
    sampler.start()
    for minute in range(4):
        now[0] += 60
        write(root / "sys/class/hwmon/hwmon1/temp1_input", f"{50_000 + 2_000 * minute}\n")
        sampler.tick()
    assert sampler.summary()["errors"] == []
    quantities = sampler.summary()["quantities"]
    assert quantities["cpu_temperature"]["slope_per_minute"] == pytest.approx(2.0)
    assert "slope_per_minute" not in quantities["load_1min"]


def test_clocks_are_those_of_the_work(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """3.3: a processor at 600 MHz while the program starts, at 2,000 in its iterations: the mean clock is 2,000."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    sampler = HostSampler(CPU, root=root)
    sampler.start()
    for seconds, khz in ((10, 600_000), (20, 600_000), (30, 1_990_000), (40, 2_010_000)):
        now[0] += 10
        write(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", f"{khz}\n")
        write(root / "proc/loadavg", f"{seconds} 2.0 3.0 4/500 12345\n")
        sampler.tick()
    found = sampler.summary(working_since=now[0] - 12)["quantities"]
    clock = {key: found["cpu_mhz"].get(key) for key in ("min", "mean", "max", "n", "before")}
    assert clock == {"min": 1990.0, "mean": 2000.0, "max": 2010.0, "n": 2, "before": 2}
    assert (found["load_1min"]["n"], found["load_1min"]["mean"]) == (4, 25.0)  # whatever else is of the whole job
    for since in (None, now[0] + 1):  # nobody saw an iteration, or no reading came after it
        assert sampler.summary(since)["quantities"]["cpu_mhz"]["mean"] == 1300.0


def test_gauges_of_a_known_machine(root: Path) -> None:
    """Load, memory, clock and temperature come from the kernel's files in the units that are named."""
    write(root / "proc/loadavg", "1.25 2.0 3.0 4/500 12345\n")
    write(root / "proc/meminfo", "MemTotal: 100 kB\nMemAvailable:   64 kB\n")
    for i, khz in enumerate((2_000_000, 3_000_000)):
        write(root / f"sys/devices/system/cpu/cpu{i}/cpufreq/scaling_cur_freq", f"{khz}\n")
    write(root / "sys/class/hwmon/hwmon0/name", "nvme\n")
    write(root / "sys/class/hwmon/hwmon0/temp1_input", "90000\n")
    write(root / "sys/class/hwmon/hwmon1/name", "k10temp\n")
    write(root / "sys/class/hwmon/hwmon1/temp1_input", "61500\n")
    write(root / "sys/class/hwmon/hwmon1/temp3_input", "58000\n")
    found = gauges(root)
    assert found == {
        "load_1min": 1.25,
        "memory_available": 65536.0,
        "cpu_mhz": 2500.0,
        "cpu_temperature": 61.5,
    }


def test_energy_counter_that_root_alone_may_read(root: Path) -> None:
    """RAPL is closed to users on many machines: power is then null with the system's reason (D26)."""
    package = root / "sys/class/powercap/intel-rapl:0/energy_uj"
    package.mkdir(parents=True)  # reading it fails for every user
    found = rates(Counters(at=0.0), Counters(at=1.0), root)["cpu_power"]
    assert isinstance(found, Unknown)
    assert str(package) in found.reason


def test_integrated_gpu_from_sysfs(root: Path) -> None:
    """D26: the card's own hwmon folder is read; what says nothing useful is unknown, not 0."""
    card = root / "sys/devices/pci0000:00/0000:c5:00.0"
    card.mkdir(parents=True)
    other = root / "sys/class/hwmon/hwmon0"
    write(other / "name", "amdgpu\n")
    (other / "device").symlink_to(root / "dev")
    write(other / "temp1_input", "99000\n")
    own = root / "sys/class/hwmon/hwmon1"
    write(own / "name", "amdgpu\n")
    (own / "device").symlink_to(card)
    write(own / "temp1_input", "45000\n")
    write(own / "power1_input", "55000000\n")
    write(own / "freq1_input", "2900000000\n")
    write(own / "freq2_input", "N/A\n")
    found = gpu_gauges(APU, root)
    assert found["gpu_temperature"] == 45.0
    assert found["gpu_power"] == 55.0
    assert found["gpu_mhz"] == 2900.0
    assert isinstance(found["gpu_memory_mhz"], Unknown)
    assert "'N/A'" in found["gpu_memory_mhz"].reason


def test_nvidia_gauges(root: Path, tool: Path) -> None:
    """Numbers of nvidia-smi are read one by one; one that is not supported is unknown alone."""
    fake(tool, "echo '41, [N/A], 1980, 3201'")
    found = gpu_gauges(H200, root)
    assert (found["gpu_temperature"], found["gpu_mhz"], found["gpu_memory_mhz"]) == (41.0, 1980.0, 3201.0)
    assert found["gpu_power"] == Unknown("nvidia-smi says '[N/A]'")
    fake(tool, "echo 41")
    assert all(isinstance(value, Unknown) for value in gpu_gauges(H200, root).values())


def test_foreign_load_is_told_from_our_own() -> None:
    """A busy loop below us is ours, one that has nothing to do with us is not."""
    burn = "import time\nend = time.monotonic() + 1.2\nwhile time.monotonic() < end: pass\nprint(time.process_time())"

    def foreign(own: bool) -> tuple[float, float]:
        before = count()
        started = time.monotonic()
        command = [sys.executable, "-c", burn]
        if own:
            seconds = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        else:
            reading, writing = os.pipe()
            middle = subprocess.Popen(["sh", "-c", 'setsid "$@" &', "sh", *command], stdout=writing)
            os.close(writing)
            middle.wait()
            with os.fdopen(reading) as pipe:
                seconds = float(pipe.read())
        load = rates(before, count())["cpu_foreign"]
        assert isinstance(load, float)
        return load, seconds / (time.monotonic() - started)

    # Other programs may run here at the same time; they can only add.
    load, burnt = foreign(own=False)
    assert load >= burnt - 0.1
    load, burnt = foreign(own=True)
    assert load <= (os.cpu_count() or 1) - burnt + 0.1


def test_sampler_rides_on_the_supervisor(tmp_path: Path) -> None:
    """Driven by the supervisor's ticks the sampler takes its samples, and nothing goes wrong."""
    sampler = HostSampler(CPU, interval_s=0.25)
    sampler.start()
    with acquire(CPU, tmp_path, max_wait_s=0, max_hold_s=60) as lease:
        outcome = supervise(["sleep", "1"], lease=lease, log_path=None, max_hold_s=60, on_tick=sampler.tick, tick_s=0.1)
    sampler.stop()
    summary = sampler.summary()
    assert outcome.status == "finished"
    assert summary["errors"] == []
    assert 2 <= summary["samples"] <= 5


def test_sampler_that_fails_harms_nobody(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error while sampling ends no run; it is told, and the device does not count as clean."""

    def broken(*_: object) -> None:
        raise RuntimeError("sensor on fire")

    monkeypatch.setattr("tachograph.host.sampler.count", broken)
    sampler = HostSampler(CPU, interval_s=0.0, root=root)
    sampler.start()
    sampler.tick()
    sampler.stop()
    summary = sampler.summary()
    assert "sensor on fire" in summary["errors"][0]
    assert summary["gpu_processes"]["status"] == "unknown"


def test_real_host_gives_numbers() -> None:
    """On this machine, whatever it is: load, memory and processor shares are numbers within their limits."""
    sampler = HostSampler(CPU, interval_s=0.2)
    sampler.start()
    for _ in range(3):
        time.sleep(0.25)
        sampler.tick()
    sampler.stop()
    summary = sampler.summary()
    assert summary["samples"] == 3
    quantities = summary["quantities"]
    assert 0 <= quantities["cpu_foreign"]["min"] <= quantities["cpu_foreign"]["max"] <= (os.cpu_count() or 1) * 1.2
    assert quantities["memory_available"]["min"] > 1e6
    assert quantities["cpu_steal"]["n"] == 3
