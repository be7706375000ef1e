"""The decision on a real study, and with verdicts changed one at a time."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tachograph_study import execute_study, lay_out

from tachograph.analysis import decision as module
from tachograph.analysis import verdicts
from tachograph.analysis.conditions import reservations
from tachograph.analysis.decision import decision
from tachograph.analysis.sealed import SealedStudy, read_sealed
from tachograph.analysis.study import sections
from tachograph.evidence.decision import decide
from tachograph.evidence.verdicts import CurveVerdict, Decision, ParityVerdict, SpeedVerdict
from tachograph.models.study import Prediction
from tachograph.record.decision import _rule


def good(analysis: dict[str, Any]) -> dict[str, Any]:
    """The analysis with everything in favour of the fast arm."""
    found = copy.deepcopy(analysis)
    headline(found).update(factor=2.0, low=1.9, high=2.1)
    found["reservations"] = []
    found["steadiness"]["headline"] = True
    found["curve_verdicts"][0]["verdict"] = "MATCHED"
    return found


def headline(analysis: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in analysis["factors"] if one["headline"])
    return found


def spoil_parity(analysis: dict[str, Any]) -> None:
    for check in analysis["preflight"]["checks"]:
        if check["check"] == "numerics parity":
            check["verdict"] = "FAIL"


@pytest.mark.parametrize(
    ("change", "expected", "words"),
    [
        (lambda a: None, "ADOPT", "in one session"),
        (lambda a: headline(a).update(factor=1.0, low=0.99, high=1.01), "REJECT", "below the registered minimum"),
        (lambda a: headline(a).update(low=1.0), "HOLD", "UNRESOLVED"),
        (lambda a: headline(a).update(low=None, high=None), "HOLD", "UNRESOLVED"),
        (lambda a: headline(a).update(factor=None, reason="no run counts"), "HOLD", "NO VERDICT"),
        (lambda a: a["reservations"].append({"arm": None, "sentence": "drift of +9 %"}), "HOLD", "PROVISIONAL"),
        (lambda a: a["reservations"].append({"arm": "fast", "sentence": "slowdown"}), "HOLD", "PROVISIONAL"),
        (lambda a: a["reservations"].append({"arm": "third", "sentence": "slowdown"}), "ADOPT", "in one session"),
        (lambda a: a["steadiness"].update(headline=False), "HOLD", "NO VERDICT"),
        (lambda a: a["curve_verdicts"][0].update(verdict="NOT MATCHED"), "REJECT", "NOT MATCHED"),
        (lambda a: a["curve_verdicts"][0].update(verdict="NO VERDICT"), "HOLD", "NO VERDICT"),
        (lambda a: a["curve_verdicts"][0].update(verdict="MATCHED WITH DETECTABLE DIFFERENCE"), "HOLD", "DETECTABLE"),
        (spoil_parity, "REJECT", "parity failed"),
        (lambda a: a["counts"].update(counted=12), "HOLD", "12 of 13 planned runs"),
        (lambda a: a["curve_verdicts"][0].update(verdict="FINE"), "HOLD", "NO VERDICT"),
    ],
)
def test_each_condition_of_the_rule_matters(
    sealed: SealedStudy,
    analysis: dict[str, Any],
    change: Callable[[dict[str, Any]], None],
    expected: str,
    words: str,
) -> None:
    """From a study that would be adopted, one changed verdict at a time gives the decision of the method."""
    analysis = good(analysis)
    change(analysis)
    one = decision(sealed, analysis)["arms"][0]
    assert one["decision"] == expected
    assert words in one["sentence"]


def test_all_that_holds_an_arm_is_told(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """A speed with reservations, curves without a verdict and a missing run: three causes, all in the sentence."""
    analysis = good(analysis)
    analysis["reservations"].append({"arm": "fast", "sentence": "drift of +9 %"})
    analysis["curve_verdicts"][0]["verdict"] = "NO VERDICT"
    analysis["counts"].update(counted=12)
    one = decision(sealed, analysis)["arms"][0]
    assert one["decision"] == "HOLD"
    for words in (
        "PROVISIONAL (GAIN but for this: drift of +9 %)",
        "curves give NO VERDICT: ",
        "12 of 13 planned runs",
    ):
        assert words in one["sentence"]


def test_registered_options_of_the_rule_matter(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """A higher minimum effect, a second session and an allowed detectable difference each change the decision."""
    assert sealed.study.decision is not None

    def decided(analysis: dict[str, Any], **options: Any) -> str:
        assert sealed.study.decision is not None
        rule = sealed.study.decision.model_copy(update=options)
        study = sealed.study.model_copy(update={"decision": rule})
        return str(decision(replace(sealed, study=study), analysis)["arms"][0]["decision"])

    analysis = good(analysis)
    assert decided(analysis) == "ADOPT"
    assert decided(analysis, minimum_effect=2.5) == "REJECT"
    assert decided(analysis, sessions=2) == "HOLD"
    analysis["curve_verdicts"][0]["verdict"] = "MATCHED WITH DETECTABLE DIFFERENCE"
    assert decided(analysis, allow_detectable_difference=True) == "ADOPT"


@pytest.mark.parametrize("step", ["speed_verdict", "parity_of", "decide"])
def test_exception_while_judging_is_never_a_pass(
    sealed: SealedStudy, analysis: dict[str, Any], monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever breaks in a judgement, the arm is held and the reason is told."""

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("it broke")

    monkeypatch.setattr(module, step, broken)
    one = decision(sealed, good(analysis))["arms"][0]
    assert one["decision"] == "HOLD"
    assert "it broke" in one["failures"][0]


@pytest.mark.parametrize("step", ["difference_test", "equivalence_test", "default_windows", "curve_verdict"])
def test_exception_in_the_curves_is_no_verdict(sealed: SealedStudy, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    """A test of the curves that breaks gives NO VERDICT with its reason, and the rest of the analysis stands."""

    def broken(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("it broke")

    monkeypatch.setattr(verdicts, step, broken)
    found = verdicts.curve_verdicts(sealed)[0]
    assert found["verdict"] == "NO VERDICT"
    assert "it broke" in found["sentence"]


def test_plan_of_the_study_stands_beside_its_decision(analysis: dict[str, Any]) -> None:
    """What could be known before the first run is told with the decision: two seeds cannot tell curves apart."""
    plan = analysis["decision"]["plan"]["arms"][0]
    assert plan["p_min"] == pytest.approx(1 / 3)
    assert any("p_min 0.333" in sentence for sentence in plan["missing"])


def test_rule_on_the_page_is_the_rule_applied(analysis: dict[str, Any]) -> None:
    """REJECT takes a gate of the arm's output; a reference that is invalid, and a settled run, hold."""
    told = _rule(analysis["decision"]["rule"])
    assert "or a run of the arm failed a gate of its output; else HOLD" in told
    assert "or was settled, reject nothing" in told
    assert "in 1 session;" in told
    invalid = decide(SpeedVerdict.GAIN, CurveVerdict.INVALID, ParityVerdict.PASS)
    lacking = decide(SpeedVerdict.GAIN, CurveVerdict.MATCHED, ParityVerdict.PASS, incomplete="only 3 of 4 runs count")
    assert (invalid.decision, lacking.decision) == (Decision.REJECT, Decision.HOLD)


def test_study_without_a_rule_decides_nothing(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """No rule was registered, so none is made up afterwards."""
    study = sealed.study.model_copy(update={"decision": None})
    found = decision(replace(sealed, study=study), analysis)
    assert found["registered"] is False
    assert found["arms"] == []


def test_registered_alpha_is_that_of_interval_and_tests(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """α = 0.01 gives a 99 % interval, five times wider for two blocks (t of 63.66 and 12.71), and stricter tests."""
    assert sealed.study.decision is not None
    rule = sealed.study.decision.model_copy(update={"alpha": 0.01})
    strict = sections(replace(sealed, study=sealed.study.model_copy(update={"decision": rule})))
    assert headline(strict)["confidence"] == pytest.approx(0.99)
    assert strict["curve_verdicts"][0]["alpha"] == 0.01
    widths = [math.log(headline(one)["high"] / headline(one)["low"]) for one in (strict, analysis)]
    assert widths[0] / widths[1] == pytest.approx(63.657 / 12.706, rel=1e-3)


def test_predicted_throughput_is_analysis_with_an_interval(sealed: SealedStudy) -> None:
    """Predicted is a rate far beyond what was measured: REFUTED by the spread of the runs, with a small ratio."""
    guess = Prediction(quantity="stage_throughput", arm="fast", value=1e9, reason="a guess")
    found = sections(replace(sealed, study=sealed.study.model_copy(update={"prediction": guess})))["prediction"]
    assert found["verdict"] == "REFUTED"
    assert found["interval"][0] < found["measured"] < found["interval"][1]
    assert found["ratio"] == pytest.approx(found["measured"] / 1e9)


def test_arm_whose_run_fails_a_gate_is_invalid_and_rejected(tmp_path: Path) -> None:
    """A fast path that keeps nothing in any iteration trains on nothing: INVALID, REJECT, and no ratio of its block."""
    lay_out(tmp_path)
    trainer = tmp_path / "stub_trainer.py"
    text = trainer.read_text()
    kept = '"kept": random_numbers.randint(300, 500)'
    assert kept in text
    trainer.write_text(text.replace(kept, f'{kept} if (path, options.seed) != ("fast", 1) else 0'))
    found = sections(read_sealed(execute_study(tmp_path)))
    assert found["curve_verdicts"][0]["verdict"] == "INVALID"
    assert "run-fast-seed1" in found["curve_verdicts"][0]["sentence"]
    assert found["decision"]["arms"][0]["decision"] == "REJECT"
    assert [pair["seed"] for pair in headline(found)["pairs"]] == [0]


def test_reservations_name_the_arm_that_they_concern(analysis: dict[str, Any]) -> None:
    """What disturbs the reference concerns every factor; what disturbs one other arm concerns that arm alone."""
    quiet = copy.deepcopy(analysis)
    for run in quiet["runs"]:
        run["host"]["quantities"]["cpu_foreign"] = {"mean": 0.0}
        run["host"]["gpu_processes"]["status"] = "clean"
    for one in (*quiet["steadiness"]["runs"], *quiet["steadiness"]["arms"].values()):
        one["outcome"] = "steady"
    quiet["order"]["block_deviations"], quiet["placebo"], quiet["drift"] = [], {}, []
    assert reservations(quiet) == []
    runs = {run["run"]: run for run in quiet["runs"]}
    runs["run-fast-seed1"]["host"]["quantities"]["cpu_foreign"]["mean"] = 1.5
    busy = "other programs kept the processors busy during "
    assert reservations(quiet) == [{"arm": "fast", "sentence": f"{busy}run-fast-seed1"}]
    runs["run-reference-seed0"]["host"]["quantities"]["cpu_foreign"]["mean"] = 1.5
    assert reservations(quiet) == [{"arm": None, "sentence": f"{busy}run-reference-seed0, run-fast-seed1"}]
    for one in quiet["steadiness"]["runs"]:
        one["outcome"] = "slowdown" if one["run"] == "run-reference-seed1" else "steady"
    assert reservations(quiet)[0] == {"arm": None, "sentence": "run-reference-seed1: slowdown"}
