"""A device is found cheaply, and one card has one name however it is looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tachograph.errors import TachographError
from tachograph.host.cards import visible_cards
from tachograph.host.device import Device, resolve_device

UUID = [f"{i}1111111-2222-3333-4444-555555555555" for i in range(3)]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """An empty machine."""
    (tmp_path / "root/dev").mkdir(parents=True)
    (tmp_path / "root/proc").mkdir()
    return tmp_path / "root"


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fake nvidia-smi on PATH that leaves a trace when it is called; a test writes what it does."""
    path = tmp_path / "bin" / "nvidia-smi"
    path.parent.mkdir()
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")
    return path


def fake(tool: Path, script: str) -> None:
    tool.write_text(f"#!/bin/sh\necho called >> {tool.parent}/trace\n{script}\n")
    tool.chmod(0o755)


def nvidia(root: Path, uuids: list[str], models: list[str] | None = None) -> None:
    for i, uuid in enumerate(uuids):
        folder = root / f"proc/driver/nvidia/gpus/0000:0{i}:00.0"
        folder.mkdir(parents=True)
        model = models[i] if models else "NVIDIA H200"
        text = f"Model: \t\t {model}\nIRQ:   \t\t 42\nGPU UUID: \t {uuid}\nBus Location: \t 0000:0{i}:00.0\n"
        (folder / "information").write_text(text + f"Device Minor: \t {i}\n")
        (root / f"dev/nvidia{i}").touch()


def amd(root: Path, node: int, location: int, minor: int, unique: int = 0, simds: int = 80) -> None:
    folder = root / f"sys/class/kfd/kfd/topology/nodes/{node}"
    folder.mkdir(parents=True)
    (folder / "name").write_text("gfx1151\n" if simds else "\n")
    (folder / "gpu_id").write_text(f"{1000 + node if simds else 0}\n")
    (folder / "properties").write_text(
        f"cpu_cores_count {0 if simds else 16}\nsimd_count {simds}\nlocation_id {location}\ndomain 0\n"
        f"unique_id {unique}\ndrm_render_minor {minor}\n"
    )
    (root / "dev/kfd").touch()
    if minor:
        (root / "dev/dri").mkdir(exist_ok=True)
        (root / f"dev/dri/renderD{minor}").touch()


def test_processor_is_found_without_starting_anything(root: Path, tool: Path) -> None:
    """For cpu no program is run, though a tool for GPUs is there."""
    fake(tool, "exit 1")
    (root / "proc/cpuinfo").write_text("processor\t: 0\nmodel name\t: Fast One\n\nprocessor\t: 1\n")
    device = resolve_device("cpu", root=root, environ={})
    assert device == Device("cpu", "cpu", "cpu-0", "Fast One, 2 logical processors")
    assert not (tool.parent / "trace").exists()


def test_auto_on_a_machine_without_gpu(root: Path) -> None:
    """auto is the processor where no driver shows a card."""
    assert resolve_device("auto", root=root, environ={}).name == "cpu"


@pytest.mark.parametrize("script", ["echo '226424, /usr/local/lib/ollama/llama-server, 1328 MiB'", "exit 9"])
def test_auto_where_the_tool_shows_no_card(root: Path, tool: Path, script: str) -> None:
    """An nvidia-smi without a card behind it (no device file) makes no GPU."""
    fake(tool, script)
    assert resolve_device("auto", root=root, environ={}).name == "cpu"


@pytest.mark.parametrize("name", ["", "gpu", "cuda", "cuda:", "cuda:01", "cuda:-1", "cuda:0\n", "CPU", "rocm:0"])
def test_unknown_names_are_refused(root: Path, name: str) -> None:
    """A name that is none of the three forms is refused with the forms."""
    with pytest.raises(TachographError, match="expected auto, cpu or cuda:N"):
        resolve_device(name, root=root, environ={})


def test_gpu_that_is_not_there(root: Path) -> None:
    """A GPU on a machine without one, or beyond the last, is refused with what there is."""
    with pytest.raises(TachographError, match="shows no GPU"):
        resolve_device("cuda:0", root=root, environ={})
    nvidia(root, [f"GPU-{UUID[0]}"])
    with pytest.raises(TachographError, match=r"1 GPU found, 1 visible: cuda:0"):
        resolve_device("cuda:1", root=root, environ={})
    with pytest.raises(TachographError, match="0 visible after CUDA_VISIBLE_DEVICES"):
        resolve_device("cuda:0", root=root, environ={"CUDA_VISIBLE_DEVICES": ""})


def test_nvidia_card_from_the_driver_alone(root: Path, tool: Path) -> None:
    """The driver's own files are enough; the name of the card is its UUID."""
    fake(tool, "exit 1")
    nvidia(root, [f"GPU-{UUID[0]}", f"GPU-{UUID[1].upper()}"])
    device = resolve_device("auto", root=root, environ={})
    assert device == Device("cuda:0", "cuda", f"gpu-{UUID[0]}", "NVIDIA H200 at 0000:00:00.0", "0000:00:00.0")
    assert resolve_device("cuda:1", root=root, environ={}).physical_id == f"gpu-{UUID[1]}"
    assert not (tool.parent / "trace").exists()


@pytest.mark.parametrize(
    "choice", ["1,0", f"GPU-{UUID[1]}", "GPU-1111", "gpu-11111111", "1,junk,0", f"MIG-GPU-{UUID[1]}/1/0"]
)
def test_two_views_of_one_card_share_a_name(root: Path, choice: str) -> None:
    """cuda:1 of all cards and cuda:0 of a program that sees only that one are the same physical card."""
    nvidia(root, [f"GPU-{uuid}" for uuid in UUID])
    whole = resolve_device("cuda:1", root=root, environ={})
    narrow = resolve_device("cuda:0", root=root, environ={"CUDA_VISIBLE_DEVICES": choice})
    assert narrow.physical_id == whole.physical_id == f"gpu-{UUID[1]}"
    assert narrow.name == "cuda:0"


@pytest.mark.parametrize("choice", ["", "-1", "3", "junk,1", "GPU-", "GPU-ffff"])
def test_hidden_cards_are_not_there(root: Path, choice: str) -> None:
    """Where the environment hides all cards, auto is the processor."""
    nvidia(root, [f"GPU-{uuid}" for uuid in UUID])
    assert resolve_device("auto", root=root, environ={"CUDA_VISIBLE_DEVICES": choice}).name == "cpu"


def test_instance_of_mig_is_leased_by_its_card(root: Path, tool: Path) -> None:
    """A MIG instance named by its own UUID stands for the card it is part of."""
    nvidia(root, [f"GPU-{uuid}" for uuid in UUID])
    (root / "proc/driver/nvidia/capabilities/gpu1/mig/gi2").mkdir(parents=True)
    fake(
        tool,
        f"echo 'GPU 0: NVIDIA H200 (UUID: GPU-{UUID[0]})'\n"
        f"echo 'GPU 1: NVIDIA H200 (UUID: GPU-{UUID[1]})'\n"
        "echo '  MIG 3g.71gb     Device  0: (UUID: MIG-aaaa)'\n"
        f"echo 'GPU 2: NVIDIA H200 (UUID: GPU-{UUID[2]})'",
    )
    device = resolve_device("cuda:0", root=root, environ={"CUDA_VISIBLE_DEVICES": "MIG-aaaa"})
    assert device.physical_id == f"gpu-{UUID[1]}"
    assert "divided by MIG" in device.description
    assert resolve_device("auto", root=root, environ={"CUDA_VISIBLE_DEVICES": "MIG-bbbb"}).name == "cpu"


def test_uuid_that_the_driver_does_not_know_yet(root: Path, tool: Path) -> None:
    """Question marks for a UUID: nvidia-smi is asked, and sorted by address whatever it prints first."""
    nvidia(root, ["GPU-????????-????-????-????-????????????"] * 2)
    fake(
        tool,
        f"echo 'GPU-{UUID[1]}, 00000000:01:00.0, [N/A], NVIDIA H200'\n"
        f"echo 'GPU-{UUID[0]}, 00000000:00:00.0, [N/A], NVIDIA H200'",
    )
    assert resolve_device("cuda:1", root=root, environ={}).physical_id == f"gpu-{UUID[1]}"


@pytest.mark.parametrize("script", ["exit 9", "echo garbage", "exec sleep 60"])
def test_card_that_cannot_be_named_is_an_error(
    root: Path, tool: Path, script: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A card is there, the tool fails or hangs: an error in bounded time, never the processor instead."""
    monkeypatch.setattr("tachograph.host.tools.output_of.__defaults__", (0.5,))
    (root / "dev/nvidia0").touch()
    fake(tool, script)
    with pytest.raises(TachographError, match="cannot be identified"):
        resolve_device("auto", root=root, environ={})


def test_without_uuid_and_tool_the_address_names_the_card(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nobody on the machine can have the UUID, the PCI address is everybody's name."""
    monkeypatch.setenv("PATH", "/nonexistent")
    nvidia(root, ["GPU-????????-????-????-????-????????????"])
    assert resolve_device("auto", root=root, environ={}).physical_id == "gpu-0000:00:00.0"


def test_mixed_models_need_an_order(root: Path) -> None:
    """CUDA numbers different models by speed, so that cuda:0 says nothing unless the order is fixed."""
    nvidia(root, [f"GPU-{uuid}" for uuid in UUID[:2]], ["NVIDIA H200", "NVIDIA T4"])
    with pytest.raises(TachographError, match="CUDA_DEVICE_ORDER=PCI_BUS_ID"):
        resolve_device("cuda:0", root=root, environ={})
    by_address = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    assert resolve_device("cuda:1", root=root, environ=by_address).physical_id == f"gpu-{UUID[1]}"
    one = {"CUDA_VISIBLE_DEVICES": "1"}
    assert resolve_device("cuda:0", root=root, environ=one).physical_id == f"gpu-{UUID[1]}"


def test_amd_cards_from_sysfs(root: Path) -> None:
    """AMD: from amdkfd's files alone; processors and cards of other containers are left out."""
    amd(root, 0, 0, 0, simds=0)
    amd(root, 1, location=0xC500, minor=128)  # an integrated GPU has no unique_id
    amd(root, 2, location=0x0308, minor=129, unique=0x1234ABCD)
    amd(root, 10, location=0x0400, minor=137)
    (root / "dev/dri/renderD129").rename(root / "dev/dri/hidden")
    device = resolve_device("auto", root=root, environ={})
    assert device == Device("cuda:0", "rocm", "gpu-0000:c5:00.0", "AMD gfx1151 at 0000:c5:00.0", "0000:c5:00.0")
    assert resolve_device("cuda:1", root=root, environ={}).physical_id == "gpu-0000:04:00.0"
    (root / "dev/dri/hidden").rename(root / "dev/dri/renderD129")
    assert resolve_device("cuda:1", root=root, environ={}).physical_id == "gpu-000000001234abcd"


def test_amd_choices_are_applied_in_turn(root: Path) -> None:
    """ROCR_VISIBLE_DEVICES first, then HIP_VISIBLE_DEVICES among the rest; CUDA's if HIP's is unset."""
    for i in range(3):
        amd(root, i, location=i << 8, minor=128 + i)

    def first(**environ: str) -> str:
        return resolve_device("cuda:0", root=root, environ=environ).physical_id

    assert first(HIP_VISIBLE_DEVICES="2") == "gpu-0000:02:00.0"
    assert first(CUDA_VISIBLE_DEVICES="1") == "gpu-0000:01:00.0"
    assert first(ROCR_VISIBLE_DEVICES="1,2", HIP_VISIBLE_DEVICES="1") == "gpu-0000:02:00.0"
    assert first(HIP_VISIBLE_DEVICES="1", CUDA_VISIBLE_DEVICES="0") == "gpu-0000:01:00.0"
    assert resolve_device("auto", root=root, environ={"HIP_VISIBLE_DEVICES": ""}).name == "cpu"


def test_this_machine_is_told_cheaply() -> None:
    """Whatever machine this is: auto gives a device, and the same twice."""
    assert resolve_device("auto") == resolve_device("auto")
    assert visible_cards([]) == []


def test_the_package_is_light_to_import() -> None:
    """Importing the lease loads neither torch nor numpy nor pandas."""
    code = (
        "import sys, tachograph.lease.acquire, tachograph.execution.supervise\n"
        "import tachograph.host.device, tachograph.host.sampler\n"
        "print(sorted({'torch', 'numpy', 'pandas', 'pydantic'} & set(sys.modules)))"
    )
    source = str(Path(__file__).parents[3] / "src")
    shown = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": source}, capture_output=True, text=True)
    assert shown.stdout.strip() == "[]", shown.stderr
