"""Rates that cannot be true are rejected; burst, sustained and best-of-N mean what they say."""

from __future__ import annotations

import pytest

from tachograph.machine import throughput
from tachograph.machine.cellrecord import Block
from tachograph.models.bounds import Bounds

BOUNDS = Bounds()
SHORT = Bounds(block_seconds=1e-9)


def block(calls, seconds, drained=True, clock=None):
    """Calls timed together."""
    return Block(calls=calls, seconds=seconds, drained=drained, clock_mhz=clock)


def test_implausible_cells_are_rejected():
    """D29: 8.738134 TFLOP/s at 128 took 0.48 µs: below the timer."""
    seconds = 2 * 128**3 / 8.738134e12
    assert seconds == pytest.approx(0.48e-6, rel=0.01)
    assert throughput.unusable(block(1, seconds), BOUNDS).startswith("below timer resolution: 4.8e-07 s")
    assert throughput.unusable(block(1, 0.06), BOUNDS) is None
    late = throughput.unusable(block(1, 0.06, drained=False), BOUNDS)
    assert late == "not synchronised: work was still pending when the clock was stopped"


def test_all_samples_rejected_is_not_a_number():
    """D29: a filter that leaves nothing gives "no valid samples" and null, never NaN."""
    short = [block(1, 1e-6)] * 3
    for rate in (throughput.burst, throughput.sustained, throughput.best):
        found = rate(short, 1.0, BOUNDS)
        assert found["rate"] is None
        assert found["status"].startswith("no valid samples: below timer resolution")
        assert rate([], 1.0, BOUNDS)["status"] == "no valid samples: none taken"


def test_burst_is_the_median_of_the_five_fastest_at_full_clock():
    """Of blocks at 97 % of the highest clock or more, the median of the five fastest."""
    seconds = [1.0, 1.1, 1.2, 1.3, 1.4, 2.0, 0.5]
    clocks = [2900, 2899, 2880, 2870, 2860, 2890, 1000]
    blocks = [block(10, s, clock=float(c)) for s, c in zip(seconds, clocks, strict=True)]
    found = throughput.burst(blocks, 1.0, BOUNDS)
    assert found["rate"] == pytest.approx(10 / 1.2)
    assert (found["blocks"], found["used"]) == (7, 6)


def test_sustained_is_all_work_over_all_time():
    """2 of 3 in 1 s and 1 in 2 s is 1 per second, not the mean of rates; a slowing window is not steady."""
    found = throughput.sustained([block(2, 1.0), block(1, 2.0)], 1.0, BOUNDS)
    assert found["rate"] == pytest.approx(1.0)
    assert found["steady"] is False
    level = throughput.sustained([block(100, 1.0), block(100, 1.005)] * 4, 1.0, BOUNDS)
    assert level["steady"] is True
    slowing = throughput.sustained([block(100, 1 + 0.005 * index) for index in range(8)], 1.0, BOUNDS)
    assert slowing["second_half_slower"] > 0.01
    assert slowing["steady"] is False


def test_best_of_is_a_lower_bound():
    """Best-of-N is the fastest block, marked as a lower bound, with the others beside it."""
    found = throughput.best([block(10, 1.0), block(10, 2.0), block(10, 4.0)], 256, BOUNDS)
    assert (found["rate"], found["median"], found["min"], found["bound"]) == (2560, 1280, 640, "≥")
