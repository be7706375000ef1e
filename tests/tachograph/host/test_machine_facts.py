"""Facts of the machine and of the driver, from the files and programs of a system that is made up."""

from __future__ import annotations

import platform
import re
import sys
import sysconfig
from pathlib import Path

import psutil
import pytest

from tachograph.files import digest, read_json
from tachograph.host.device import Device
from tachograph.host.driver import driver_version
from tachograph.host.machine import machine_facts
from tachograph.host.tools import output_of

PROCESSOR = Device("cpu", "cpu", "cpu-0", "a processor")
# Documentation of NVIDIA's driver (README, chapter on the /proc interface), and of its open modules.
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\nGCC version: gcc 12"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U16)\n"


@pytest.mark.parametrize(
    ("kind", "files", "expected"),
    [
        ("cpu", {"sys/module/nvidia/version": "570.86.15\n"}, {}),
        ("cuda", {"sys/module/nvidia/version": "570.86.15\n"}, {"nvidia driver": "570.86.15"}),
        ("cuda", {"proc/driver/nvidia/version": CLOSED}, {"nvidia driver": "535.129.03"}),
        ("cuda", {"proc/driver/nvidia/version": OPEN}, {"nvidia driver": "570.86.15"}),
        ("cuda", {}, {"nvidia driver": None}),
        ("rocm", {"sys/module/amdgpu/version": "6.10.5\n"}, {"amdgpu driver": "6.10.5"}),
        ("rocm", {"sys/module/amdgpu/refcnt": "1"}, {"amdgpu driver": f"of kernel {platform.release()}"}),
        ("rocm", {}, {"amdgpu driver": None}),
    ],
)
def test_driver_is_told_as_the_kernel_has_it(
    tmp_path: Path, kind: str, files: dict[str, str], expected: dict[str, str | None]
) -> None:
    """The version of the module, of NVIDIA's also in its other place; what nobody tells is unknown and not empty."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    assert driver_version(Device("cuda:0", kind, "gpu-x", "a card"), tmp_path) == expected


NESTED = """{"lscpu": [
    {"field": "Architecture:", "data": "x86_64", "children": [{"field": "Byte Order:", "data": "Little Endian"}]},
    {"field": "Caches (sum of all):", "data": null, "children": [{"field": "L2:", "data": "2 MiB (2 instances)"}]},
    {"field": "Flags:", "data": "fpu vme"}]}"""


def facts(folder: Path) -> dict[str, object]:
    probe = folder / "probe.py"
    probe.write_text("print('{}')")
    found = machine_facts(PROCESSOR, probe)["lscpu"]
    assert isinstance(found, dict)
    return found


def test_processor_is_described_as_by_lscpu(tmp_path: Path) -> None:
    """Its names and values are in machine.json, and fit what the kernel tells by itself; flags are left out."""
    if not isinstance(output_of(["lscpu", "-J"]), str):
        pytest.skip("this machine has no lscpu that prints JSON")
    found = facts(tmp_path)
    assert found["Architecture"] == platform.machine()
    assert found["CPU(s)"] == str(psutil.cpu_count(logical=True))
    assert "Flags" not in found


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        (NESTED, {"Architecture": "x86_64", "Byte Order": "Little Endian", "L2": "2 MiB (2 instances)"}),
        ("no JSON", {"value": None}),
        ('{"lscpu": 7}', {"value": None}),
    ],
)
def test_any_lscpu_is_read_or_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: str, expected: dict[str, object]
) -> None:
    """Newer versions nest their fields; what is no list of fields is unknown with a reason."""
    program = tmp_path / "lscpu"
    program.write_text(f"#!{sys.executable}\nprint({printed!r})\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    found = facts(tmp_path)
    assert {key: value for key, value in found.items() if key != "reason"} == expected
    assert ("reason" in found) is (expected == {"value": None})


def test_everything_installed_is_listed_and_named_by_a_digest(executed: Path) -> None:
    """A package that only some trainer imports is part of what its runs were made with, like those known by name."""
    listed = read_json(executed / "results/stub/machine.json")["distributions"]
    installed = list(Path(sysconfig.get_path("purelib")).glob("*.dist-info"))
    assert len(installed) > 20
    for folder in installed:  # NAME-VERSION.dist-info, by the specification of wheels
        name, version = folder.name.removesuffix(".dist-info").split("-")
        assert listed[re.sub(r"[-_.]+", "-", name).lower()] == version
    software = read_json(executed / "results/stub/runs/fast/seed0/run.json")["software"]
    assert software["all packages"] == digest(listed)[:16]
    assert software["numpy"] == listed["numpy"]
