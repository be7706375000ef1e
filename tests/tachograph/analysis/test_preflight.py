"""Preflight: each check passes on sound files and fails on a file that is broken in its way."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tachograph.analysis.preflight import preflight
from tachograph.analysis.sealed import SealedStudy, read_sealed
from tachograph.study.layout import StudyFolder


@pytest.fixture
def sealed(executed: Path) -> SealedStudy:
    return read_sealed(StudyFolder(executed / "results/stub"))


def verdicts(found: dict[str, Any]) -> dict[tuple[str, str], str]:
    return {(check["check"], check["arm"]): check["verdict"] for check in found["checks"]}


def with_result(sealed: SealedStudy, key: str, path: Path, edit: Any) -> SealedStudy:
    """The study with another result in the place of one run's."""
    run = sealed.runs[key]
    path.write_text(edit(run.path.read_text()))
    return replace(sealed, runs={**sealed.runs, key: replace(run, path=path)})


def parity(change: dict[str, Any], arm: str) -> Any:
    def edit(text: str) -> str:
        content = json.loads(text)
        for tensor in content["tensors"]:
            if tensor["arm"] == arm:
                tensor.update(change)
        return json.dumps(content)

    return edit


def test_sound_files_pass(sealed: SealedStudy) -> None:
    """Reference repeats, the fast arm is as near to float64 as allowed, the smoke check is identical."""
    found = preflight(sealed)
    assert found["ok"] is True
    assert set(verdicts(found).values()) == {"PASS"}
    assert found["not_registered"] == []


@pytest.mark.parametrize(
    ("arm", "change", "check", "verdict"),
    [
        ("fast", {"rmse_fp64": 0.5}, ("numerics parity", "fast"), "FAIL"),
        ("fast", {"nonfinite_rows": 3}, ("numerics parity", "fast"), "FAIL"),
        ("reference", {"repeat_max_abs": 0.1}, ("reference repeats", "reference"), "REFERENCE NOT REPEATABLE"),
        ("reference", {"rmse_fp64": 2e-4}, ("reference repeats", "reference"), "REFERENCE BROKEN"),
        ("reference", {"nonfinite_rows": 1}, ("reference repeats", "reference"), "REFERENCE BROKEN"),
    ],
)
def test_broken_parity_is_named(
    sealed: SealedStudy, tmp_path: Path, arm: str, change: dict[str, Any], check: tuple[str, str], verdict: str
) -> None:
    """Each way in which an arm can be wrong has its own word, and never a pass."""
    found = preflight(with_result(sealed, "parity-all-seed0", tmp_path / "parity.json", parity(change, arm)))
    assert verdicts(found)[check] == verdict
    assert found["ok"] is False


def test_broken_reference_passes_no_arm(sealed: SealedStudy, tmp_path: Path) -> None:
    """If the reference does not repeat, no arm can be compared to it and none passes."""
    edit = parity({"repeat_max_abs": 0.1}, "reference")
    found = preflight(with_result(sealed, "parity-all-seed0", tmp_path / "parity.json", edit))
    assert verdicts(found)["numerics parity", "fast"] != "PASS"


def test_damaged_parity_file_is_no_verdict(sealed: SealedStudy, tmp_path: Path) -> None:
    """A parity file without numbers judges nothing: NO VERDICT, never a pass."""
    edit = lambda text: text.replace('"rmse_fp64"', '"rmse"')  # noqa: E731
    found = preflight(with_result(sealed, "parity-all-seed0", tmp_path / "parity.json", edit))
    assert verdicts(found)["numerics parity", "fast"] == "NO VERDICT"
    assert found["ok"] is False


def test_first_smoke_difference_is_named(sealed: SealedStudy, tmp_path: Path) -> None:
    """One more kept transition in iteration 2: the check fails and says iteration, column and both values."""
    lines = sealed.runs["preflight-reference-before-seed123"].path.read_text().splitlines()
    kept = json.loads(lines[1])["kept"]
    edit = lambda text: text.replace(lines[1], lines[1].replace(f'"kept": {kept}', f'"kept": {kept + 1}'))  # noqa: E731
    found = preflight(with_result(sealed, "preflight-reference-before-seed123", tmp_path / "history.jsonl", edit))
    smoke = next(check for check in found["checks"] if check["check"] == "smoke")
    assert smoke["verdict"] == "FAIL"
    assert smoke["detail"] == f"first difference in iteration 2, kept: {float(kept)} and {float(kept + 1)}"


def test_text_is_never_called_identical(sealed: SealedStudy) -> None:
    """A smoke column that holds text cannot be compared, so the check fails instead of passing."""
    smoke = [sealed.study.smoke[0].model_copy(update={"columns": ["device"]})]
    study = sealed.study.model_copy(update={"smoke": smoke})
    assert verdicts(preflight(replace(sealed, study=study)))["smoke", "reference"] == "FAIL"


def _replaced(text: str, old: str, new: str) -> str:
    return text.replace(old, new)


def test_cells_that_both_lack_are_the_same(sealed: SealedStudy, tmp_path: Path) -> None:
    """A column that only some rows hold is identical where both lack it; one that no row holds is not."""
    smoke = [sealed.study.smoke[0].model_copy(update={"columns": ["kept"]})]
    changed = replace(sealed, study=sealed.study.model_copy(update={"smoke": smoke}))
    for key in ("preflight-reference-seed123", "preflight-reference-before-seed123"):
        lines = sealed.runs[key].path.read_text().splitlines()
        without = {name: value for name, value in json.loads(lines[0]).items() if name != "kept"}
        edit = partial(_replaced, old=lines[0], new=json.dumps(without))
        changed = with_result(changed, key, tmp_path / f"{key}.jsonl", edit)
    assert verdicts(preflight(changed))["smoke", "reference"] == "PASS"


def test_study_without_checks_says_so(sealed: SealedStudy) -> None:
    """A study that registers neither says that they are not registered, and is not ok either."""
    study = sealed.study.model_copy(update={"smoke": [], "parity": None})
    found = preflight(replace(sealed, study=study))
    assert found["ok"] is None
    assert found["not_registered"] == ["parity", "smoke"]
