"""The phase table of a real study against sums made by hand, and what Amdahl's law leaves to be won."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tachograph.analysis.phases import ceilings, checkpoints_among, phases
from tachograph.analysis.projection import projection
from tachograph.analysis.sealed import SealedStudy
from tachograph.analysis.study import sections
from tachograph.models.study import Projection
from tachograph.models.trainer import Phase
from tachograph.record.phases import phases as page
from tachograph.record.phases import phases as phases_page
from tachograph.record.projection import projection as projection_page


def mean_of(root: Path, arm: str, column: str) -> float:
    """Mean of a column over iterations 2 to 8 of both runs of an arm, read without the engine."""
    values = []
    for seed in (0, 1):
        path = root / f"results/stub/attempts/run-{arm}-seed{seed}/001/history.jsonl"
        values += [json.loads(line)[column] for line in path.read_text().splitlines()[1:]]
    assert len(values) == 14
    return sum(values) / 14


@pytest.mark.parametrize("arm", ["reference", "fast"])
def test_phases_are_means_after_warmup(executed: Path, analysis: dict[str, Any], arm: str) -> None:
    """Seconds and share of each phase are the means over the retained iterations of all runs of the arm."""
    found = analysis["phases"]["arms"][arm]
    whole = mean_of(executed, arm, "iteration_seconds")
    assert found["seconds"] == pytest.approx(whole)
    assert [row["phase"] for row in found["rows"]] == ["collection", "move update"]
    for row, column in zip(found["rows"], ("collection_seconds", "move_update_seconds"), strict=True):
        assert row["seconds"] == pytest.approx(mean_of(executed, arm, column))
        assert row["share"] == pytest.approx(mean_of(executed, arm, column) / whole)


def test_stage_alone_predicts_the_iteration(executed: Path, analysis: dict[str, Any]) -> None:
    """Amdahl's law: 1 / (1 - s + s/f) with the stage's share of the reference and its factor, by hand."""
    check = analysis["phases"]["predictions"][0]
    share = mean_of(executed, "reference", "collection_seconds") / mean_of(executed, "reference", "iteration_seconds")
    factor = {one["quantity"]: one["factor"] for one in analysis["factors"] if one["kind"] == "retained"}
    assert check["share"] == pytest.approx(share)
    assert check["predicted"] == pytest.approx(1 / (1 - share + share / factor["stage"]))
    assert check["measured"] == factor["iteration"]


def test_prediction_from_the_stage_fails_when_another_phase_changed(
    sealed: SealedStudy, analysis: dict[str, Any]
) -> None:
    """The update of the fast arm takes half a second more: flagged, that phase is named, although all phases add up.

    Put together from the ratios of all phases the prediction would be the measured factor whatever had happened.
    """
    runs = {}
    for key, run in sealed.runs.items():
        if run.history is not None and run.planned.arm == "fast":
            slower = {name: run.history.durations[name] + 0.5 for name in ("iteration", "move update")}
            run = replace(run, history=replace(run.history, durations={**run.history.durations, **slower}))
        runs[key] = run
    changed = sections(replace(sealed, runs=runs))
    check = changed["phases"]["predictions"][0]
    assert check["flagged"]
    assert check["most"]["phase"] == "move update"
    assert changed["phases"]["arms"]["fast"]["covered"] == pytest.approx(1, abs=0.05)
    told = phases_page({**changed, "registration": analysis["registration"]})
    assert "**more than 5 % apart**, so collection alone does not explain it" in told
    assert "The largest difference beside it is in move update" in told


def test_page_shows_closure_and_which_iterations(analysis: dict[str, Any], sealed: SealedStudy) -> None:
    """The sum of the phases stands above the iteration; iterations with a checkpoint are counted and explained."""
    told = phases_page(analysis)
    arm = analysis["phases"]["arms"]["reference"]
    total = sum(row["seconds"] for row in arm["rows"] if row["parent"] is None)
    row = next(line for line in told.splitlines() if line.startswith("| sum of the phases without a parent"))
    assert f"{total / arm['seconds']:.1%}" in row
    assert "14 (reference), 14 (fast)" in told
    assert "wrote a checkpoint" not in told
    history = next(run.history for run in sealed.of_arm("reference") if run.history is not None)
    flag = np.zeros(len(history))
    flag[-1] = 0.1
    saved = replace(
        history,
        spec=replace(history.spec, checkpoint="saving"),
        columns={**history.columns, "saving": flag},
        missing={**history.missing, "saving": flag < 0},
    )
    assert checkpoints_among([saved, saved], 1) == 2
    arms = {name: {**one, "checkpoints": 2} for name, one in analysis["phases"]["arms"].items()}
    told = phases_page({**analysis, "phases": {**analysis["phases"], "arms": arms}})
    assert "wrote a checkpoint are among them, 2 (reference), 2 (fast)" in told
    assert "rates leave them out" in told


def test_phase_without_time_is_neither_tabled_nor_judged(analysis: dict[str, Any]) -> None:
    """An evaluation takes 0 s in iterations without one: no row, and no sentence that work on it does not pay."""
    idle = {"phase": "evaluation", "seconds": 0.0, "share": 0.0, "parent": None, "nested": False, "parallel": False}
    arms = {name: {**one, "rows": [*one["rows"], idle]} for name, one in analysis["phases"]["arms"].items()}
    section = {**analysis["phases"], "arms": arms}
    told = phases_page({**analysis, "phases": section, "ceilings": ceilings(analysis["stages"], section)})
    assert [line for line in told.splitlines() if "evaluation" in line] == [
        "Not shown, as they take no time in these iterations: evaluation."
    ]


def test_ceilings_are_ranked_by_amdahl(analysis: dict[str, Any]) -> None:
    """Each ceiling is 1 / (1 - share), the largest first; a part below 1 - 1/1.05 = 4.8 % is not worth the work."""
    assert {(one["arm"], one["whole"]) for one in analysis["ceilings"]} == {
        (arm, whole) for arm in ("reference", "fast") for whole in ("step", "iteration")
    }
    for one in analysis["ceilings"]:
        shares = [row["share"] for row in one["rows"]]
        assert shares == sorted(shares, reverse=True)
        for row in one["rows"]:
            assert row["ceiling"] == pytest.approx(1 / (1 - max(row["share"], 0)))
            assert row["pays"] == (row["share"] >= 1 - 1 / 1.05)


def test_page_tells_the_ceiling_of_evaluations(analysis: dict[str, Any]) -> None:
    """Iterations without one cannot tell it: 0.2 s per iteration beside 0.8 s are 20 %, 1 / (1 - 0.2) = 1.25x."""
    engine = {"plain_seconds": 0.8, "evaluations": 0.2}
    arms = {"reference": {"engine": engine}, "fast": {"reason": "none"}}
    told = phases_page({**analysis, "evaluation": {"arms": arms}})
    assert "20.0% of an iteration of reference, which would be at most 1.250x as fast without them." in told
    assert "iteration of fast" not in told
    assert "Evaluations are in none" not in phases_page(analysis)


def test_part_that_is_everything_has_no_limit() -> None:
    """A phase that fills the iteration: its ceiling is no number, and the page says so."""
    row = {"phase": "all", "seconds": 1.0, "share": 1.0, "parent": None, "nested": False, "parallel": False}
    section = {"arms": {"only": {"rows": [row]}}}
    found = ceilings({"arms": {}, "rows": []}, section)
    assert found[0]["rows"][0]["ceiling"] is None
    assert found[0]["rows"][0]["pays"] is True


def test_nested_timer_that_nobody_declared_is_found(sealed: SealedStudy) -> None:
    """A third timer that runs inside the update: the sum is too much, it is named and ranked as part of another."""
    trainer = sealed.trainer
    declared = [*trainer.history.phases, Phase(name="inner", column="inner_seconds")]
    history = trainer.history.model_copy(update={"phases": declared})
    runs = {}
    for key, run in sealed.runs.items():
        if run.history is not None:
            durations = {**run.history.durations, "inner": run.history.durations["move update"] * 0.7}
            run = replace(run, history=replace(run.history, durations=durations))
        runs[key] = run
    changed = replace(sealed, runs=runs, trainer=trainer.model_copy(update={"history": history}))
    found = phases(changed, [])
    for one in found["arms"].values():
        assert one["nested"] == ["inner"]
        assert "too much: inner must lie inside other timers" in one["warnings"][0]
    ranked = ceilings({"arms": {}, "rows": []}, found)
    assert all(row["part"] != "inner" for one in ranked for row in one["rows"])
    assert [[(row["part"], row["part_of"]) for row in one["nested"]] for one in ranked] == [[("inner", None)]] * 2


def test_trainer_without_phases_has_no_table(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """No phase is declared: the page says that there is no table and why, and ranks the stages alone."""
    history = sealed.trainer.history.model_copy(update={"phases": []})
    found = phases(replace(sealed, trainer=sealed.trainer.model_copy(update={"history": history})), [])
    assert "declares no phase" in found["reason"]
    left = {**analysis, "phases": found, "ceilings": ceilings(analysis["stages"], found)}
    assert "There is no phase table" in page(left)
    assert "share of the step" in page(left)
    assert "share of the iteration" not in page(left)


def test_page_names_the_parts_on_which_no_work_pays() -> None:
    """A part below the threshold is named, one above it is not; where all are above it, that is said."""
    rows = [
        {"part": name, "share": share, "ceiling": 1 / (1 - share), "pays": share >= 1 - 1 / 1.05}
        for name, share in (("forward", 0.9), ("sampling", 0.06), ("copies", 0.04))
    ]
    record = {
        "phases": {"arms": {}, "predictions": [], "reason": "none"},
        "registration": {"arm_order": ["reference", "fast"]},
        "ceilings": [
            {"arm": "fast", "whole": "step", "rows": rows, "nested": []},
            {"arm": "reference", "whole": "step", "rows": rows[:2], "nested": []},
        ],
    }
    text = phases_page(record)
    assert "In fast no work pays on copies: without any one of them the step would be less than 5% faster." in text
    assert "In reference work could pay on each of them." in text


def test_projection_counts_evaluations_alike_in_all_arms(sealed: SealedStudy) -> None:
    """Where the excess of one arm cannot be told, the timer counts in every arm; hours are seconds x iterations."""
    study = sealed.study.model_copy(update={"projection": Projection(iterations=3600, evaluation_every=[10])})
    tables = {arm: {"seconds": 2.0, "checkpoints": 0} for arm in sealed.study.arms}
    costs = {
        "reference": {"excess": 5.0, "told": True, "timer": 4.0, "every": 7, "games": None},
        "fast": {"excess": 1.0, "told": False, "timer": 3.0, "every": 7, "games": None},
    }
    kinds = {arm: {"kinds": [one]} for arm, one in costs.items()}
    rows = projection(replace(sealed, study=study), {"arms": tables}, {"arms": kinds})["rows"]
    found = {(row["arm"], row["every"]): row for row in rows}
    assert set(found) == {(arm, every) for arm in costs for every in (None, 10)}
    assert found["reference", None]["hours"] == pytest.approx(2.0)
    assert (found["reference", 10]["hours"], found["fast", 10]["hours"]) == pytest.approx((2.4, 2.3))
    assert {found[arm, 10]["evaluation_by"] for arm in costs} == {"timer"}
    costs["fast"]["told"] = True
    rows = projection(replace(sealed, study=study), {"arms": tables}, {"arms": kinds})["rows"]
    assert {row["arm"]: row["hours"] for row in rows if row["every"]} == pytest.approx({"reference": 2.5, "fast": 2.1})


def test_projection_keeps_light_evaluations_as_often_as_they_were(sealed: SealedStudy) -> None:
    """Full ones of 18 s every 10 iterations, and light ones of 1 s every 5 as observed: 2 + 1.8 + 0.2 s."""
    study = sealed.study.model_copy(update={"projection": Projection(iterations=3600, evaluation_every=[10])})
    tables = {arm: {"seconds": 2.0, "checkpoints": 0} for arm in sealed.study.arms}
    full = {"excess": 18.0, "told": True, "timer": 18.0, "every": 25, "games": 100}
    light = {"excess": 1.0, "told": True, "timer": 1.0, "every": 5, "games": 20}
    kinds = {arm: {"kinds": [full, light]} for arm in sealed.study.arms}
    section = projection(replace(sealed, study=study), {"arms": tables}, {"arms": kinds})
    found = {row["every"]: row for row in section["rows"] if row["arm"] == "fast"}
    assert (found[None]["hours"], found[10]["hours"]) == pytest.approx((2.0, 4.0))
    assert (found[10]["games"], found[10]["beside_seconds"]) == (100, pytest.approx(0.2))
    design = {"arm_order": sorted(sealed.study.arms), "design": {"iterations": 8}}
    told = projection_page({"registration": design, "projection": section})
    assert "smaller ones are taken to be as frequent as in these runs and cost 0.200 s/iteration (fast)" in told
