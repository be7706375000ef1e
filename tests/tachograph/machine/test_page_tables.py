"""A reader finds on the page what was computed, in which unit, for how long, and where a result may be used."""

from __future__ import annotations

from typing import Any

import pytest
from measured_cells import measured, training

from tachograph.machine import ratios, tables
from tachograph.record import machine_page, machine_speed, machine_tables
from tachograph.record.words import OF_A_MACHINE, WORDS, words

SGEMM = {
    "size": "512",
    "form": "A@A.T",
    "library": "numpy",
    "dtype": "fp32",
    "repeats": 40,
    "threads": "1,2",
    "seed": 0,
}
COUNT = {"oversubscribed": False, "calls": 80, "distinct_results": 1, "differing_rate_upper_bound": 0.0375,
         "wrong_calls": 0}  # fmt: skip


def repeating(name: str, alike: bool | None) -> Any:
    """A cell that was measured at one and at two threads, at each of which it repeats."""
    counts = [{"threads": threads, **COUNT} for threads in (1, 2)]
    return measured("repeatability", "sgemm", SGEMM, {"by_threads": counts, "alike_over_threads": alike}, name=name)


def soak(seconds: float, series: dict[str, Any]) -> Any:
    """A soak of 200 steps."""
    numbers = {"steps": 200, "seconds": seconds, "first_loss": 2.948, "last_loss": 0.003, "nonfinite_parameters": 0,
               "speed_last_over_first": 0.99, "series": series}  # fmt: skip
    return measured("soak", "training", {"channels": 128, "batch": 1024, "dtype": "fp32"}, numbers)


def test_a_row_says_what_was_computed() -> None:
    """A verdict holds for one shape and format: both stand beside it; how often and on how many threads does not."""
    (row,) = tables.correctness([measured("correctness", "matmul", SGEMM, {})])
    assert row["of"] == "dtype=fp32, form=A@A.T, library=numpy, size=512"
    rows = tables.repeatability([repeating("race", True)])
    page = machine_tables.repeats({"rows": {"repeatability": rows}})
    assert page.count(f"| `{row['of']}` |") == 2


@pytest.mark.parametrize(
    ("alike", "said"),
    [
        ((True, True), "The same bytes at all their thread counts: `a`, `b`."),
        ((True, False), "The same bytes at all their thread counts: `a`. Other bytes at other thread counts: `b`."),
        ((None, False), "Other bytes at other thread counts: `b`."),
    ],
)
def test_what_depends_on_the_number_of_threads_is_named(alike: tuple[bool | None, bool], said: str) -> None:
    """Bytes that are other ones at another thread count may be compared only at the same count."""
    rows = tables.repeatability([repeating("a", alike[0]), repeating("b", alike[1])])
    assert machine_tables.repeats({"rows": {"repeatability": rows}}).endswith(f"\n\n{said}")


def test_one_thread_count_says_nothing_of_others() -> None:
    """A cell of a single thread count is named in neither sentence."""
    rows = tables.repeatability([repeating("a", None)])
    assert "thread counts:" not in machine_tables.repeats({"rows": {"repeatability": rows}})


@pytest.mark.parametrize(
    ("series", "caption"),
    [
        ({"load_average": [[0.0, 1.0]], "cpu_clock_mhz": [[0.0, 2596.0]]}, "Clock, load over the soak"),
        ({"power_watts": [[0.0, 33.0]], "temperature_celsius": [[0.0, 59.0]]}, "Temperature, power over the soak"),
    ],
)
def test_a_soak_is_told_with_its_time_its_network_and_what_sensors_gave(series: dict[str, Any], caption: str) -> None:
    """Two hundred steps are a second on one machine and an hour on another; a figure is called after what it shows."""
    cells = [soak(6.6, series)]
    page = machine_speed.lasts({"rows": {"soak": tables.soak(cells), "series": tables.series(cells)}})
    assert "| 128 channels, batch 1,024 | 200 | 6.6 |" in " ".join(page.split())
    assert f"![{caption}]" in page


def test_units_of_a_training_stand_on_the_page() -> None:
    """Rates of the stages have a unit, memory is of something, and each condition is explained once."""
    rows = {"matmul": [], "training": tables.training([training(64, 256, "cpu", 900.0)]), "speedups": [], "batches": [],
            "clocks": []}  # fmt: skip
    page = machine_speed.speed({"rows": rows})
    assert "forward alone, samples/s" in page
    assert "held, of main memory." in page
    assert page.count(machine_speed.CONDITIONS_ARE) == 1


@pytest.mark.parametrize(
    ("clock", "said"), [(1059.0, "49.2% lower."), (2299.0, "10.3% higher."), (2084.0, "it tells nothing.")]
)
def test_clock_over_load_is_told_in_numbers(clock: float, said: str) -> None:
    """Document 003's 2,084 MHz at a load of 10.7 and 1,059 at 41 are nearly half; a constant clock is no fall."""
    cells = [training(64, batch, "cuda:0", 900.0, load=load, clock=mhz) for batch, load, mhz in
             ((64, 10.7, 2084.0), (256, 41.0, clock))]  # fmt: skip
    clocks = tables.clocks(cells)
    rows = {"matmul": [], "training": [], "clocks": clocks, "clock_falls": ratios.clock_falls(clocks)}
    page = machine_speed.speed({"rows": rows | {"training": tables.training(cells), "speedups": [], "batches": []}})
    assert page.endswith(said)


def test_clock_that_stood_or_came_back_did_not_fall() -> None:
    """From 0 MHz, which a sleeping device gives, nothing falls; where the ends are alike no fall is told."""

    def falls(*clocks: float) -> list[dict[str, Any]]:
        cells = [training(64, batch, "cuda:0", 900.0, load=batch, clock=mhz) for batch, mhz in enumerate(clocks, 1)]
        return ratios.clock_falls(tables.clocks(cells))

    assert falls(0.0, 2084.0) == []
    assert machine_speed._clock_fall(falls(2084.0, 1059.0, 2084.0)[0]).endswith("the highest (3.00): the same.")


def test_rates_over_batches_are_told_or_withheld() -> None:
    """The largest batch over the smallest, of one network on one device; of a busy host why not; one batch is none,
    also where it was trained twice.
    """
    quiet = [training(64, batch, "cpu", rate) for batch, rate in ((8192, 3617.0), (256, 5892.0), (1024, 5039.0))]
    busy = [training(128, batch, "cpu", 900.0, foreign=foreign) for batch, foreign in ((256, 0.0), (512, 9.0))]
    rows = tables.training([*quiet, *busy, training(64, 256, "cuda:0", 7360.0)])
    first, second = ratios.over_batches(rows)
    assert (first["from_batch"], first["to_batch"], round(first["ratio"], 2)) == (256, 8192, 0.61)
    assert second["ratio"] is None
    held = {"matmul": [], "training": rows, "speedups": [], "batches": [first, second], "clocks": []}
    assert ratios.over_batches(tables.training([training(64, 256, "cpu", rate) for rate in (900.0, 800.0)])) == []
    page = machine_speed.speed({"rows": held})
    assert "667,112 parameters, fp32, cpu, 256 to 8,192: 0.61x; 2,006,888 parameters" in page
    assert "256 to 512: withheld (measured one after the other, and the host was not quiet)." in page


def test_a_block_of_a_machine_study_is_no_block_of_arms() -> None:
    """The list of words explains a timed block on a machine's page and a block of runs on a training study's."""
    assert words("five blocks", OF_A_MACHINE) == f"- **block**: {OF_A_MACHINE['block']}."
    assert "one run of each arm" in words("five blocks")
    assert OF_A_MACHINE.keys() <= {term for term, _, _ in WORDS}


@pytest.mark.parametrize(
    ("crashed", "said"),
    [
        ([], ""),
        (["cell-plant-seed0"], " Of 1 attempt that did not finish, 1 had a planted fault."),
        (["cell-plant-seed0", "cell-good-seed0"], " Of 2 attempts that did not finish, 1 had a planted fault."),
    ],
)
def test_provoked_endings_are_told_from_others(crashed: list[str], said: str) -> None:
    """A killed attempt in the counts was provoked, or it was not: the page says which."""
    names = {"good": None, "plant": "crash"}
    record = {
        "summary": {"planned": 1},
        "selftest": {"rows": [{"planted": 1}]},
        "rows": {"cells": [{"cell": name, "fault": fault} for name, fault in names.items()]},
        "planned_runs": [{"arm": name, "run": f"cell-{name}-seed0"} for name in names],
        "attempts": [
            {"run": f"cell-{name}-seed0", "status": "killed" if f"cell-{name}-seed0" in crashed else "finished"}
            for name in names
        ],
    }
    assert machine_page.planned(record).endswith(f"with a planted fault.{said}")
