"""Tables, figures and sentences come from cells' outcomes, and document 003's arithmetic out of them."""

from __future__ import annotations

import pytest

from machinecheck import figures, page, rates, tables
from machinecheck.files import write_json
from machinecheck.probe.amd import share_of_pool
from machinecheck.verdict import Verdict

# document 003: batch → (GPU, CPU) samples/s
SAMPLES = {
    128: {256: (3481, 1697), 1024: (5113, 1693), 4096: (6283, 1400), 8192: (6150, 1392)},
    64: {256: (7360, 5892), 1024: (11405, 5039), 4096: (17450, 3708), 8192: (18726, 3617)},
}
SPEED_UPS = {128: (2.05, 3.02, 4.49, 4.42), 64: (1.25, 2.26, 4.71, 5.18)}
CLOCKS = {10.7: 2084.0, 20.6: 1577.0, 32.0: 1172.0, 41.0: 1059.0}


def spread(value):
    """A sampled quantity with one value."""
    return {"mean": value, "min": value, "max": value}


def outcome_of(kind, operation, settings, measured, load=0.1, clock=None, contended=False, **more):
    """A cell's outcome, as the runner writes it."""
    host = {"load_average": spread(load), "foreign_processors": spread(0.0), "contended": contended}
    host |= {"clock_mhz": spread(clock) if clock else None, "power_watts": None}
    return {
        "cell": f"{kind}-{operation}-{sorted(settings.items())}",
        "kind": kind,
        "operation": operation,
        "arm": "as installed",
        "settings": settings,
        "outcome": "done",
        "verdict": "PASS",
        "reasons": [],
        "signal": None,
        "record": {
            "settings": {"device": "cpu"} | settings,
            "measured": measured,
            "host": host,
            "fault": None,
        },
    } | more


def training_outcome(channels, batch, device, rate, **more):
    """A training throughput cell that measured ``rate`` samples per second."""
    measured = {
        "parameters": {128: 2_006_888, 64: 667_112}[channels],
        "samples_per_second": {"rate": rate},
        "forward_samples_per_second": rate * 3,
        "backward_samples_per_second": rate * 1.5,
        "memory": {"share": 0.0581},
    }
    settings = {"channels": channels, "batch": batch, "dtype": "fp32", "device": device}
    return outcome_of("throughput", "training", settings, measured, **more)


def matmul_outcome(size, dtype, rate, peak=None, **more):
    """A matrix-product throughput cell that sustained ``rate`` TFLOP/s."""
    sustained = {"rate": rate, "steady": True, "status": "measured"}
    burst = None if rate is None else rate * 1.1
    measured = {"burst": {"rate": burst}, "sustained": sustained, "peak": peak}
    return outcome_of("throughput", "matmul", {"size": size, "dtype": dtype, "device": "cuda:0"}, measured, **more)


def document_003():
    """All training outcomes of document 003."""
    return [
        training_outcome(channels, batch, device, rate)
        for channels, batches in SAMPLES.items()
        for batch, pair in batches.items()
        for device, rate in zip(("cuda:0", "cpu"), pair, strict=True)
    ]


@pytest.mark.parametrize("channels", [128, 64])
def test_speed_ups_of_document_003(channels):
    """The eight speed-ups of document 003 come out of the table, with numerator, denominator and unit."""
    found = tables.speed_ups(tables.training(document_003()))
    rows = sorted((row["batch"], row) for row in found if row["channels"] == channels)
    assert tuple(round(row["speed_up"], 2) for _, row in rows) == SPEED_UPS[channels]
    assert {(row["numerator"], row["denominator"], row["unit"]) for _, row in rows} == {("cuda:0", "cpu", "samples/s")}


def test_rise_and_fall_of_document_003():
    """From batch 256 to 8,192 the GPU rises about 2.5 times and the CPU falls about 40 % (0.7M network)."""
    gpu, cpu = zip(*SAMPLES[64].values(), strict=True)
    assert round(rates.speed_up(gpu[-1], gpu[0]), 2) == 2.54
    assert round(rates.fall(cpu[0], cpu[-1]), 2) == 0.39


def test_format_ratio_of_document_003():
    """bf16 over fp32 is 11.3 and 10.7 in the two sweeps; the quiet window was 1.8 times as fast."""
    busy = tables.matmul([matmul_outcome("4096", "bf16", 15.64), matmul_outcome("4096", "fp32", 1.39)])
    quiet = tables.matmul([matmul_outcome("4096", "bf16", 27.76), matmul_outcome("4096", "fp32", 2.60)])
    assert round(tables.format_ratios(busy)[0]["ratio"], 1) == 11.3
    assert round(tables.format_ratios(quiet)[0]["ratio"], 1) == 10.7
    assert round(rates.speed_up(27.76, 15.64), 1) == 1.8


def test_peak_of_document_003():
    """40 units × 512 × 2.9 GHz is 59.4 TFLOP/s; fp32 at half of it reaches about 5 %."""
    peak = tables.declared_peak(40, 512, 2.9)
    assert round(peak, 1) == 59.4
    (row,) = tables.matmul([matmul_outcome("4096", "fp32", 1.39, peak=peak / 2)])
    assert round(row["share_of_peak"], 2) == 0.05


def test_clock_over_load_of_document_003():
    """The clock falls by nearly half from a load of 10.7 to one of 41; rows are in the order of load."""
    outcomes = [
        training_outcome(64, 256 * (index + 1), "cuda:0", 1.0, load=load, clock=clock)
        for index, (load, clock) in enumerate(reversed(CLOCKS.items()))
    ]
    rows = tables.clocks(outcomes)
    assert {row["load"]: row["clock_mhz"] for row in rows} == CLOCKS
    assert [row["load"] for row in rows] == sorted(CLOCKS)
    assert round(rates.fall(rows[0]["clock_mhz"], rows[-1]["clock_mhz"]), 2) == 0.49


def test_memory_share_of_document_003():
    """5.81 % of the 94.94 GiB pool is 5.52 GiB, not a multiple of the 512 MiB carve-out."""
    memory = {"carve_out_bytes": 536870912, "usable_pool_bytes": 101_940_000_000}
    assert round(share_of_pool(round(5.516 * 2**30), memory), 4) == 0.0581


def test_contended_rates_are_lower_bounds_but_ratios_are_not():
    """A contended rate is marked ≥ and held back; the speed-up carries that it was contended and no mark."""
    pair = [
        training_outcome(64, 256, "cuda:0", 7360.0, contended=True),
        training_outcome(64, 256, "cpu", 5892.0),
    ]
    rows = tables.training(pair)
    assert [row["mark"] for row in rows] == ["≥", "≥"]  # best of several, in any case
    assert [row["held_back"] for row in rows] == ["re-measure on an idle host", None]
    (ratio,) = tables.speed_ups(rows)
    assert ratio["contended"] is True
    assert "mark" not in ratio
    assert tables.matmul([matmul_outcome("64", "fp32", 1.0)])[0]["mark"] == ""
    assert tables.matmul([matmul_outcome("64", "fp32", 1.0, contended=None)])[0]["mark"] == "≥"


def test_identical_rates_are_withdrawn():
    """D29: 8.738134 in two cells is withdrawn from both; no number is left to print."""
    rows = tables.matmul([matmul_outcome("64", "fp32", 8.738134), matmul_outcome("128", "fp32", 8.738134)])
    assert [row["sustained"] for row in rows] == [None, None]
    assert rows[0]["status"] == "identical to another cell's value"


def test_crashed_cells_give_no_numbers():
    """A cell that crashed has no row of rates, and a row without numbers among the correctness cells."""
    crashed = {"outcome": "crashed", "verdict": "INCOMPLETE", "record": None, "reasons": ["crashed(SIGSEGV)"]}
    assert tables.training([training_outcome(64, 256, "cpu", 1.0) | crashed]) == []
    (row,) = tables.correctness([outcome_of("correctness", "matmul", {}, {}) | crashed])
    assert (row["outcome"], row["relative"], row["nonfinite"]) == ("crashed", None, None)


def test_workarounds_are_told_apart():
    """What crashes as installed and is right with a preloaded library is one row with both arms."""
    crashed = {"outcome": "crashed", "verdict": "INCOMPLETE", "record": None, "signal": "SIGSEGV"}
    rows = [
        outcome_of("correctness", "matmul", {"size": "64"}, {}) | crashed,
        outcome_of("correctness", "matmul", {"size": "64"}, {}) | {"arm": "preloaded"},
        outcome_of("correctness", "integers", {}, {}),
    ]
    (found,) = tables.arms(rows)
    assert found["arms"] == {
        "as installed": {"outcome": "crashed", "signal": "SIGSEGV", "verdict": "INCOMPLETE"},
        "preloaded": {"outcome": "done", "signal": None, "verdict": "PASS"},
    }


def folder_of(tmp_path, outcomes, **more):
    """A folder as the runner leaves it."""
    for index, row in enumerate(outcomes):
        write_json(tmp_path / "cells" / f"{index}.json", row)
    summary = {
        "verdict": "INCOMPLETE",
        "planned": len(outcomes) + 1,
        "not_run": ["x"],
        "by_arm": {"as installed": "PASS"},
    }
    write_json(tmp_path / "summary.json", summary | more)
    return tmp_path


def test_page_says_what_was_found_and_what_was_not(tmp_path):
    """The page counts what passed, names what is wrong, what was not run, and what no cell looked at."""
    wrong = outcome_of("correctness", "matmul", {"form": "A@A.T"}, {"relative": 1.0, "corrupted": 3, "nonfinite": 0})
    wrong |= {"verdict": "FAIL", "reasons": ["A@A.T (numpy): 3 elements beyond rounding"]}
    rows = [
        wrong,
        outcome_of("correctness", "integers", {}, {}),
        training_outcome(64, 256, "cpu", 9.0, contended=True),
    ]
    found = page.page(folder_of(tmp_path, rows), tmp_path / "figures")
    said = " ".join(found["findings"])
    assert found["verdict"] == Verdict.INCOMPLETE
    assert "Correctness: 1 of 2 cells gave results that rounding explains." in said
    assert "WRONG" in said
    assert "A@A.T (numpy): 3 elements beyond rounding" in said
    assert "re-measure on an idle host" in said
    assert "x: not run" in found["not_measured"]
    assert "soak: no cell was run" in found["not_measured"]
    assert "accelerators: none was part of this check" in found["not_measured"]
    for name in found["figures"].values():
        assert (tmp_path / "figures" / name).read_text().startswith("<?xml")


def test_figures_are_the_same_bytes_again(tmp_path):
    """The same rows give the same file, and other rows another one."""
    rows = tables.training(document_003())
    first = figures.training(rows, tmp_path / "a.svg").read_bytes()
    assert figures.training(rows, tmp_path / "b.svg").read_bytes() == first
    assert figures.training(rows[:4], tmp_path / "c.svg").read_bytes() != first
    assert b"2,006,888 parameters" in first


def test_empty_figure_says_so(tmp_path):
    """A figure without rows says "not measured" instead of showing empty axes."""
    for draw in (figures.matmul, figures.training, figures.clock_over_load):
        assert "not measured" in draw([], tmp_path / "x.svg").read_text()
