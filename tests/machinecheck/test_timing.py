"""Blocks are drained and long enough; the timed cells give what their rates are derived from."""

from __future__ import annotations

import time

import pytest
from judged import judged

from machinecheck import faults, timing
from machinecheck.cells import soak, throughput
from machinecheck.devices import open_device
from tachograph.machine.verdict import Verdict


def test_missing_synchronisation_is_seen():
    """A block whose device still works after the clock stopped says so; the synchronised one is right."""
    background = timing.Background()
    runs = [background.queued(lambda: time.sleep(0.05))]
    waited = timing.time_block(runs, 2, background)
    assert waited.drained
    assert waited.seconds >= 0.1
    forgotten = timing.time_block(runs, 2, timing.Unsynchronised(background))
    assert not forgotten.drained
    assert forgotten.seconds < 0.05
    background.drain()


def test_blocks_are_long_enough():
    """However short a call, a block is at least as long as asked."""
    cpu = open_device("cpu")
    calls = timing.calls_per_block([lambda: None], cpu, 0.01)
    assert timing.time_at_least([lambda: None], calls, cpu, 0.02).seconds >= 0.02


def test_a_slow_first_call_does_not_shorten_blocks():
    """The first call, which loads and chooses kernels, is not taken for the length of the others."""
    calls = []

    def run():
        time.sleep(0.001 if calls else 0.2)
        calls.append(None)

    found = timing.calls_per_block([run], open_device("cpu"), 0.05)
    assert 10 <= found <= 55


def test_matmul_throughput_cell():
    """The real cell gives a positive burst and sustained rate in eight parts, and has looked at its product."""
    measured = throughput.matmul(size="128", bursts=1, blocks=2, idle=0.0, lead=0.0, window=0.4)
    found = judged("throughput", measured)
    assert found.verdict in (Verdict.PASS, Verdict.WARN), found.reasons
    assert measured["flop_per_call"] == 2 * 128**3
    assert found.derived["burst"]["rate"] > 0
    assert found.derived["sustained"]["used"] == 8
    assert [one["elements"] for one in measured["comparisons"].values()] == [16]


def test_fast_wrong_product_fails(monkeypatch):
    """A NaN in the timed product fails the throughput cell, wherever it is."""
    monkeypatch.setenv(faults.VARIABLE, faults.NAN)
    found = judged("throughput", throughput.matmul(size="64", bursts=1, blocks=1, idle=0.0, lead=0.0, window=0.4))
    assert found.verdict is Verdict.FAIL
    assert "elements of the product are not finite" in " ".join(found.reasons)


def test_training_throughput_cell():
    """Samples per second, stages that add up to their step, and a share of memory between 0 and 1."""
    measured = throughput.training(channels=16, batch=4, seconds=0.1, blocks=2, stage_steps=1)
    found = judged("throughput", measured)
    assert found.verdict is Verdict.PASS, found.reasons
    assert found.derived["samples_per_second"]["bound"] == "≥"
    assert 0 < found.derived["memory_share"] < 1
    assert set(measured["stage_seconds_per_step"]) == {"forward", "backward", "optimiser", "python remainder"}


class Properties:
    """Torch's properties of an APU: the 512 MiB that some stacks show, at PCI address 0000:c5:00."""

    pci_domain_id, pci_bus_id, pci_device_id = 0, 0xC5, 0
    gcnArchName = "gfx1151:sramecc-"  # noqa: N815 - torch's name
    total_memory = 536870912


@pytest.fixture
def apu_folder(tmp_path):
    """Sysfs of an APU beside its sound device."""
    folder = tmp_path / "bus/pci/devices/0000:c5:00.0"
    folder.mkdir(parents=True)
    (tmp_path / "bus/pci/devices/0000:c5:00.1").mkdir()
    (folder / "mem_info_vram_total").write_text("536870912\n")
    (folder / "mem_info_gtt_total").write_text("101940000000\n")
    return tmp_path


def test_memory_of_an_apu_is_the_shared_pool(apu_folder):
    """D26: the share of memory is of the 94.94 GiB pool, not of the 512 MiB carve-out that torch may show."""
    found = throughput.device_memory(Properties, True, apu_folder)
    assert found == {"total_bytes": 101_940_000_000, "of": "the pool shared with the processor"}


def test_memory_of_a_card_is_its_own(apu_folder, tmp_path):
    """Of a card, or where sysfs says nothing, it is what torch says."""
    own = {"total_bytes": 536870912, "of": "the device's own memory"}
    assert throughput.device_memory(Properties, False, apu_folder) == own
    assert throughput.device_memory(Properties, True, tmp_path / "nothing") == own
    card = type("Card", (Properties,), {"gcnArchName": "gfx942"})
    assert throughput.device_memory(card, True, apu_folder) == own


def test_soak_cell_learns():
    """On a fixed batch the loss falls and all parameters stay finite; how steady the host is, is not asked."""
    found = judged("soak", soak.training(steps=20, channels=16, batch=8))
    assert [reason for reason in found.reasons if not reason.startswith("slowed down: ")] == []
    assert found.verdict is (Verdict.WARN if found.reasons else Verdict.PASS)
    assert found.derived["last_loss"] < found.derived["first_loss"]
    assert found.derived["speed_last_over_first"] > 0
