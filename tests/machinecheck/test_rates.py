"""Throughput numbers that cannot be true are rejected; burst, sustained and best-of-N mean what they say."""

from __future__ import annotations

import time

import pytest

from machinecheck import faults, rates, timing
from machinecheck.cells import soak, throughput
from machinecheck.devices import open_device
from machinecheck.rates import Block
from machinecheck.verdict import Verdict


def test_implausible_cells_are_rejected():
    """D29: 8.738134 TFLOP/s at 128 took 0.48 µs: below the timer."""
    small, large = rates.matmul_flop(128, 128, 128) / 1e12, rates.matmul_flop(512, 512, 512) / 1e12
    assert small / 8.738134 == pytest.approx(0.48e-6, rel=0.01)
    assert rates.implausible(8.738134, small, None).startswith("below timer resolution: 4.8e-07 s")
    assert rates.implausible(27.76, large, 0.06) is None


def test_all_samples_rejected_is_not_a_number():
    """D29: a filter that leaves nothing gives "no valid samples" and null, never NaN."""
    short = [Block(1, 1e-6)] * 3
    for found in (rates.burst(short, 1.0), rates.sustained(short, 1.0), rates.best(short, 1.0, 0.05)):
        assert found["rate"] is None
        assert found["status"].startswith("no valid samples: below timer resolution")
    assert rates.burst([], 1.0)["status"] == "no valid samples: none taken"


def test_burst_is_the_median_of_the_five_fastest_at_full_clock():
    """Of blocks at 97 % of the highest clock or more, the median of the five fastest."""
    seconds = [1.0, 1.1, 1.2, 1.3, 1.4, 2.0, 0.5]
    clocks = [2900, 2899, 2880, 2870, 2860, 2890, 1000]
    blocks = [Block(10, s, True, float(c)) for s, c in zip(seconds, clocks, strict=True)]
    found = rates.burst(blocks, 1.0)
    assert found["rate"] == pytest.approx(10 / 1.2)
    assert (found["blocks"], found["used"]) == (7, 6)


def test_sustained_is_all_work_over_all_time():
    """2 of 3 in 1 s and 1 in 2 s is 1 per second, not the mean of rates; a slowing window is not steady."""
    found = rates.sustained([Block(2, 1.0), Block(1, 2.0)], 1.0)
    assert found["rate"] == pytest.approx(1.0)
    assert found["steady"] is False
    level = rates.sustained([Block(100, 1.0), Block(100, 1.005)] * 4, 1.0)
    assert level["steady"] is True
    slowing = rates.sustained([Block(100, 1 + 0.005 * index) for index in range(8)], 1.0)
    assert slowing["second_half_slower"] > 0.01
    assert slowing["steady"] is False


def test_best_of_is_a_lower_bound():
    """Best-of-N is the fastest block, marked as a lower bound, with the others beside it."""
    found = rates.best([Block(10, 1.0), Block(10, 2.0), Block(10, 4.0)], 256, 0.5)
    assert (found["rate"], found["median"], found["min"], found["bound"]) == (2560, 1280, 640, "≥")


def test_missing_synchronisation_is_seen():
    """A block whose device still works after the clock stopped is unusable; the synchronised one is right."""
    background = timing.Background()
    runs = [background.queued(lambda: time.sleep(0.05))]
    waited = timing.time_block(runs, 2, background)
    assert waited.drained
    assert waited.seconds >= 0.1
    forgotten = timing.time_block(runs, 2, timing.Unsynchronised(background))
    assert not forgotten.drained
    assert forgotten.seconds < 0.05
    assert rates.unusable(forgotten) == "not synchronised: work was still pending when the clock was stopped"
    background.drain()


def test_blocks_are_long_enough():
    """However short a call, a block is at least as long as asked."""
    cpu = open_device("cpu")
    calls = timing.calls_per_block([lambda: None], cpu, 0.01)
    assert timing.time_at_least([lambda: None], calls, cpu, 0.02).seconds >= 0.02


def test_matmul_throughput_cell():
    """The real cell gives a positive burst and sustained rate and has looked at its product."""
    found = throughput.matmul(size="128", bursts=1, blocks=2, idle=0.0, lead=0.0, window=0.4)
    assert found.verdict in (Verdict.PASS, Verdict.WARN), found.reasons
    assert found.measured["burst"]["rate"] > 0
    assert found.measured["sustained"]["subwindows"] == 8
    assert found.measured["output"]["elements"] == 16


def test_fast_wrong_product_fails(monkeypatch):
    """A NaN in the timed product fails the throughput cell, wherever it is."""
    monkeypatch.setenv(faults.VARIABLE, faults.NAN)
    found = throughput.matmul(size="64", bursts=1, blocks=1, idle=0.0, lead=0.0, window=0.4)
    assert found.verdict is Verdict.FAIL
    assert "elements of the product are not finite" in " ".join(found.reasons)


def test_training_throughput_cell():
    """Samples per second, stages that add up to their step, and a share of memory between 0 and 1."""
    found = throughput.training(channels=16, batch=4, seconds=0.1, blocks=2, stage_steps=1)
    assert found.verdict is Verdict.PASS, found.reasons
    assert found.measured["samples_per_second"]["bound"] == "≥"
    assert 0 < found.measured["memory"]["share"] < 1
    stages = found.measured["stage_seconds_per_step"]
    assert set(stages) == {"forward", "backward", "optimiser", "python remainder"}


def test_soak_cell_learns():
    """On a fixed batch the loss falls and all parameters stay finite."""
    found = soak.training(steps=20, channels=16, batch=8)
    assert found.verdict is Verdict.PASS, found.reasons
    assert found.measured["last_loss"] < found.measured["first_loss"]


def test_soak_counts_bad_steps():
    """NaN in steps 3 and 7 of 202 is "2/202 (0.99%)", first at step 3; a rising loss fails."""
    losses: list[float | None] = [1.0] * 202
    losses[2] = losses[6] = None
    verdict, reasons = soak.judge(losses, 0)
    assert verdict is Verdict.FAIL
    assert reasons == ["2/202 (0.99%) losses not finite, first at step 3"]
    assert soak.judge([2.948, 0.003], 0)[0] is Verdict.PASS
    assert soak.judge([1.0, 1.5], 0) == (Verdict.FAIL, ["the loss did not fall: 1 at first, 1.5 at last"])
    assert soak.judge([2.0, 1.0], 4)[0] is Verdict.FAIL
