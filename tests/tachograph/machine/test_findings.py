"""The page says in plain words what was found and what was not, and no more than the cells show."""

from __future__ import annotations

from measured_cells import ended, matmul, measured, training

from tachograph.machine import findings
from tachograph.machine.sections import rows
from tachograph.machine.selftest import selftest
from tachograph.machine.summary import summary
from tachograph.machine.verdict import Verdict
from tachograph.models.bounds import Bounds


def said(cells):
    """Sentences and box of a study with these cells, none of them planted."""
    tested = selftest(cells, {})
    sections = {
        "rows": rows(cells, Bounds(), {}),
        "selftest": tested,
        "summary": summary(cells, tested, "as-installed"),
    }
    box = findings.not_measured(cells, sections)
    return findings.findings(cells, sections, "as-installed"), {one["what"]: one["why"] for one in box}


def test_findings_count_what_passed_and_name_what_is_wrong():
    """The verdict first; what is wrong is named with its reason; rates of a busy host are held back."""
    wrong = measured("correctness", "matmul", {"form": "A@A.T"}, {"relative": 1.0, "corrupted": 3, "nonfinite": 0},
                     "FAIL", ["A@A.T (numpy): 3 elements beyond rounding"])  # fmt: skip
    sentences, box = said(
        [wrong, measured("correctness", "integers", {}, {}), training(64, 256, "cpu", 9.0, foreign=9.0)]
    )
    assert sentences[0] == "Verdict: FAIL. 3 of 3 cells were measured."
    text = " ".join(sentences)
    assert "Right: 1 of 2 correctness cells gave results that rounding explains." in text
    assert "WRONG: matmul-A@A.T-as-installed: A@A.T (numpy): 3 elements beyond rounding." in text
    assert "1 of 1 rates were taken while other work shared the machine: they are lower bounds" in text
    assert "re-measure on an idle host" in text
    assert "No fault was planted" in text
    assert box["accelerators"] == "every cell ran on the processor"
    assert box["soak"] == "no cell is registered"
    assert box["environment workarounds"] == "one environment is registered"


def test_what_nobody_knows_is_told_apart_from_what_is_known():
    """A rate whose host could not be sampled is not said to have been shared, and is held back all the same."""
    sentences, _ = said([matmul("64", "fp32", 1.0, foreign=None), matmul("128", "fp32", 2.0, foreign=9.0)])
    expected = (
        "1 of 2 rates were taken while other work shared the machine and of 1 of 2 rates nobody knows whether other "
        "work shared the machine: they are lower bounds (≥), and no claim rests on them; re-measure on an idle host."
    )
    assert expected in sentences


def test_two_copies_of_a_library_are_told():
    """The double-runtime trap of document 003 is a sentence, with the number of cells it was found in."""
    one = measured("correctness", "integers", {}, {})
    one.record["effective"] = {"library_copies": {"amdhip64": ["/a/libamdhip64.so", "/b/libamdhip64.so"]}}
    sentences, _ = said([one, measured("correctness", "integers", {"seed": 1}, {})])
    assert "Two copies of amdhip64 were loaded into one process, in 1 cell." in sentences


def test_a_quiet_host_holds_nothing_back():
    """Rates of a quiet host are neither marked nor held back, and no sentence says otherwise."""
    sentences, box = said([matmul("64", "fp32", 1.0)])
    assert not any("lower bounds" in sentence for sentence in sentences)
    assert "share of the peak" in box


def test_what_did_not_run_is_in_the_box():
    """A cell without a result stands in the box with its reason, and the verdict is INCOMPLETE."""
    cells = [
        measured("correctness", "integers", {}, {}),
        ended("soak", "training", {}, "time limit", reasons=["still running after 60 s"]),
    ]
    sentences, box = said(cells)
    assert sentences[0].startswith(f"Verdict: {Verdict.INCOMPLETE}. 1 of 2")
    assert box["training-as-installed"] == "time limit: still running after 60 s"


def test_a_workaround_is_told_by_what_it_changes():
    """A crash as installed that is right with an arm: the sentence names the cell that changes."""
    cells = [
        ended("correctness", "matmul", {"size": "64"}, "crashed", signal="SIGSEGV"),
        ended("correctness", "matmul", {"size": "64"}, "done", "PASS", arm="preloaded"),
    ]
    sentences, _ = said(cells)
    assert "Environment “preloaded”: PASS; it changes matmul-64-as-installed (0 alike)." in sentences
