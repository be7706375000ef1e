"""Repeats are hashed, wrong results are counted, and "none seen" is a bound."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from judged import judged

from machinecheck import faults, repeats
from machinecheck.cells import repeatability
from machinecheck.errors import MachineCheckError
from machinecheck.repeats import Truth
from tachograph.machine.cells import Cell
from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import DONE
from tachograph.machine.reference import usable_as_reference
from tachograph.machine.verdict import Judged, Verdict


def race(values: torch.Tensor, fault: str | None):
    """A stub product that plants ``fault`` into every second call."""
    planter = faults.Planter(fault)
    return lambda: planter.output(values)


def rows_of(run, count=40, truth=None, threads=4):
    """One row, as a cell of one thread count makes it."""
    return [{"threads": threads, "oversubscribed": False, "process": 0, **repeats.watch(run, count, truth)}]


def judge(rows) -> Judged:
    """The study's verdict on rows of one operation."""
    return judged("repeatability", {"rows": rows})


def usable(found: Judged):
    """What a study's preflight says of the operation as a reference: verdict and detail."""
    record = {"settings": {"device": "cpu"}, "measured": {}}
    cell = Cell("conv", "repeatability", "convolution", {}, "device", "norm", None, {}, 60.0)
    return usable_as_reference(MeasuredCell(cell, DONE, found.verdict, found.reasons, record, derived=found.derived))


def test_threaded_race_is_found():
    """D21: 0.1 % of elements off by ±14 on half of 40 calls: 20 wrong calls, fraction 1.0e-3, FAIL."""
    values = torch.randn(1000, 1000, generator=torch.Generator().manual_seed(0))
    truth = Truth(values.double().numpy(), np.full((1000, 1000), 1e-3))
    rows = rows_of(race(values, faults.NOT_REPEATING), truth=truth)
    found = judge(rows)
    assert found.verdict is Verdict.FAIL
    assert len(rows[0]["hashes"]) > 1
    assert rows[0]["corrupted_calls"] == 20
    assert rows[0]["corrupted_fraction"] == pytest.approx(1.0e-3)
    assert rows[0]["max_abs_error"] == pytest.approx(14, abs=1e-3)
    assert found.reasons[0].startswith("20 of 40 results wrong at 4 threads (process 0): 0.001 of the elements")
    assert found.derived["by_threads"][0]["wrong_rate_upper_bound"] is None


def test_clean_operation_passes_with_a_bound():
    """D21: a clean stub gives one hash, none of 40 wrong, PASS, and 3/40 as the rate still possible."""
    values = torch.randn(100, 100)
    truth = Truth(values.double().numpy(), np.full((100, 100), 1e-3))
    found = judge(rows_of(race(values, None), truth=truth))
    assert (found.verdict, found.reasons) == (Verdict.PASS, [])
    (count,) = found.derived["by_threads"]
    assert (count["distinct_results"], count["wrong_calls"]) == (1, 0)
    assert count["wrong_rate_upper_bound"] == pytest.approx(0.075)


def test_a_wrong_result_that_repeats_is_still_wrong():
    """An operation that gives the same wrong bytes each time is counted wrong each time."""
    values = torch.ones(10)
    truth = Truth(np.zeros(10), np.full(10, 0.1))
    rows = rows_of(lambda: values, count=7, truth=truth)
    assert rows[0]["corrupted_calls"] == 7
    assert judge(rows).verdict is Verdict.FAIL


def test_convolution_of_document_003_fails():
    """D22: 6.25 % of elements differing by up to 0.146 between repeats is beyond fp32's tolerance."""
    calls = []

    def stub():
        calls.append(1)
        values = torch.ones(6400)
        values[:400] += 0.146 * (len(calls) % 2)
        return values

    rows = rows_of(stub)
    found = judge(rows)
    assert found.verdict is Verdict.FAIL
    assert rows[0]["fraction_differing"] == 0.0625
    assert "does not repeat at 4 threads" in found.reasons[0]
    said, detail = usable(found)
    assert said == "FAIL"
    assert detail.startswith("REFERENCE NOT REPEATABLE (does not repeat at 4 threads")


def test_rounding_level_differences_warn():
    """Repeats that differ in their last bit are no wrong result, but no reference either."""
    calls = []

    def stub():
        calls.append(1)
        return torch.ones(100) + 1e-7 * (len(calls) % 2)

    found = judge(rows_of(stub))
    assert found.verdict is Verdict.WARN
    assert not found.derived["repeats_in_process"]
    assert usable(found)[0] == "FAIL"


def test_nan_results_fail_and_are_counted_each_time():
    """A NaN in every second result fails with 20 of 40, though its bytes repeat."""
    calls = []

    def stub():
        calls.append(1)
        values = torch.ones(10)
        if len(calls) % 2:
            values[3] = torch.nan
        return values

    rows = rows_of(stub)
    assert rows[0]["nonfinite_calls"] == 20
    assert judge(rows).verdict is Verdict.FAIL


def test_processes_that_differ_warn():
    """Two processes that differ warn and are no reference; two thread counts that differ sum in another order."""
    one = rows_of(lambda: torch.ones(4))[0]
    other = rows_of(lambda: torch.ones(4) + 1e-7)[0]
    found = judge([one, other | {"process": 1}])
    assert found.verdict is Verdict.WARN
    assert found.reasons == ["two processes give different bytes at 4 threads"]
    assert usable(found) == ("FAIL", "REFERENCE NOT REPEATABLE (two processes give different bytes at 4 threads)")
    other_order = judge([one, other | {"threads": 2}])
    assert other_order.verdict is Verdict.PASS
    assert usable(other_order)[0] == "PASS"
    assert not other_order.derived["alike_over_threads"]
    assert judge([one, one | {"threads": 2}]).derived["alike_over_threads"]
    assert judge([one]).derived["alike_over_threads"] is None


def test_nothing_measured_is_incomplete():
    """No rows is no pass, and no reference."""
    found = judge([])
    assert found.verdict is Verdict.INCOMPLETE
    assert usable(found)[0] == "NO VERDICT"


def test_thread_counts():
    """Counts rise and appear once; "all" is the machine's, and more than it has are allowed."""
    assert repeatability.thread_counts("1,2,4,8,all", 6) == [1, 2, 4, 6, 8]
    assert repeatability.thread_counts("8", 2) == [8]
    with pytest.raises(MachineCheckError, match="threads: found '1,x'"):
        repeatability.thread_counts("1,x", 2)


@pytest.mark.parametrize("limit", ["1", "3"])
def test_as_started_leaves_the_threads_to_the_environment(limit, tmp_path):
    """A cell that sets no thread count runs with the one that its environment gives the library, and says which."""
    out = tmp_path / "cell.json"
    command = [sys.executable, "-m", "machinecheck", "cell", "repeatability", "sgemm", f"--out={out}"]
    command += ["--size=64", "--threads=as-started", "--repeats=3", "--processes=1", "--library=numpy"]
    variables = dict(os.environ) | dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), limit)
    subprocess.run(command, env=variables, capture_output=True, check=True)
    (row,) = json.loads(out.read_text())["measured"]["rows"]
    started = min(int(limit), os.cpu_count() or 1)  # OpenBLAS starts no more than there are processors
    assert row["threads"] == started
    assert started in row["thread_pools"].values()


@pytest.mark.parametrize("operation", ["linear", "group-norm", "network"])
def test_operations_run_and_repeat(operation):
    """Each named operation repeats on this machine within one process at one thread."""
    from machinecheck.registry import CELLS

    small = {"network": {"channels": 16, "passes": "backward"}}.get(operation, {})
    found = judged(
        "repeatability", CELLS["repeatability"][operation](batch=4, threads="1", repeats=3, processes=1, **small)
    )
    assert found.verdict is Verdict.PASS
    assert found.derived["by_threads"][0]["wrong_calls"] is None


def test_more_threads_than_processors_are_said_to_be():
    """A row with more threads than this machine has processors says so, and so does its summary."""
    usable_here = len(os.sched_getaffinity(0))
    found = judge(repeatability.linear(batch=2, threads=f"1,{usable_here + 1}", repeats=2, processes=1)["rows"])
    assert [row["oversubscribed"] for row in found.derived["by_threads"]] == [False, True]


def test_other_process_that_crashes_is_said(monkeypatch):
    """A second process that dies of a signal makes the cell INCOMPLETE and names the signal."""
    real = subprocess.Popen

    def crash(command, **options):
        return real(["/bin/sh", "-c", "kill -SEGV $$"], **options)

    monkeypatch.setattr(repeatability.subprocess, "Popen", crash)
    found = judged("repeatability", repeatability.linear(batch=4, threads="1", repeats=2))
    assert (found.verdict, found.reasons) == (Verdict.INCOMPLETE, ["process 1: crashed(SIGSEGV)"])


def test_race_is_found_by_the_real_cell_in_two_processes(tmp_path):
    """The real cell, with the race planted, fails in both of its processes and records the fault's name."""
    out = tmp_path / "cell.json"
    command = [sys.executable, "-m", "machinecheck", "cell", "repeatability", "sgemm", f"--out={out}"]
    command += ["--size=128", "--threads=1", "--repeats=10", "--library=numpy"]
    done = subprocess.run(
        command,
        env=dict(os.environ) | {faults.VARIABLE: faults.NOT_REPEATING},
        capture_output=True,
        check=False,
    )
    record = json.loads(out.read_text())
    assert done.returncode == 0
    assert record["fault"] == faults.NOT_REPEATING
    assert judged("repeatability", record["measured"]).verdict is Verdict.FAIL
    assert [row["corrupted_calls"] for row in record["measured"]["rows"]] == [5, 5]
    assert [row["process"] for row in record["measured"]["rows"]] == [0, 1]
