"""The page says in plain words what was found and what was not, and no more than the cells show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from measured_cells import ended, matmul, measured, training

from tachograph.machine import findings
from tachograph.machine.notmeasured import not_asked, not_measured
from tachograph.machine.sections import rows
from tachograph.machine.selftest import selftest
from tachograph.machine.summary import summary
from tachograph.machine.verdict import Verdict
from tachograph.models.checker import Fault
from tachograph.study.loading import load_checker

CHECKER = load_checker(Path(__file__).parents[3] / "config", "machinecheck")


def said(cells, faults=None):
    """Sentences and box of a study with these cells."""
    tested = selftest(cells, faults or {})
    sections = {
        "rows": rows(cells),
        "selftest": tested,
        "summary": summary(cells, tested, "as-installed"),
        "not_asked": not_asked(cells, CHECKER),
    }
    box = not_measured(cells, sections)
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
    assert "Right: 1 of 2 correctness cells gave results that rounding explains; 1 wrong." in text
    assert "WRONG: matmul-A@A.T-as-installed: A@A.T (numpy): 3 elements beyond rounding." in text
    assert (
        "Fast: 0 of 1 throughput cells gave a rate to rely on; 1 held back; other work shared the machine in 1" in text
    )
    assert "re-measure on an idle host" in text
    assert "No fault was planted" in text
    assert box["accelerators"] == "every cell ran on the processor"
    assert box["soak"] == "no cell is registered"
    assert box["environment workarounds"] == "one environment is registered"


def test_what_nobody_knows_is_told_apart_from_what_is_known():
    """A rate whose host could not be sampled is not said to have been shared, and is held back all the same."""
    sentences, _ = said([matmul("64", "fp32", 1.0, foreign=None), matmul("128", "fp32", 2.0, foreign=9.0)])
    expected = (
        "Fast: 0 of 2 throughput cells gave a rate to rely on; 2 held back; other work shared the machine in 1 and of "
        "1 nobody knows whether it did, so these rates are lower bounds (≥) and no claim rests on them: re-measure on "
        "an idle host."
    )
    assert expected in sentences


UNSTEADY = "the sustained window was not steady"
EVERY_END = [
    matmul("64", "fp32", 1.0),
    matmul("128", "fp32", 2.0, verdict="WARN", reasons=[UNSTEADY]),
    matmul("256", "fp32", 2.1, foreign=9.0),
    matmul("512", "fp32", 2.2, foreign=9.0, verdict="WARN", reasons=[UNSTEADY]),
    matmul("1024", "fp32", 2.3, foreign=9.0, verdict="FAIL", reasons=["1 element wrong"]),
    matmul("2048", "fp32", 2.4, verdict="INCOMPLETE", reasons=["no gate"]),
    ended("throughput", "matmul", {"size": "4096"}, "crashed"),
    ended("throughput", "matmul", {"size": "8192"}, "kernel failure", "WARN"),
]


@pytest.mark.parametrize("cells", [EVERY_END, EVERY_END[:1], EVERY_END[1:3], EVERY_END[4:]])
def test_counts_of_a_sentence_add_up(cells):
    """Every cell is counted once: rates of a busy host are no rates to rely on, whatever else is said of them."""
    sentence = next(one for one in said(cells)[0] if one.startswith("Fast: "))
    relied, of = map(int, re.search(r"(\d+) of (\d+) throughput cells", sentence).groups())
    others = re.findall(r"; (\d+) (?:held back|with a warning|wrong|undecided|not measured)", sentence)
    assert relied == sum(one in cells for one in EVERY_END[:1])
    assert relied + sum(map(int, others)) == of == len(cells)


def test_what_is_not_planted_is_told():
    """Planting one of two faults is told with the name of the other; nothing is said to be missed."""
    faults = {name: Fault(environment={"X": name}, caught="FAIL") for name in ("NaN", "hang")}
    sentences, box = said([measured("correctness", "matmul", {}, {}, verdict="FAIL", fault="NaN")], faults)
    assert sentences[-1].startswith("Self-test: 1 of 1 planted faults were caught; not planted")
    assert sentences[-1].endswith("not planted, so the power to detect it is not shown: hang.")
    assert box["whether “hang” would be caught"] == "it was not planted"


def test_operations_that_nobody_asked_for_are_in_the_box():
    """Operations of the checker without a cell are named, kind by kind."""
    _, box = said([measured("repeatability", "sgemm", {"library": "torch"}, {"by_threads": []})])
    assert box["repeatability of convolution, linear, group-norm, network"] == "no cell asks for it"
    assert "correctness" in box


def test_a_clock_that_is_shown_is_not_said_to_be_missing():
    """A constant clock is told as that, with the number that the tables show."""
    one = matmul("64", "fp32", 1.0)
    one.record["host"]["cpu_clock_mhz"] = {"mean": 2596.0, "min": 2596.0, "max": 2596.0}
    _, box = said([one])
    assert "clock of the processor" not in box
    assert box["changes of the processor's clock"].startswith("the system showed 2,596 MHz at all times")


def test_two_copies_of_a_library_are_told():
    """The double-runtime trap of document 003 is a sentence, with the number of cells it was found in."""
    one = measured("correctness", "integers", {}, {})
    one.record["effective"] = {"library_copies": {"amdhip64": ["/a/libamdhip64.so", "/b/libamdhip64.so"]}}
    sentences, _ = said([one, measured("correctness", "integers", {"seed": 1}, {})])
    assert "Two copies of amdhip64 were loaded into one process, in 1 cell (integers-as-installed)." in sentences


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


def test_words_of_a_library_stay_one_sentence():
    """What a checker or a library says is one line with one full stop, however it ended its own sentence."""
    sentences, _ = said([ended("correctness", "matmul", {}, "failed", reasons=["exit code 1: enable\nassertions."])])
    (sentence,) = [one for one in sentences if one.startswith("Failed")]
    assert sentence.endswith(": exit code 1: enable assertions.")


@pytest.mark.parametrize(
    ("dtype", "onednn", "missing"),
    [
        ("fp32", True, {"training in mixed precision", "repeatability with oneDNN switched off"}),
        ("bf16", False, set()),
    ],
)
def test_mixed_precision_and_the_other_backend_are_in_the_box(dtype, onednn, missing):
    """Document 003 says that mixed precision was never measured and that oneDNN was switched off: so does the box."""
    train = training(64, 256, "cpu", 9.0)
    train.record["settings"]["dtype"] = dtype
    _, box = said([train, measured("repeatability", "convolution", {"onednn": onednn}, {"by_threads": []})])
    asked = {"training in mixed precision", "repeatability with oneDNN switched off"}
    assert asked & box.keys() == missing


def test_how_long_a_soak_took_stands_in_its_sentence():
    """Whoever reads that it lasts reads how long it was watched."""
    (sentence,) = [one for one in said([measured("soak", "training", SOAKED, SOAK)])[0] if one.startswith("Lasts: ")]
    assert sentence.endswith("learned and kept the speed; the longest took 7 s.")


SOAKED = {"channels": 64, "batch": 8, "dtype": "fp32"}
SOAK = {"steps": 200, "seconds": 6.6, "first_loss": 2.8, "last_loss": 0.1, "nonfinite_parameters": 0,
        "speed_last_over_first": 0.99}  # fmt: skip
