"""Candidates: kept or rejected, and why."""

from __future__ import annotations

import pytest

from tachograph.evidence.candidates import bad_steps, judge_candidate
from tachograph.evidence.interval import paired_log_t
from tachograph.evidence.verdicts import ParityVerdict, Reason

GAIN = paired_log_t([86.1, 86.5, 85.9, 86.0][::-1], [121.5, 121.9, 121.4, 122.0])


def test_candidate_with_nan_rows_is_rejected_with_its_speed() -> None:
    """D25: NaN rows in steps 3 and 7 of 202 reject the candidate; its rate and its speed are told."""
    found = judge_candidate(GAIN, 1.05, ParityVerdict.PASS, nonfinite_steps=2, steps=202)
    assert (found.kept, found.reason) == (False, Reason.INVALID_OUTPUT)
    assert "2/202 (0.99%) steps with NaN rows" in found.sentence
    assert "1.41x" in found.sentence
    assert bad_steps(44, 202) == "44/202 (21.78%) steps with NaN rows"


@pytest.mark.parametrize(
    ("parity", "superseded", "minimum", "reason"),
    [
        (ParityVerdict.FAIL, None, 1.05, Reason.INVALID_OUTPUT),
        (ParityVerdict.NO_VERDICT, None, 1.05, Reason.NOT_MATCHED),
        (ParityVerdict.REFERENCE_BROKEN, None, 1.05, Reason.NOT_MATCHED),
        (ParityVerdict.PASS, "rows", 1.05, Reason.SUPERSEDED),
        (ParityVerdict.PASS, None, 1.60, Reason.NO_GAIN),
        (ParityVerdict.PASS, None, 1.05, None),
        (ParityVerdict.NOT_REGISTERED, None, 1.05, None),
    ],
)
def test_candidate_reasons(
    parity: ParityVerdict, superseded: str | None, minimum: float, reason: Reason | None
) -> None:
    """Each reason to reject a candidate is reached, and one without any is kept."""
    found = judge_candidate(GAIN, minimum, parity, 0, 202, superseded)
    assert found.reason is reason
    assert found.kept is (reason is None)


def test_single_measurement_keeps_no_candidate() -> None:
    """A factor without an interval shows no gain, nor does a missing one."""
    single = paired_log_t([1], [1.41])
    assert judge_candidate(single, 1.05, ParityVerdict.PASS, 0, 202).reason is Reason.NO_GAIN
    assert judge_candidate(None, 1.05, ParityVerdict.PASS, 0, 202).reason is Reason.NO_GAIN
    with pytest.raises(ValueError, match="real batches"):
        judge_candidate(single, 1.05, ParityVerdict.PASS, 0, 0)
