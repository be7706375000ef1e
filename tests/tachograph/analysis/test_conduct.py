"""What a record says of the rules by which its study was conducted."""

from __future__ import annotations

from pathlib import Path

import pytest

from tachograph.analysis.conduct import conduct, timestamp_proof
from tachograph.analysis.sealed import read_sealed
from tachograph.study.layout import StudyFolder


@pytest.mark.parametrize(
    ("git", "kind"),
    [
        ({"commit": "a" * 40, "dirty": False}, "git"),
        ({"commit": "a" * 40, "dirty": True}, "none"),
        ({"commit": None, "dirty": None}, "none"),
    ],
)
def test_only_a_clean_commit_can_prove_a_time(git: dict, kind: str) -> None:
    """With uncommitted changes, or without a repository, nothing but the machine's clock dates a registration."""
    assert timestamp_proof(git)["kind"] == kind


def test_the_gates_that_were_applied_are_named(executed: Path) -> None:
    """The rules of exclusion name every gate by which a run of this study was judged, and nothing else."""
    sealed = read_sealed(StudyFolder(executed / "results/stub"))
    gates = {check["name"] for run in sealed.runs.values() for check in run.facts["checks"]}
    (rule,) = [one for one in conduct(sealed)["exclusion_rules"] if "gate" in one]
    assert set(rule.split(": ")[1].split(", ")) == gates
    assert "finite metrics" in gates
