"""Deviations are collected by the program: each kind is provoked for real and must be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tachograph_study import execute_study, lay_out

from tachograph.analysis.study import analyse
from tachograph.layout import StudyFolder


def kinds(analysis: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in analysis["deviations"]}


def headline(analysis: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in analysis["factors"] if one["headline"])


def test_forced_rerun_is_a_deviation_and_both_attempts_are_listed(workshop: Path) -> None:
    """A run made again: the discard is told with its reason, and the block is no longer adjacent."""
    folder = execute_study(workshop, forced="run-fast-seed0")
    analysis = analyse(folder)
    assert kinds(analysis)["discarded"]["what_happened"].endswith("forced rerun")
    assert kinds(analysis)["discarded"]["run"] == "run-fast-seed0"
    assert any("not adjacent" in one["what_happened"] for one in analysis["deviations"] if one["kind"] == "order")
    attempts = [one for one in analysis["attempts"] if one["run"] == "run-fast-seed0"]
    assert [one["counts"] for one in attempts] == [False, True]
    assert analysis["counts"]["discarded"] == 1
    assert len(analysis["first_attempts"]) == 1
    assert analysis["first_attempts"][0]["factor"] != headline(analysis)["factor"]


def test_amendment_names_the_changed_keys(workshop: Path) -> None:
    """A study edited after its runs: the amendment is told with the keys, and that results were known."""
    path = workshop / "config/studies/stub.toml"
    path.write_text(path.read_text().replace("window = [4, 8]", "window = [3, 8]"))
    analysis = analyse(execute_study(workshop))
    assert "study.design.window" in kinds(analysis)["amendment"]["what_happened"]
    assert kinds(analysis)["amendment"]["when_noticed"] == "after results were known"
    assert analysis["counts"]["attempts"] == 13  # a window is no reason to train again


def test_failed_run_gives_no_number_and_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A trainer that dies: its attempt is listed with exit code and last words, and no factor uses it."""
    lay_out(tmp_path, lambda text: text.replace("repeat_reference = true", ""))
    monkeypatch.setenv("STUB_FAIL", "fast 1")
    analysis = analyse(execute_study(tmp_path))
    assert "told to fail" in kinds(analysis)["failed"]["what_happened"]
    assert analysis["status"] == "incomplete"
    assert analysis["counts"]["invalid"] == 1
    assert [pair["seed"] for pair in headline(analysis)["pairs"]] == [0]
    assert any("run-fast-seed1" in one["why"] for one in analysis["not_measured"])
    assert not analysis["repeat"]["registered"]
    assert StudyFolder(tmp_path / "results/stub").attempts.is_dir()
