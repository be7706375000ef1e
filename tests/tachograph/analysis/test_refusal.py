"""A machine that does not repeat is nobody's reference: a study that asked it compares nothing and says so (D22)."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tachograph.analysis.sealed import SealedStudy, read_sealed
from tachograph.analysis.study import sections
from tachograph.models.cells import CellGroup, MachineChecks
from tachograph.study.layout import StudyFolder

CELL = CellGroup(name="conv", kind="repeatability", operation="convolution")


def cell_file(repeats: bool, status: str = "finished", signal: str | None = None) -> dict[str, Any]:
    """What a repeatability cell leaves: 6.25 % of the elements differ, or none."""
    row = {
        "threads": 1, "process": 0, "repeats": 20, "hashes": {"a": 20} if repeats else {"a": 10, "b": 10},
        "fraction_differing": 0.0 if repeats else 0.0625, "max_abs_difference": 0.0 if repeats else 0.146,
        "max_magnitude": 1.0, "nonfinite_calls": 0, "corrupted_calls": None,
    }  # fmt: skip
    record = {
        "settings": {"device": "cpu"},
        "measured": {"rows": [row]},
        "host": {"processors": 2, "foreign_processors": None, "stolen_processors": None, "unknown": {}},
        "fault": None,
    }
    ended = {"started": True, "status": status, "signal": signal, "exit_code": 0, "oom_kills": 0, "seconds": 1.0}
    return {
        "schema": "cell/1",
        "cell": "conv",
        "ended": {**ended, "limit_seconds": 30.0, "reason": ""},
        "said": "",
        "record": None if signal else record,
        "unreadable": None,
    }


@pytest.fixture
def asked(executed: Path, tmp_path: Path) -> Any:
    """The executed stub study as if it had asked the machine whether a convolution repeats, with the cell given."""
    sealed = read_sealed(StudyFolder(executed / "results/stub"))
    assert isinstance(sealed, SealedStudy)

    def with_cell(file: dict[str, Any] | None) -> SealedStudy:
        checks = MachineChecks(checker="stub", cells=[CELL])
        study = sealed.study.model_copy(update={"machine": checks})
        if file is None:
            return replace(sealed, study=study)
        path = tmp_path / "conv.json"
        path.write_text(json.dumps(file))
        some = next(iter(sealed.of_role("parity")))
        run = replace(some, planned=replace(some.planned, role="cell", arm="conv"), path=path)
        return replace(sealed, study=study, runs={**sealed.runs, run.planned.key: run})

    return with_cell


def test_a_machine_that_repeats_allows_the_comparison(asked: Any) -> None:
    """The check passes, says what zero of 20 is worth, and the factor is there."""
    found = sections(asked(cell_file(True)))
    check = found["preflight"]["checks"][0]
    assert (check["check"], check["arm"], check["verdict"]) == ("machine repeats", "conv", "PASS")
    assert "a rate of up to 15.0% is not excluded" in check["detail"]
    assert next(one for one in found["factors"] if one["headline"])["factor"] > 1


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (
            cell_file(False),
            "REFERENCE NOT REPEATABLE (does not repeat at 1 thread (process 0): 2 different results",
        ),
        (cell_file(True, "killed", "SIGSEGV"), "not measured (crashed(SIGSEGV))"),
        (None, "not measured (no attempt counts)"),
    ],
)
def test_no_comparison_without_a_reference(asked: Any, file: Any, words: str) -> None:
    """No factor, parity skipped and not passed, no verdict on curves, and the sentence says why; never a pass."""
    found = sections(asked(file))
    assert {one["factor"] for one in found["factors"]} == {None}
    assert all(words in one["reason"] for one in found["factors"])
    parity = [one for one in found["preflight"]["checks"] if one["check"] in ("reference repeats", "numerics parity")]
    assert {one["verdict"] for one in parity} == {"NO VERDICT"}
    assert all(one["detail"].startswith("skipped, nothing is compared: conv: ") for one in parity)
    assert {one["verdict"] for one in found["curve_verdicts"]} == {"NO VERDICT"}
    assert found["prediction"]["verdict"] == "NOT TESTED"
    assert found["preflight"]["ok"] is False
