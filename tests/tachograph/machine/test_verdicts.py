"""What becomes of a cell, what the planted faults show, and how verdicts combine."""

from __future__ import annotations

import pytest
from measured_cells import cell_of, ended, file_of, host, measured

from tachograph.machine.measured import MeasuredCell
from tachograph.machine.outcome import judge_cell
from tachograph.machine.selftest import selftest
from tachograph.machine.summary import summary
from tachograph.machine.verdict import EXIT_CODES, Verdict, worst
from tachograph.models.bounds import Bounds
from tachograph.models.checker import Fault

PASSED = {
    "settings": {"device": "cpu", "channels": 64, "batch": 16, "dtype": "fp32"},
    "fault": None,
    "measured": {"losses": [2.0, 1.0], "nonfinite_parameters": 0},
    "host": host(),
}
FAULTS = {
    "NaN": Fault(environment={"X": "nan"}, caught="FAIL"),
    "crash": Fault(environment={"X": "crash"}, caught="crashed"),
}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (file_of(record=PASSED), ("done", "PASS")),
        (file_of("killed", None, "SIGSEGV", PASSED), ("crashed", "INCOMPLETE")),
        (file_of("time_limit", None, "SIGTERM", PASSED), ("time limit", "INCOMPLETE")),
        (file_of("failed", 1, said="torch.OutOfMemoryError: HIP out of memory"), ("out of memory", "INCOMPLETE")),
        (file_of("failed", 1, said="CUDA error: no kernel image is available"), ("kernel failure", "WARN")),
        (file_of("failed", 2, said="machinecheck: error: device: found 'cuda:0'"), ("refused", "INCOMPLETE")),
        (file_of("failed", 1, said="ValueError: x"), ("failed", "INCOMPLETE")),
        (file_of("failed", 1, record=PASSED, said="at exit"), ("failed", "INCOMPLETE")),
        (file_of(), ("failed", "INCOMPLETE")),
        (file_of(unreadable="measured.json: found no JSON"), ("unreadable", "INCOMPLETE")),
        (file_of("time_limit", None, started=False), ("not run", "INCOMPLETE")),
    ],
)
def test_classification(file, expected):
    """Nothing passes but a process that ended well and left a record; a record does not save a crash."""
    found = judge_cell(cell_of("soak", "training", {}), file, Bounds(), {})
    assert (found.outcome, found.verdict) == expected


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        (file_of(said="no output"), "it ended without an error and wrote no result: no output"),
        (
            file_of(
                "failed", 139, said="no output", reason="exit code 139, as a shell reports SIGSEGV of a command in it"
            ),
            "exit code 139, as a shell reports SIGSEGV of a command in it: no output",
        ),
    ],
)
def test_what_is_said_of_a_cell_without_a_result(file, reason):
    """A cell that wrote nothing says so, and one that a shell started names the signal that the shell reports."""
    found = judge_cell(cell_of("soak", "training", {}), file, Bounds(), {})
    assert (found.outcome, found.reasons) == ("failed", [reason])


def test_lattice():
    """FAIL > INCOMPLETE > WARN > PASS; nothing is INCOMPLETE; only PASS and WARN exit with 0."""
    V = Verdict
    assert worst([V.PASS, V.WARN, V.INCOMPLETE, V.FAIL]) is V.FAIL
    assert worst([V.PASS, V.WARN, V.INCOMPLETE]) is V.INCOMPLETE
    assert worst([V.PASS, V.WARN]) is V.WARN
    assert worst([]) is V.INCOMPLETE
    assert [verdict for verdict in V if EXIT_CODES[verdict] == 0] == [V.WARN, V.PASS]


def planted(fault, verdict="FAIL", named=None):
    """A measured cell with a planted fault; ``named`` is the fault that its record names."""
    found = measured("correctness", "matmul", {}, {}, verdict=verdict, fault=fault)
    found.record["fault"] = named or fault
    return found


def crash():
    """A cell that crashed, as it was made to."""
    return ended("correctness", "matmul", {}, "crashed", signal="SIGSEGV", fault="crash")


def test_selftest_passes_only_if_everything_was_planted_and_caught():
    """Caught means: judged FAIL by a record that names this fault, or ended as it must. 0 of 0 is not caught."""
    assert selftest([planted("NaN"), crash()], FAULTS)["verdict"] == "PASS"
    assert selftest([planted("NaN", "PASS"), crash()], FAULTS)["verdict"] == "FAIL"
    assert selftest([planted("NaN", named="crash"), crash()], FAULTS)["verdict"] == "FAIL"
    not_run = ended("correctness", "matmul", {}, "not run", fault="crash")
    assert selftest([planted("NaN"), not_run], FAULTS)["verdict"] == "INCOMPLETE"
    assert selftest([], FAULTS) == {**selftest([], FAULTS), "registered": False, "verdict": None}


@pytest.mark.parametrize("cells", [[], [planted("NaN")], [crash()], [planted("NaN"), crash()]])
def test_what_is_not_planted_changes_no_verdict(cells):
    """Planting none, some or all of the faults, all caught, gives the same verdict; what was not planted has none."""
    cells = [measured("correctness", "matmul", {}, {}), *cells]
    found = selftest(cells, FAULTS)
    assert summary(cells, found, "as-installed")["verdict"] == "PASS"
    names = {one.cell.fault for one in cells}
    assert [row["verdict"] for row in found["rows"]] == ["PASS" if name in names else None for name in FAULTS]


def test_a_fault_that_was_not_run_is_incomplete():
    """A planted fault that time did not suffice for leaves open what would have been seen."""
    not_run = ended("soak", "training", {}, "not run", fault="crash")
    cells = [measured("correctness", "matmul", {}, {}), planted("NaN"), not_run]
    found = summary(cells, selftest(cells, FAULTS), "as-installed")
    assert found["verdict"] == "INCOMPLETE"
    assert found["because"] == ["a planted fault was not run, so what passed is not shown"]


def test_planted_faults_alone_say_nothing_of_the_machine():
    """A study whose only cells hold faults, all caught, has no verdict better than INCOMPLETE."""
    probe = MeasuredCell(cell_of("probe", "probe", {}), "done", Verdict.PASS)
    cells = [probe, planted("NaN"), crash()]
    found = summary(cells, selftest(cells, FAULTS), "as-installed")
    assert (found["verdict"], found["planned"]) == ("INCOMPLETE", 0)


def test_refused_and_unbuilt_kernels_alone_say_nothing_of_the_machine():
    """Each is a warning beside cells that gave a result, and no study is made of such warnings."""
    unbuilt = ended("correctness", "attention", {}, "kernel failure", "WARN")
    refused = measured("correctness", "attention", {}, {"refused": "no such kernel"}, "WARN")
    found = summary([unbuilt, refused], selftest([], FAULTS), "as-installed")
    assert found["verdict"] == "INCOMPLETE"
    assert found["because"] == ["no cell of the machine as it is used gave a result"]
    cells = [unbuilt, refused, measured("correctness", "matmul", {}, {})]
    assert summary(cells, selftest([], FAULTS), "as-installed")["verdict"] == "WARN"


def test_a_blind_check_never_passes():
    """Cells that pass while a planted fault was missed show nothing: INCOMPLETE, and the reason is said."""
    good = measured("correctness", "matmul", {}, {})
    seen = [good, planted("NaN"), crash()]
    blind = [good, planted("NaN", "PASS"), crash()]
    assert summary(seen, selftest(seen, FAULTS), "as-installed")["verdict"] == "PASS"
    found = summary(blind, selftest(blind, FAULTS), "as-installed")
    assert found["verdict"] == "INCOMPLETE"
    assert found["because"] == ["the self-test missed a planted fault, so what passed is not shown"]


def test_planted_faults_and_other_arms_do_not_make_the_verdict():
    """A planted fault that FAILs, and a workaround that crashes, say nothing about the machine as it is used."""
    cells = [
        measured("correctness", "matmul", {}, {}),
        planted("NaN"),
        crash(),
        ended("correctness", "matmul", {}, "crashed", signal="SIGSEGV", arm="preloaded"),
    ]
    found = summary(cells, selftest(cells, FAULTS), "as-installed")
    assert found["verdict"] == "PASS"
    assert found["by_arm"] == {"as-installed": "PASS", "preloaded": "INCOMPLETE"}
    assert found["planned"] == 2
