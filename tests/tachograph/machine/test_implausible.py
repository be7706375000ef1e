"""D29: rates that cannot be true fail their cells, and verdict, tables and sentences agree on it."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest
from measured_cells import cell_of, file_of, host

from tachograph.machine import findings
from tachograph.machine.measured import measured_cells
from tachograph.machine.sections import rows
from tachograph.machine.selftest import selftest
from tachograph.machine.summary import summary
from tachograph.models.bounds import Bounds
from tachograph.models.machine import Quiet

PEAKS = {"iGPU": {"fp32": 59.4}}
POSTED = [(128, 8.738134), (512, 516.2)]  # (size, TFLOP/s), each 2 N³ over half a microsecond


def timed(size, rate, calls, fault=None):
    """A cell and its file: blocks of ``calls`` products that took as long as ``rate`` TFLOP/s says."""
    flop = 2.0 * size**3
    block = {"calls": calls, "seconds": calls * flop / (rate * 1e12), "drained": True}
    looked = {"elements": 16, "nonfinite": 0, "wrong": 0, "ratio": 0.5}
    numbers = {"flop_per_call": flop, "blocks": {"burst": [block] * 5, "sustained": [block] * 8}}
    numbers |= {"comparisons": {"C": looked}, "nonfinite_elements": 0}
    settings = {"size": str(size), "dtype": "fp32"}
    record = {"settings": {"device": "cuda:0", **settings}, "device_name": "iGPU", "fault": fault, "measured": numbers}
    file = file_of(record=record | {"host": host()}) | {"ended": {**file_of()["ended"], "seconds": 1.0}}
    return cell_of(
        "throughput", "matmul", settings, fault=fault, name=f"rate-{size}{'-planted' if fault else ''}"
    ), file


def studied(*timings):
    """Cells, rows, summary and sentences of one study with these cells."""
    cells = [cell for cell, _ in timings]
    device = {"device": {"name": "cuda:0"}}
    runs = [
        SimpleNamespace(planned=SimpleNamespace(arm=cell.name), content=lambda f=file: f, facts=device)
        for cell, file in timings
    ]
    measured = measured_cells(SimpleNamespace(of_role=lambda role: runs), cells, Bounds(), Quiet(), PEAKS)
    sections = {"rows": rows(measured), "selftest": selftest(measured, {})}
    sections["summary"] = summary(measured, sections["selftest"], "as-installed")
    return measured, sections, findings.findings(measured, sections, "as-installed")


def test_both_posted_rows_are_rejected():
    """8.738134 took 0.48 µs, below the timer; 516.2 is above the peak besides. Neither leaves a number anywhere."""
    measured, sections, said = studied(*(timed(size, rate, calls=1) for size, rate in POSTED))
    small, large = ("; ".join(one.reasons) for one in measured)
    assert [one.verdict for one in measured] == ["FAIL", "FAIL"]
    assert "below timer resolution: 4.8e-07 s" in small
    assert "above peak" not in small
    assert "above peak: 516.2, declared peak 59.4" in large
    assert sections["summary"]["verdict"] == "FAIL"
    for row in sections["rows"]["matmul"]:
        assert {row[name] for name in ("burst", "sustained", "min", "median", "max", "share_of_peak")} == {None}
    assert said[0].startswith("Verdict: FAIL.")
    assert any("0 of 2 throughput cells gave a rate to rely on; 2 wrong" in sentence for sentence in said)


def test_a_rate_above_the_peak_in_long_blocks_is_rejected():
    """Blocks long enough for the clock do not help a rate that the device cannot reach."""
    measured, sections, _ = studied(*(timed(size, rate, calls=10**6) for size, rate in POSTED))
    assert [one.verdict for one in measured] == ["PASS", "FAIL"]
    assert measured[1].reasons[0] == "burst: rejected: above peak: 516.2, declared peak 59.4"
    small, large = sections["rows"]["matmul"]
    assert small["share_of_peak"] == pytest.approx(8.738134 / 59.4)
    assert {large[name] for name in ("burst", "sustained", "min", "median", "max")} == {None}


def test_identical_rates_fail():
    """Two sizes at 8.738134 TFLOP/s to the last digit: both FAIL by name, in verdict, table and sentences alike."""
    measured, sections, said = studied(
        timed(128, 8.738134, calls=2**17), timed(256, 8.738134, calls=2**14), timed(512, 9.0, calls=2**12)
    )
    assert [one.verdict for one in measured] == ["FAIL", "FAIL", "PASS"]
    assert measured[0].reasons == [
        "burst: rejected: identical to rate-256 to the last digit: 8.738134",
        "sustained: rejected: identical to rate-256 to the last digit: 8.738134",
    ]
    first, second, third = sections["rows"]["matmul"]
    for row in (first, second):
        assert {row[name] for name in ("burst", "sustained", "min", "median", "max")} == {None}
        assert row["status"].startswith("rejected: identical to rate-")
    assert third["sustained"] == pytest.approx(9.0)
    assert sections["rows"]["cells"][0]["verdict"] == sections["summary"]["verdict"] == "FAIL"
    assert any("1 of 3 throughput cells gave a rate to rely on; 2 wrong" in sentence for sentence in said)


def test_a_planted_cell_makes_no_twin():
    """A fault is planted into the same product: that both take the same time speaks against neither."""
    measured, _, _ = studied(timed(128, 8.738134, 2**17), timed(128, 8.738134, 2**17, fault="x"))
    assert [one.verdict for one in measured] == ["PASS", "PASS"]


def test_numbers_of_another_device_are_not_those_of_the_cell():
    """A checker that fell back to the processor measured it, not the accelerator that it was told to use."""
    cell, file = timed(4096, 20.0, calls=100)
    file["record"]["settings"]["device"] = "cpu"
    (one,), _, _ = studied((cell, file))
    assert (one.outcome, one.verdict) == ("unreadable", "INCOMPLETE")
    assert one.reasons == ["settings.device: found 'cpu', expected 'cuda:0', which was asked for"]
    (one,), _, _ = studied((replace(cell, place="host"), file))
    assert one.outcome == "done"
