"""Deviations are collected by the program: each kind is provoked for real and must be told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tachograph_study import execute_study, lay_out, opened

from tachograph.analysis.sealed import read_sealed
from tachograph.analysis.study import analyse, sections
from tachograph.commands.settle import settle
from tachograph.evidence.history import read_history
from tachograph.execution.judging import history_spec
from tachograph.study.layout import StudyFolder


def kinds(analysis: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["kind"]: one for one in analysis["deviations"]}


def headline(analysis: dict[str, Any]) -> dict[str, Any]:
    return next(one for one in analysis["factors"] if one["headline"])


def test_forced_rerun_is_a_deviation_and_both_attempts_are_listed(workshop: Path) -> None:
    """A run made again: the discard is told with its reason, and the block is no longer adjacent."""
    folder = execute_study(workshop, forced="run-fast-seed0")
    analysis = analyse(folder)
    assert kinds(analysis)["discarded"]["what_happened"].endswith("forced rerun; no record had told its numbers")
    assert kinds(analysis)["discarded"]["run"] == "run-fast-seed0"
    told = [one["what_happened"] for one in analysis["deviations"] if one["kind"] == "order"]
    assert "the runs of block 1 are not adjacent" in told  # the first one, as `tachograph plan` counts
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


def test_settled_failure_is_told_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An arm that exits and is settled makes its run invalid; once the edit is undone the first attempt counts."""
    lay_out(tmp_path)
    execute_study(tmp_path)
    path = tmp_path / "config/studies/stub.toml"
    before = path.read_text()
    path.write_text(before.replace('{ STUB_PATH = "fast" }', '{ STUB_PATH = "fast", STUB_FAIL = "fast 1" }'))
    folder = execute_study(tmp_path)
    planned = next(run for run in opened(tmp_path).planned if run.key == "run-fast-seed1")
    settle(folder, planned, "it exits each time")
    settled = kinds(analyse(folder))["settled"]
    assert settled["effect"] == "the run is invalid and gives no number anywhere"
    path.write_text(before)
    analysis = analyse(execute_study(tmp_path))
    assert analysis["counts"]["counted"] == analysis["counts"]["planned"]
    assert kinds(analysis)["settled"]["effect"] == "none any more: attempt 1 counts"


def test_finding_of_a_history_is_told_only_if_it_touches_a_number(executed: Path, tmp_path: Path) -> None:
    """A step of the wall clock becomes a deviation; CRLF line ends stand in the ingest report alone."""
    sealed = read_sealed(StudyFolder(executed / "results/stub"))
    run = sealed.runs["run-fast-seed0"]
    rows = [json.loads(line) for line in run.path.read_text().splitlines()]
    for row in rows[4:]:
        row["wall"] += 3600
    path = tmp_path / "history.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\r\n" for row in rows))
    history = read_history(path, history_spec(sealed.trainer.history))
    changed = replace(sealed, runs={**sealed.runs, run.planned.key: replace(run, path=path, history=history)})
    analysis = sections(changed)
    told = [one["what_happened"] for one in analysis["deviations"] if one["kind"] == "history"]
    assert len(told) == 1
    assert told[0].startswith("clock step: the wall clock stepped by +3600")
    found = next(one for one in analysis["runs"] if one["run"] == "run-fast-seed0")["findings"]
    assert {one["kind"] for one in found} == {"clock step", "CRLF line ends"}


def test_what_ran_must_not_differ_within_an_arm(executed: Path, tmp_path: Path) -> None:
    """A run that says in the middle that it went on elsewhere is told, and so is the arm that is mixed by it."""
    sealed = read_sealed(StudyFolder(executed / "results/stub"))
    run = sealed.runs["run-fast-seed0"]
    lines = run.path.read_text().splitlines(keepends=True)
    path = tmp_path / "history.jsonl"
    path.write_text("".join(lines[:3] + [line.replace('"path": "fast"', '"path": "slow"') for line in lines[3:]]))
    changed = replace(sealed, runs={**sealed.runs, run.planned.key: replace(run, path=path)})
    found = kinds(sections(changed))
    assert found["changed within a run"]["what_happened"] == "path was fast, then slow"
    assert found["mixed"]["what_happened"] == "path differs between runs of arm fast: fast, slow"


def test_edited_arm_is_run_again_and_its_earlier_attempts_are_marked(workshop: Path) -> None:
    """Another variable of the fast arm: only fast runs are made again; the earlier attempts stay, marked."""
    path = workshop / "config/studies/stub.toml"
    path.write_text(path.read_text().replace('{ STUB_PATH = "fast" }', '{ STUB_PATH = "fast", STUB_PAUSE = "0.015" }'))
    analysis = analyse(execute_study(workshop))
    again = {one["run"] for one in analysis["attempts"] if one["attempt"] == 2}
    assert again == {"profile-fast-seed0", "run-fast-seed0", "run-fast-seed1"}
    earlier = [one for one in analysis["attempts"] if not one["current_plan"]]
    assert {one["run"] for one in earlier} == again
    assert not any(one["counts"] for one in earlier)
    assert analysis["counts"]["counted"] == 13
