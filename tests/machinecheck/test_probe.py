"""The probe reads what is there and says why a fact is not."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from machinecheck.files import to_json
from machinecheck.probe import amd, host, libraries, machine, nvidia, torch_facts
from machinecheck.unknown import Unknown, separate
from tachograph.files import parse_json

GIBIBYTE = 2**30


def put(path: Path, text: str) -> None:
    """Write one file of a fake sysfs."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def program(folder: Path, name: str, text: str) -> None:
    """Put an executable that prints ``text`` into ``folder``."""
    folder.mkdir(exist_ok=True)
    (folder / "printed").write_text(text)
    script = folder / name
    script.write_text(f"#!/bin/sh\ncat {folder / 'printed'}\n")
    script.chmod(0o755)


@pytest.fixture
def strix_halo(tmp_path: Path) -> Path:
    """A sysfs like that of the APU of document 003 (case D26): carve-out, shared pool, no power sensor."""
    device = tmp_path / "sys/class/drm/card1/device"
    put(device / "vendor", "0x1002\n")
    put(device / "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c5:00.0\n")
    put(device / "mem_info_vram_total", "536870912\n")
    put(device / "mem_info_gtt_total", "101940000000\n")
    put(device / "pp_dpm_sclk", "0: 600Mhz\n1: 2084Mhz *\n2: 2900Mhz\n")
    put(device / "hwmon/hwmon4/temp1_input", "59000\n")
    node = tmp_path / "sys/class/kfd/kfd/topology/nodes/1"
    put(
        node / "properties",
        f"simd_count 80\nsimd_per_cu 2\ngfx_target_version 110501\nlocation_id {0xC5 << 8}\nunique_id 0\n",
    )
    put(tmp_path / "sys/class/drm/card1-DP-1/device/vendor", "0x1002\n")
    return tmp_path / "sys"


def test_apu_memory_is_one_pool(strix_halo, tmp_path, monkeypatch):
    """D26: the pool is 94.94 GiB, the carve-out 0.5 GiB, and nothing printed exceeds the 134 GB of RAM."""
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    (device,) = amd.devices(strix_halo)
    assert device["integrated"] is True
    assert device["instruction_set"] == "gfx1151"
    assert device["compute_units"] == 40
    assert device["memory"]["carve_out_bytes"] / GIBIBYTE == 0.5
    assert round(device["memory"]["usable_pool_bytes"] / GIBIBYTE, 2) == 94.94
    assert max(device["memory"].values()) < 134e9
    assert device["clock_mhz"] == 2084
    assert device["temperature_celsius"] == 59


def test_power_not_available_is_null_with_reason(strix_halo, tmp_path, monkeypatch):
    """D26: amd-smi's "N/A" gives null and the reason, under the package's name, never 0."""
    program(tmp_path / "bin", "amd-smi", '[{"gpu": 0, "power": {"socket_power": "N/A"}}]')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    plain, reasons = separate(amd.devices(strix_halo))
    assert plain[0]["package_power_watts"] is None
    assert reasons["[0].package_power_watts"] == "amd-smi: N/A"
    assert "board_power_watts" not in plain[0]


def test_power_of_each_card_is_its_own(strix_halo, tmp_path, monkeypatch):
    """D26: beside an APU of 55 W a card of 310 W is asked for by its address; what comes first may be another one."""
    device = strix_halo / "class/drm/card2/device"
    put(device / "vendor", "0x1002\n")
    put(device / "uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:03:00.0\n")
    watts = {"0000:c5:00.0": 55, "0000:03:00.0": 310}
    cases = "".join(f'*{one}*) echo \'[{{"power": {{"socket_power": {two}}}}}]\';;' for one, two in watts.items())
    script = tmp_path / "bin/amd-smi"
    put(script, f'#!/bin/sh\ncase "$*" in {cases} *) echo "[]";; esac\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = {
        one["card"]: one.get("package_power_watts", one.get("board_power_watts")) for one in amd.devices(strix_halo)
    }
    assert found == {"card1": 55, "card2": 310}


def test_power_from_sysfs_is_the_package(strix_halo):
    """Where hwmon has a power sensor it is used, in watts, labelled as the package's on an APU."""
    put(strix_halo / "class/drm/card1/device/hwmon/hwmon4/power1_average", "114000000\n")
    assert amd.devices(strix_halo)[0]["package_power_watts"] == 114


def test_a_card_of_its_own_is_not_a_pool(strix_halo):
    """A card with video memory of its own reports that as the memory that programs get."""
    put(strix_halo / "class/drm/card1/device/mem_info_vram_total", str(24 * GIBIBYTE))
    put(
        strix_halo / "class/kfd/kfd/topology/nodes/1/properties",
        "simd_count 192\ngfx_target_version 110000\n",
    )
    (device,) = amd.devices(strix_halo)
    assert device["integrated"] is False
    assert device["memory"]["usable_pool_bytes"] == 24 * GIBIBYTE


@pytest.mark.parametrize(("version", "name"), [(110501, "gfx1151"), (90010, "gfx90a"), (90402, "gfx942")])
def test_instruction_set_names(version, name):
    """KFD's numbers are read as the names that compilers use (minor and step in hexadecimal)."""
    assert amd.instruction_set(version) == name


ROW = "0, NVIDIA H200, GPU-1, 00000000:01:00.0, 570.1, 96.00, 143771, [N/A], 700.00, 1980, 1980, 31, Enabled, "


def test_nvidia_devices(tmp_path, monkeypatch):
    """One row per device, in bytes, watts and MHz; "[N/A]" is null with the field named."""
    program(tmp_path / "bin", "nvidia-smi", ROW + "Enabled, Default, Disabled\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    plain, reasons = separate(nvidia.devices())
    assert plain[0]["memory_bytes"] == 143771 * 2**20
    assert plain[0]["clock_max_mhz"] == 1980
    assert plain[0]["board_power_watts"] is None
    assert reasons == {"[0].board_power_watts": "nvidia-smi power.draw: [N/A]"}


def test_blas_that_is_linked_into_torch():
    """torch's MKL is in no list of loaded libraries: torch itself names it, or it is unknown."""
    assert torch_facts.blas("LAPACK_INFO=mkl, Build settings: BLAS_INFO=mkl, USE_MKL=ON") == "mkl"
    assert torch_facts.blas("LAPACK_INFO=mkl") is None


@pytest.mark.parametrize("text", ["No devices were found\n", "<xml>", "a,b\nc\n"])
def test_unreadable_nvidia_smi_is_unknown(tmp_path, monkeypatch, text):
    """Another answer than was asked for is unknown, not an empty list of devices or processes."""
    program(tmp_path / "bin", "nvidia-smi", text)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert isinstance(nvidia.devices(), Unknown)
    assert isinstance(nvidia.compute_processes(), Unknown)


def test_foreign_compute_process(tmp_path, monkeypatch):
    """A program on the device is listed with process id, name and bytes."""
    program(tmp_path / "bin", "nvidia-smi", "226424, /usr/local/lib/ollama/llama-server, 1328 MiB\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    assert nvidia.compute_processes() == [
        {"pid": 226424, "name": "/usr/local/lib/ollama/llama-server", "memory_bytes": 1328 * 2**20}
    ]


def test_environment_is_an_allow_list():
    """Settings that change numbers are kept; secrets and everything else are not."""
    kept = host.environment(
        {"OPENBLAS_NUM_THREADS": "1", "LD_PRELOAD": "/x.so", "HSA_TOKEN": "s", "AWS_KEY": "s", "HOME": "/h"}
    )
    assert kept == {"LD_PRELOAD": "/x.so", "OPENBLAS_NUM_THREADS": "1"}


def test_two_copies_of_one_library():
    """A device runtime mapped from two places is found, whatever its version; two OpenBLAS names are one."""
    maps = "\n".join(
        f"7f00-7f01 r-xp 00000000 08:01 {inode} {path}"
        for inode, path in enumerate(
            [
                "/venv/torch/lib/libamdhip64.so.6",
                "/opt/rocm/lib/libamdhip64.so.7.0.1",
                "/opt/rocm/lib/libamdhip64.so.7.0.1",
                "/venv/numpy.libs/libscipy_openblas64_-32a4b2a6.so",
                "/venv/scipy.libs/libscipy_openblas-6cdc3b4a.so",
                "/usr/lib/libc.so.6",
                "/venv/torch/lib/libc10.so",
                "[heap]",
            ]
        )
    )
    assert sorted(libraries.copies(maps)) == ["amdhip64", "openblas"]
    assert libraries.copies(maps)["amdhip64"] == [
        "/opt/rocm/lib/libamdhip64.so.7.0.1",
        "/venv/torch/lib/libamdhip64.so.6",
    ]


def test_whole_probe(tmp_path):
    """A real probe names every unknown, keeps torch's report beside it and prints its id."""
    out = tmp_path / "machine.json"
    done = subprocess.run(
        [sys.executable, "-m", "machinecheck", "probe", "--out", out],
        capture_output=True,
        text=True,
        check=True,
    )
    probe = json.loads(out.read_text())
    assert done.stdout.strip() == probe["id"]
    assert probe["facts"]["processor"]["logical"] == os.cpu_count()
    assert probe["facts"]["torch"]["attention"]["fp32"]["math"] == "math"
    assert "PyTorch version" in (tmp_path / "collect_env.txt").read_text()
    for place, reason in probe["unknown"].items():
        assert reason
        found = probe["facts"]
        for key in place.replace("[", ".[").split("."):
            found = found[int(key[1:-1])] if key.startswith("[") else found[key]
        assert found is None


def test_identity_ignores_the_weather(tmp_path, monkeypatch):
    """Clock, temperature and load do not change the machine's hash; another driver does."""
    monkeypatch.setattr(machine, "torch_facts", lambda: Unknown("not asked"))
    now = datetime(2026, 8, 20, 8, 0, 56, tzinfo=UTC)
    facts = machine.gather(tmp_path, Path("/proc"), tmp_path)
    facts["devices"] = [{"vendor": "AMD", "name": "x", "driver": "1", "clock_mhz": 600.0}]
    before = machine.identity(facts, now)
    facts["devices"][0]["clock_mhz"] = 2900.0
    facts["system"]["load_average"] = "41"
    assert machine.identity(facts, now) == before
    assert before.startswith("MACH-20260820T080056Z-")
    facts["devices"][0]["driver"] = "2"
    assert machine.identity(facts, now) != before


def test_device_that_crashes_costs_its_facts_alone(monkeypatch):
    """Every device call segfaulting (document 003) leaves torch's other facts, and the signal is named."""
    real = subprocess.run

    def crash(command, **options):
        text = "kill -SEGV $$" if command[-1] == "--devices" else 'echo \'{"version": "2", "device_count": 1}\''
        return real(["/bin/sh", "-c", text], **options)

    monkeypatch.setattr(machine.subprocess, "run", crash)
    found = machine.torch_facts()
    assert found["version"] == "2"
    assert found["devices"] == Unknown("torch crashed (SIGSEGV)")


def test_amd_compute_processes(tmp_path):
    """KFD's list names other programs on the device; without the list it is unknown, not empty."""
    put(tmp_path / "sys/class/kfd/kfd/proc/226424/pasid", "1")
    put(tmp_path / "proc/226424/comm", "llama-server\n")
    found = amd.compute_processes(tmp_path / "sys", tmp_path / "proc")
    assert found == [{"pid": 226424, "name": "llama-server"}]
    assert isinstance(amd.compute_processes(tmp_path / "nothing", tmp_path / "proc"), Unknown)


@pytest.mark.parametrize("rubbish", ["nan", "inf", "-inf", "1e999", "N/A", "²", "9" * 400, "-1", "\0\x7f", "", "1 2 3"])
def test_rubbish_in_system_files_is_unknown(strix_halo, tmp_path, monkeypatch, rubbish):
    """Whatever stands where a number should, the facts can be written, and no number is made of it."""
    program(tmp_path / "bin", "amd-smi", json.dumps([{"power": {"socket_power": rubbish}}]))
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    for file in [path for path in strix_halo.rglob("*") if path.is_file() and path.name not in ("vendor", "uevent")]:
        file.write_text(rubbish)
    put(strix_halo / "fs/cgroup/cpu.max", rubbish)
    put(strix_halo / "fs/cgroup/memory.max", rubbish)
    put(strix_halo / "class/powercap/intel-rapl:0/energy_uj", rubbish)
    put(tmp_path / "proc/meminfo", f"MemTotal: {rubbish}")
    (device,) = amd.devices(strix_halo)
    memory = host.memory(tmp_path / "proc", strix_halo)
    limit = host.processor(tmp_path / "proc", strix_halo)["control_group_limit"]
    plain, _ = separate({"device": device, "memory": memory, "power": host.package_power(strix_halo), "limit": limit})
    parse_json(to_json(plain))
    if rubbish not in ("-1", "1 2 3"):
        assert plain["memory"] == {"total_bytes": None, "control_group_limit_bytes": None}
        assert plain["limit"] is None
        assert plain["device"]["temperature_celsius"] is None
        assert isinstance(nvidia.value(rubbish, "power.draw", 1), Unknown)


def nulls(facts, place=""):
    """Dotted places of all nulls."""
    if facts is None:
        return {place}
    if isinstance(facts, dict):
        parts = [(f"{place}.{key}" if place else str(key), value) for key, value in facts.items()]
    elif isinstance(facts, list):
        parts = [(f"{place}[{index}]", value) for index, value in enumerate(facts)]
    else:
        return set()
    return set().union(*(nulls(value, at) for at, value in parts))


@pytest.mark.slow
def test_every_null_of_this_machine_has_a_reason(tmp_path):
    """The probe of the machine that this runs on: its name, torch's own report beside it, no null without a reason."""
    found = machine.probe(tmp_path / "probe.json")
    assert re.fullmatch(r"MACH-\d{8}T\d{6}Z-[0-9a-f]{12}", found["id"])
    assert "PyTorch version" in (tmp_path / "collect_env.txt").read_text()
    assert nulls(found["facts"]) == found["unknown"].keys() - {"collect_env"}
    assert all(found["unknown"].values())
