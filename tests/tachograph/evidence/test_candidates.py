"""Candidates: kept or rejected, and why."""

from __future__ import annotations

import pytest

from tachograph.evidence.candidates import bad_steps, judge_candidate
from tachograph.evidence.interval import paired_log_t
from tachograph.evidence.verdicts import CandidateVerdict, CurveVerdict, ParityVerdict, Reason

GAIN = paired_log_t([86.1, 86.5, 85.9, 86.0][::-1], [121.5, 121.9, 121.4, 122.0])


def test_candidate_with_nan_rows_is_rejected_with_its_speed() -> None:
    """D25: NaN rows in steps 3 and 7 of 202 reject the candidate; its rate and its speed are told."""
    found = judge_candidate(GAIN, 1.05, ParityVerdict.PASS, nonfinite_steps=2, steps=202)
    assert (found.verdict, found.reason) == (CandidateVerdict.REJECTED, Reason.INVALID_OUTPUT)
    assert "2/202 (0.99%) steps with NaN rows" in found.sentence
    assert "1.41x" in found.sentence
    assert bad_steps(44, 202) == "44/202 (21.78%) steps with NaN rows"


@pytest.mark.parametrize(
    ("parity", "superseded", "minimum", "reason"),
    [
        (ParityVerdict.FAIL, None, 1.05, Reason.INVALID_OUTPUT),
        (ParityVerdict.NO_VERDICT, None, 1.05, Reason.NUMERICS_NOT_SHOWN),
        (ParityVerdict.REFERENCE_BROKEN, None, 1.05, Reason.NOT_MATCHED),
        (ParityVerdict.PASS, "rows", 1.05, Reason.SUPERSEDED),
        (ParityVerdict.PASS, None, 1.60, Reason.NO_GAIN),
        (ParityVerdict.PASS, None, 1.05, None),
        (ParityVerdict.NOT_REGISTERED, None, 1.05, Reason.NUMERICS_NOT_SHOWN),
        (ParityVerdict.NOT_REGISTERED, "rows", 1.05, Reason.NUMERICS_NOT_SHOWN),
        (ParityVerdict.NOT_REGISTERED, None, 1.60, Reason.NO_GAIN),
    ],
)
def test_candidate_reasons(
    parity: ParityVerdict, superseded: str | None, minimum: float, reason: Reason | None
) -> None:
    """Each reason is reached, and a candidate without any is kept; a gain without numerics is no verdict."""
    found = judge_candidate(GAIN, minimum, parity, 0, 202, superseded)
    assert found.reason is reason
    silent = {None: CandidateVerdict.KEPT, Reason.NUMERICS_NOT_SHOWN: CandidateVerdict.NO_VERDICT}
    assert found.verdict is silent.get(reason, CandidateVerdict.REJECTED)


@pytest.mark.parametrize(
    ("curves", "allowed", "verdict", "reason"),
    [
        (CurveVerdict.IDENTICAL, False, CandidateVerdict.KEPT, None),
        (CurveVerdict.MATCHED, False, CandidateVerdict.KEPT, None),
        (CurveVerdict.MATCHED_DIFFERENT, True, CandidateVerdict.KEPT, None),
        (CurveVerdict.MATCHED_DIFFERENT, False, CandidateVerdict.NO_VERDICT, Reason.NUMERICS_NOT_SHOWN),
        (CurveVerdict.NO_VERDICT, True, CandidateVerdict.NO_VERDICT, Reason.NUMERICS_NOT_SHOWN),
        (CurveVerdict.INCONCLUSIVE, True, CandidateVerdict.NO_VERDICT, Reason.NUMERICS_NOT_SHOWN),
        (CurveVerdict.SIZE_UNRESOLVED, True, CandidateVerdict.NO_VERDICT, Reason.NUMERICS_NOT_SHOWN),
        (CurveVerdict.NOT_MATCHED, True, CandidateVerdict.REJECTED, Reason.NOT_MATCHED),
        (CurveVerdict.INVALID, True, CandidateVerdict.REJECTED, Reason.NOT_MATCHED),
    ],
)
def test_whole_runs_keep_a_candidate_only_where_their_curves_match(
    curves: CurveVerdict, allowed: bool, verdict: CandidateVerdict, reason: Reason | None
) -> None:
    """Curves that decide ADOPT (statistics.md, 3.6) show the numerics of whole runs; no other verdict does."""
    found = judge_candidate(
        GAIN, 1.05, ParityVerdict.NOT_REGISTERED, 0, 8, curves=curves, detectable_difference_allowed=allowed
    )
    assert (found.verdict, found.reason) == (verdict, reason)
    shown = judge_candidate(GAIN, 1.05, ParityVerdict.PASS, 0, 8, curves=curves)
    assert (shown.verdict is CandidateVerdict.KEPT) is (reason is not Reason.NOT_MATCHED)  # parity shows them too


def test_steps_of_the_base_stand_beside_those_of_the_candidate() -> None:
    """Document 000 tells both: 44/202 steps compiled, 0/202 eager."""
    found = judge_candidate(GAIN, 1.05, ParityVerdict.PASS, nonfinite_steps=44, steps=202, base_nonfinite_steps=3)
    assert "44/202 (21.78%) steps with NaN rows, of the base 3/202" in found.sentence


def test_single_measurement_keeps_no_candidate() -> None:
    """A factor without an interval shows no gain, nor does a missing one."""
    single = paired_log_t([1], [1.41])
    assert judge_candidate(single, 1.05, ParityVerdict.PASS, 0, 202).reason is Reason.NO_GAIN
    assert judge_candidate(None, 1.05, ParityVerdict.PASS, 0, 202).reason is Reason.NO_GAIN
    with pytest.raises(ValueError, match="real batches"):
        judge_candidate(single, 1.05, ParityVerdict.PASS, 0, 0)


@pytest.mark.parametrize(
    ("candidate", "words"),
    [([1.0, 1.3, 0.9], "a gain of 1.05x is not shown, nor excluded"), ([1.0, 1.001, 1.002], "a gain of 1.05x is not")],
)
def test_gain_that_is_not_shown_need_not_be_excluded(candidate: list[float], words: str) -> None:
    """Three pairs that scatter leave a gain open, three that agree on none exclude it: the sentence tells which."""
    found = judge_candidate(paired_log_t([1.0, 1.0, 1.0], candidate), 1.05, ParityVerdict.PASS, 0, 12)
    assert found.reason is Reason.NO_GAIN
    assert words in found.sentence
    assert ("nor excluded" in found.sentence) == ("nor excluded" in words)
