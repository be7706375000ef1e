"""Every planted fault is caught, clean runs are not, and the self-test itself can fail."""

from __future__ import annotations

import pytest

from machinecheck import faults, outcome, selftest
from machinecheck.verdict import Verdict

CLEAN = {"repetitions": 0, "runs": 0, "alarms": []}


def test_every_planted_fault_is_caught(tmp_path):
    """Through the real runner and real cells, each of the eight faults is caught, and clean cells pass."""
    found = selftest.run(tmp_path, 1, lambda _: None)
    assert found["reasons"] == []
    assert found["verdict"] is Verdict.PASS
    assert [row["fault"] for row in found["detection"]] == list(faults.NAMES)
    assert all(row["caught"] == row["planted"] > 0 for row in found["detection"])


def test_no_false_alarm_in_twenty_repetitions():
    """Twenty repetitions of eleven clean cells, each with other data, all pass."""
    found = selftest.false_alarms(20)
    assert (found["runs"], found["alarms"]) == (220, [])


def result(arm: str, verdict: Verdict, **more):
    """A cell's outcome, as the runner gives it."""
    record = {"fault": None if arm == selftest.CLEAN_ARM else arm}
    return {
        "cell": "c",
        "arm": arm,
        "verdict": verdict,
        "outcome": "done",
        "reasons": [],
        "record": record,
    } | more


def all_caught():
    """Outcomes in which every fault is caught."""
    rows = [result(name, Verdict.FAIL) for name in faults.NAMES if name not in selftest.EXPECTED_OUTCOMES]
    for name, expected in selftest.EXPECTED_OUTCOMES.items():
        rows.append(result(name, Verdict.INCOMPLETE, outcome=expected, record=None))
    return [*rows, result(selftest.CLEAN_ARM, Verdict.PASS)]


def test_selftest_passes_only_if_all_is_caught():
    """With all caught and nothing clean accused it passes."""
    assert selftest.judge(all_caught(), CLEAN) == (Verdict.PASS, [])


@pytest.mark.parametrize("fault", faults.NAMES)
def test_missed_fault_fails_the_selftest(fault):
    """A fault that passes, or was not planted at all, fails the self-test by its name."""
    rows = [result(fault, Verdict.PASS) if row["arm"] == fault else row for row in all_caught()]
    verdict, reasons = selftest.judge(rows, CLEAN)
    assert verdict is Verdict.FAIL
    assert reasons == [f"{fault}: caught 0 of 1 times"]
    without = [row for row in all_caught() if row["arm"] != fault]
    assert selftest.judge(without, CLEAN)[1] == [f"{fault}: caught 0 of 0 times"]


def test_false_alarm_fails_the_selftest():
    """A clean cell that fails, no clean cell at all, or an alarm in a repetition fails the self-test."""
    rows = all_caught()
    accused = [*rows[:-1], result(selftest.CLEAN_ARM, Verdict.FAIL)]
    assert selftest.judge(accused, CLEAN)[0] is Verdict.FAIL
    assert selftest.judge(rows[:-1], CLEAN)[1] == ["no clean cell was run"]
    assert selftest.judge(rows, CLEAN | {"alarms": ["x"]})[1] == ["false alarm: x"]


def test_a_crash_for_another_reason_is_not_the_hang():
    """A planted hang that crashed instead was not caught."""
    assert not selftest.caught(faults.HANG, result(faults.HANG, Verdict.INCOMPLETE, outcome=outcome.CRASHED))
