"""Profiles of a real study beside its training runs: another pace is told, and shares that are none are not quoted."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest

from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.analysis.study import sections
from tachograph.record.stages import stages as page


def with_profile(sealed: SealedStudy, folder: Path, **changed: Any) -> SealedStudy:
    """The study with another profile of its reference."""
    run = sealed.runs["profile-reference-seed0"]
    path = folder / "reference.json"
    path.write_text(json.dumps({**run.content(), **changed}))
    return replace(sealed, runs={**sealed.runs, run.planned.key: SealedRun(**{**vars(run), "path": path})})


def beside(sealed: SealedStudy, folder: Path, arm: str, content: dict[str, Any]) -> SealedStudy:
    """The study with one more measurement of the role of profiles: the component's, or a sweep's."""
    run = sealed.runs["profile-reference-seed0"]
    path = folder / "beside.json"
    path.write_text(json.dumps(content))
    other = replace(run, planned=replace(run.planned, arm=arm), path=path)
    return replace(sealed, runs={**sealed.runs, f"profile-{arm}-seed0": other})


def told(analysis: dict[str, Any]) -> list[str]:
    return [one["what_happened"] for one in analysis["deviations"] if one["kind"] == "profile"]


def test_profile_stands_beside_its_training_runs(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """Each arm's rate after warm-up is the geometric mean of its runs; the step's factor stands beside the headline."""
    for arm, one in analysis["stages"]["arms"].items():
        rates = [
            run["rates"]["stage"]["retained"]["value"]
            for run in analysis["runs"]
            if (run["role"], run["arm"]) == ("run", arm)
        ]
        assert one["training_rate"] == pytest.approx(geometric_mean(rates))
    check = analysis["stages"]["checks"][0]
    headline = next(one for one in analysis["factors"] if one["headline"])
    assert check["measured"] == headline["factor"]
    assert check["predicted"] == analysis["stages"]["factors"]["fast"]
    assert (check["sentence"] is None) is (abs(check["measured"] / check["predicted"] - 1) <= 0.05)


def test_profile_at_another_pace_is_a_deviation(sealed: SealedStudy, tmp_path: Path) -> None:
    """A profile at a tenth of the pace of the runs: told at the table and among the deviations, as is the factor."""
    content = sealed.runs["profile-reference-seed0"].content()
    slow = [{**stage, "seconds": 10 * stage["seconds"]} for stage in content["stages"]]
    seconds = 10 * content["total_seconds"]
    analysis = sections(with_profile(sealed, tmp_path, stages=slow, total_seconds=seconds, uninstrumented=None))
    assert any("the training runs after warm-up" in one and "slower" in one for one in told(analysis))
    assert any("the shares explain the profiles and not the headline" in one for one in told(analysis))
    text = page(analysis)
    assert "the training runs after warm-up" in text
    assert "add up to a factor of" in text


def test_shares_of_unsynchronised_timers_are_not_to_be_quoted(
    sealed: SealedStudy, analysis: dict[str, Any], tmp_path: Path
) -> None:
    """I16: the page forbids to quote the shares of the arm whose timers were not synchronised, of no other one."""
    sentence = "The shares of reference are not to be quoted"
    assert sentence not in page(analysis)
    assert sentence in page(sections(with_profile(sealed, tmp_path, synchronized=False)))


def test_speed_is_judged_without_a_profile(sealed: SealedStudy) -> None:
    """A study that registers no profile has no bound of a factor, and its speed is judged all the same."""
    study = sealed.study.model_copy(update={"profile": None})
    runs = {key: run for key, run in sealed.runs.items() if run.planned.role != "profile"}
    found = sections(replace(sealed, study=study, runs=runs))
    assert found["stages"]["bounds"] == {}
    sentences = [one["sentence"] for one in found["decision"]["arms"]]
    assert sentences
    assert not any("could not be judged" in sentence for sentence in sentences)


def test_sweep_beside_the_profiles_leaves_the_stage_table(
    sealed: SealedStudy, analysis: dict[str, Any], tmp_path: Path
) -> None:
    """A sweep has the role of a profile, and is none: the stages are those of the arms."""
    found = sections(beside(sealed, tmp_path, "sweep", {"schema": "forward-sweep/1"}))
    assert set(found["stages"]["arms"]) == {"reference", "fast"}
    assert found["stages"] == analysis["stages"]


def test_component_without_a_rate_is_told(sealed: SealedStudy, tmp_path: Path) -> None:
    """An empty list of rates is no measurement: the page says so instead of the component's name."""
    empty = beside(sealed, tmp_path, "component", {"schema": "component/1", "name": "engine", "rates": []})
    found = sections(replace(empty, study=empty.study.model_copy(update={"component": True})))
    assert found["component"]["rates"] == []
    assert "found no rate" in found["component"]["reason"]
    assert "The component alone: " in page(found)
