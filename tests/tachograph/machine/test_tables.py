"""Rows of a machine study: what is a lower bound, what is withdrawn, what gives no number."""

from __future__ import annotations

import pytest
from measured_cells import cell_of, ended, matmul, measured, training

from tachograph.machine import ratios, tables
from tachograph.machine.contention import contention
from tachograph.models.machine import Quiet


def test_contended_rates_are_lower_bounds():
    """A contended rate is marked ≥ and held back, and so is one of which nobody knows."""
    rows = tables.training([training(64, 256, "cuda:0", 7360.0, foreign=5.0), training(64, 256, "cpu", 5892.0)])
    assert [row["mark"] for row in rows] == ["≥", "≥"]  # best of several, in any case
    assert [row["held_back"] for row in rows] == ["re-measure on an idle host", None]
    assert tables.matmul([matmul("64", "fp32", 1.0)])[0]["mark"] == ""
    assert tables.matmul([matmul("64", "fp32", 1.0, foreign=None)])[0]["mark"] == "≥"


@pytest.mark.parametrize(
    ("foreign", "withheld"),
    [
        (0.0, None),
        (5.0, "measured one after the other, and the host was not quiet"),
        (None, "measured one after the other, and whether the host was quiet is not known"),
    ],
)
def test_ratio_of_rates_that_work_beside_may_have_lowered_is_withheld(foreign, withheld):
    """Rates are not measured in turns: where one host was not shown to be quiet there is no ratio, but a reason."""
    rows = tables.training([training(64, 256, "cuda:0", 7360.0, foreign=foreign), training(64, 256, "cpu", 5888.0)])
    (ratio,) = ratios.speed_ups(rows)
    assert (ratio["speed_up"], ratio["withheld"]) == (None if withheld else 1.25, withheld)
    formats = tables.matmul([matmul("64", "bf16", 3.0, foreign=foreign), matmul("64", "fp32", 2.0)])
    (ratio,) = ratios.format_ratios(formats)
    assert (ratio["ratio"], ratio["withheld"]) == (None if withheld else 1.5, withheld)


def test_ratio_of_an_unsteady_window_is_withheld():
    """A quiet host whose window was not steady gives no ratio either."""
    fast, slow = matmul("64", "bf16", 3.0), matmul("64", "fp32", 2.0)
    slow.record["measured"]["sustained"]["steady"] = False
    (ratio,) = ratios.format_ratios(tables.matmul([fast, slow]))
    assert (ratio["ratio"], ratio["withheld"]) == (None, "measured one after the other, and a window was not steady")


def test_quiet_is_what_the_study_registered():
    """The same load is quiet under one registered condition and not under another."""
    record = training(64, 256, "cpu", 1.0, foreign=3.0).record
    assert contention(record, Quiet(foreign_share=0.1)).contended is False
    strict = contention(record, Quiet(foreign_share=0.05))
    assert strict.contended is True
    assert strict.because == ("other programs used 3.00 of 32 processors",)


def test_stolen_time_and_programs_on_the_device_are_contention():
    """A hypervisor that takes time and a foreign program on the device both count; an unreadable list is not none."""
    record = training(64, 256, "cuda:0", 1.0).record
    stolen = {**record["host"], "stolen_processors": {"mean": 0.5, "min": 0.5, "max": 0.5}}
    assert contention({"host": stolen}, Quiet()).because == ("the hypervisor took 0.50 of 32 processors",)
    user = {**record["host"], "device_users": [{"pid": 226424, "name": "llama-server"}]}
    assert contention({"host": user}, Quiet()).because == ("process 226424 (llama-server) computed on the device",)
    assert contention({"host": {**record["host"], "device_users": None}}, Quiet()).contended is None
    assert contention({"host": {**record["host"], "device_users": []}}, Quiet()).contended is False


def test_crashed_cells_give_no_numbers():
    """A cell that crashed has no row of rates, and a row without numbers among the correctness cells."""
    assert tables.training([ended("throughput", "training", {}, "crashed", signal="SIGSEGV")]) == []
    (row,) = tables.correctness([ended("correctness", "matmul", {}, "crashed", signal="SIGSEGV")])
    assert (row["outcome"], row["relative"], row["nonfinite"]) == ("crashed", None, None)


def test_workarounds_are_told_apart():
    """What crashes as installed and is right with a preloaded library is told for both arms."""
    rows = tables.workarounds(
        [
            ended("correctness", "matmul", {"size": "64"}, "crashed", signal="SIGSEGV"),
            ended("correctness", "matmul", {"size": "64"}, "done", "PASS", arm="preloaded"),
            measured("correctness", "integers", {}, {}),
        ]
    )
    assert [(row["arm"], row["outcome"], row["signal"], row["verdict"]) for row in rows] == [
        ("as-installed", "crashed", "SIGSEGV", "INCOMPLETE"),
        ("preloaded", "done", None, "PASS"),
    ]
    assert {row["cell"] for row in rows} == {cell_of("correctness", "matmul", {"size": "64"}).name}
