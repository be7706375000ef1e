"""The front matter of a machine study's page follows from the record, field by field."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from tachograph.record.machine_page import front_matter

CLEAN = {"commit": "ca75b8b47fcf", "dirty": False}
QUIET, BUSY = {"held_back": None}, {"held_back": "re-measure on an idle host"}


def fields(verdict: str = "PASS", trainer: Any = CLEAN, rates: Any = (QUIET,)) -> dict[str, Any]:
    """The front matter as a site reads it."""
    record = {
        "study": {"title": 'Is it "right": yes?'},
        "findings": [f"Verdict: {verdict}. 3 of 3 cells were measured."],
        "summary": {"verdict": verdict},
        "registration": {"git_now": {"workflow": CLEAN, "trainer": trainer}},
        "rows": {"matmul": [], "training": list(rates)},
    }
    first, *lines, last = front_matter(record).splitlines()
    assert (first, last) == ("---", "---")
    found: dict[str, Any] = yaml.safe_load("\n".join(lines))
    return found


def test_all_fields() -> None:
    """Title and summary survive YAML as they are; a machine that is right supports others and claims nothing itself."""
    assert fields() == {
        "title": 'Is it "right": yes?', "summary": "Verdict: PASS. 3 of 3 cells were measured.", "verdict": "PASS",
        "status": "support-only", "evidence": "committed", "reads": "performance",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("verdict", "status"), [("FAIL", "unfit"), ("INCOMPLETE", "incomplete"), ("WARN", "support-only")]
)
def test_status_is_the_verdicts(verdict: str, status: str) -> None:
    """A wrong machine is unfit, a half-shown one incomplete."""
    assert fields(verdict)["status"] == status


@pytest.mark.parametrize("trainer", [{"commit": None, "dirty": None}, {"commit": "ca75b8b47fcf", "dirty": True}])
def test_evidence_is_committed_only_from_clean_commits(trainer: Any) -> None:
    """Code that no commit holds is uncommitted evidence."""
    assert fields(trainer=trainer)["evidence"] == "uncommitted"


@pytest.mark.parametrize("rates", [[QUIET, BUSY], []])
def test_one_rate_of_a_busy_host_makes_it_diagnostic(rates: list[Any]) -> None:
    """Performance may be read from it only where every rate was taken on a quiet host, and there was one."""
    assert fields(rates=rates)["reads"] == "diagnostic"
