"""The arithmetic of document 003 comes out of the tables from its numbers."""

from __future__ import annotations

import pytest
from measured_cells import matmul, training

from machinecheck.metrics import relative_error
from tachograph.machine import rates, ratios, tables
from tachograph.machine.cellrecord import Training
from tachograph.machine.throughput import judge_training
from tachograph.models.bounds import Bounds

# batch → (GPU, CPU) samples/s
SAMPLES = {
    128: {256: (3481, 1697), 1024: (5113, 1693), 4096: (6283, 1400), 8192: (6150, 1392)},
    64: {256: (7360, 5892), 1024: (11405, 5039), 4096: (17450, 3708), 8192: (18726, 3617)},
}
SPEED_UPS = {128: (2.05, 3.02, 4.49, 4.42), 64: (1.25, 2.26, 4.71, 5.18)}
CLOCKS = {10.7: 2084.0, 20.6: 1577.0, 32.0: 1172.0, 41.0: 1059.0}
PEAK = 40 * 512 * 2.9 / 1e3  # TFLOP/s in bf16: compute units × operations per unit and clock × GHz (cases.md, D29)


def cells():
    """All training cells of document 003."""
    return [
        training(channels, batch, device, rate)
        for channels, batches in SAMPLES.items()
        for batch, pair in batches.items()
        for device, rate in zip(("cuda:0", "cpu"), pair, strict=True)
    ]


@pytest.mark.parametrize("channels", [128, 64])
def test_speed_ups(channels):
    """The eight speed-ups come out, with numerator, denominator and unit."""
    found = ratios.speed_ups(tables.training(cells()))
    rows = sorted((row["batch"], row) for row in found if row["channels"] == channels)
    assert tuple(round(row["speed_up"], 2) for _, row in rows) == SPEED_UPS[channels]
    assert {(row["numerator"], row["denominator"], row["unit"]) for _, row in rows} == {("cuda:0", "cpu", "samples/s")}


def test_rise_and_fall():
    """From batch 256 to 8,192 the GPU rises about 2.5 times and the CPU falls about 40 % (0.7M network)."""
    found = ratios.over_batches(tables.training(cells()))
    ratio = {row["device"]: row["ratio"] for row in found if row["channels"] == 64}
    assert {(row["from_batch"], row["to_batch"]) for row in found} == {(256, 8192)}
    assert round(ratio["cuda:0"], 2) == 2.54
    assert round(1 - ratio["cpu"], 2) == 0.39


def test_relative_error_of_the_matrix_product():
    """1.157519e-03 against a largest magnitude of 335.39 is a relative error of 3.451e-06."""
    assert f"{relative_error(1.157519e-03, 335.39):.3e}" == "3.451e-06"


def test_format_ratio():
    """bf16 over fp32 is 11.3 and 10.7 in the two sweeps; the quiet window was 1.8 times as fast."""
    busy = tables.matmul([matmul("4096", "bf16", 15.64), matmul("4096", "fp32", 1.39)])
    quiet = tables.matmul([matmul("4096", "bf16", 27.76), matmul("4096", "fp32", 2.60)])
    assert round(ratios.format_ratios(busy)[0]["ratio"], 1) == 11.3
    assert round(ratios.format_ratios(quiet)[0]["ratio"], 1) == 10.7
    assert round(rates.speed_up(27.76, 15.64), 1) == 1.8


def test_share_of_the_peak():
    """The fp32 path reaches about 5 % of its peak, half of the 59.4 TFLOP/s of bf16."""
    assert round(PEAK, 1) == 59.4
    (row,) = tables.matmul([matmul("4096", "fp32", 1.39, peak=PEAK / 2)])
    assert round(row["share_of_peak"], 2) == 0.05


def test_clock_over_load():
    """The clock falls by nearly half from a load of 10.7 to one of 41; rows are in the order of load."""
    measured = [
        training(64, 256 * (index + 1), "cuda:0", 1.0, load=load, clock=clock)
        for index, (load, clock) in enumerate(reversed(CLOCKS.items()))
    ]
    rows = tables.clocks(measured)
    assert {row["load"]: row["clock_mhz"] for row in rows} == CLOCKS
    assert [row["load"] for row in rows] == sorted(CLOCKS)
    (fall,) = ratios.clock_falls(rows)
    assert (fall["least_load"], fall["most_load"], round(fall["fall"], 2)) == (10.7, 41.0, 0.49)


def test_memory_share():
    """5.52 GiB are 5.81 % of the 94.94 GiB pool."""
    memory = {"peak_bytes": round(5.516 * 2**30), "total_bytes": 101_940_000_000, "of": "the pool"}
    stages = {"forward": 1.0, "backward": 1.0}
    block = {"calls": 1, "seconds": 1.0, "drained": True}
    numbers = {"samples_per_call": 8192, "parameters": 2_006_888, "last_loss": 1.0, "stage_seconds_per_step": stages}
    cell = Training.model_validate({**numbers, "memory": memory, "blocks": {"best": [block]}})
    assert round(judge_training(cell, Bounds()).derived["memory_share"], 4) == 0.0581
