"""Candidate files: what they must say, and what a judgement makes of the sentences of the method."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tachograph.evidence.amdahl import whole
from tachograph.evidence.candidates import judge_candidate
from tachograph.evidence.interval import paired_log_t
from tachograph.evidence.trial import Trial, TrialError, parse_trial
from tachograph.evidence.verdicts import CurveVerdict, ParityVerdict, Reason

GOOD: dict[str, Any] = {
    "schema": "candidate/1",
    "available": True,
    "part": "move network forward",
    "unit": "positions",
    "pairs": [
        {"base": {"seconds": 4.0, "work": 100}, "candidate": {"seconds": 2.0, "work": 100}},
        {"base": {"seconds": 6.0, "work": 100}, "candidate": {"seconds": 3.0, "work": 150}},
    ],
    "steps": 10,
    "nonfinite_steps": {"base": 0, "candidate": 3},
    "one_off": {"cold_seconds": 36.6, "warm_seconds": 2.0},
    "parity": None,
    "no_parity": "draws at random",
}


def test_rates_are_work_over_seconds() -> None:
    """100 in 4 s are 25 per second, 150 in 3 s are 50; a step of the base takes 10 s / 10."""
    trial = parse_trial(GOOD, "x.json")
    assert isinstance(trial, Trial)
    assert trial.rates("base") == (25.0, 100 / 6)
    assert trial.rates("candidate") == (50.0, 50.0)
    assert trial.step_seconds("base") == 1.0
    assert (trial.cold_seconds, trial.warm_seconds) == (36.6, 2.0)


def test_candidate_that_cannot_run_says_why() -> None:
    """Its reason is what is read, and nothing else is needed."""
    found = parse_trial({"schema": "candidate/1", "available": False, "reason": "no compiler"}, "x.json")
    assert found == "no compiler"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "candidate/2"}, "expected 'candidate/1'"),
        ({"available": "yes"}, "true or false"),
        ({"available": False}, "'reason' is missing"),
        ({"available": False, "reason": " "}, "expected words"),
        ({"pairs": GOOD["pairs"][:1]}, "at least 2"),
        ({"pairs": [{"base": {"seconds": 0, "work": 1}, "candidate": {"seconds": 1, "work": 1}}] * 2}, "positive"),
        ({"pairs": [{"base": {"seconds": 1, "work": 1}}] * 2}, "'candidate' is missing"),
        ({"pairs": 7}, "x.json"),
        ({"steps": 0}, "at least 1"),
        ({"steps": True}, "whole number"),
        ({"nonfinite_steps": {"base": 0, "candidate": 11}}, "at most the 10 steps"),
        ({"nonfinite_steps": {"base": 0, "candidate": -1}}, "at least 0"),
        ({"one_off": {"cold_seconds": -1.0}}, "positive"),
        ({"no_parity": None}, "expected words"),
        ({"unit": ""}, "expected words"),
    ],
)
def test_file_that_does_not_say_what_it_must_is_refused(change: dict[str, Any], words: str) -> None:
    """One sentence names the file, what was found and what was expected."""
    with pytest.raises(TrialError, match=words) as error:
        parse_trial({**copy.deepcopy(GOOD), **change}, "x.json")
    assert str(error.value).startswith("x.json: ")


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_anything_else_is_refused(data: object) -> None:
    """What is no object is no candidate file."""
    with pytest.raises(TrialError, match="schema"):
        parse_trial(data, "x.json")


def test_whole_from_a_part_of_document_000() -> None:
    """A forward pass of 88.8 % made 1.42 times as fast gives 1 / (0.112 + 0.888 / 1.42) = 1.356 for the step."""
    assert whole(0.888, 1.42) == pytest.approx(1.3562, abs=5e-5)
    assert whole(0.0, 5.0) == 1.0
    assert whole(1.0, 5.0) == pytest.approx(5.0)
    with pytest.raises(ValueError, match="share"):
        whole(1.2, 2.0)


@pytest.mark.parametrize(
    ("curves", "reason"),
    [
        (CurveVerdict.NOT_MATCHED, Reason.NOT_MATCHED),
        (CurveVerdict.INVALID, Reason.NOT_MATCHED),
        (CurveVerdict.NO_VERDICT, Reason.NUMERICS_NOT_SHOWN),
        (CurveVerdict.INCONCLUSIVE, Reason.NUMERICS_NOT_SHOWN),
        (CurveVerdict.IDENTICAL, None),
    ],
)
def test_only_a_shown_difference_of_curves_rejects(curves: CurveVerdict, reason: Reason | None) -> None:
    """Runs in turn are too short to show that curves match, so that no verdict on them rejects nothing."""
    factor = paired_log_t([1.0, 1.0, 1.0], [2.0, 2.1, 1.9])
    found = judge_candidate(factor, 1.05, ParityVerdict.NOT_REGISTERED, 0, 12, curves=curves, unit="iterations")
    assert found.reason is reason
    assert f"curves {curves}" in found.sentence
    assert "0/12 (0.00%) iterations" in found.sentence
