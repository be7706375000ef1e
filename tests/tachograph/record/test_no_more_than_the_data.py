"""A page says no more than the data do: what a verdict rests on, which jobs, which windows, which points."""

from __future__ import annotations

import copy
import json
import math
import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tachograph.analysis import rates
from tachograph.analysis.deviations import deviations
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.analysis.study import sections
from tachograph.figures import draw
from tachograph.models.study import Prediction
from tachograph.record import decision, head, reliability, speed, stages, trust
from tachograph.record.outcome import outcome

T_ONE = 12.7062  # 97.5 % point of Student's t with 1 degree of freedom, from a printed table


@pytest.fixture
def record(analysis: dict[str, Any]) -> dict[str, Any]:
    return copy.deepcopy(analysis)


def predicting(sealed: SealedStudy, **keys: Any) -> dict[str, Any]:
    predicted = Prediction(arm="fast", reason="a guess", **keys)
    return sections(replace(sealed, study=sealed.study.model_copy(update={"prediction": predicted})))


def with_host(sealed: SealedStudy, key: str, **quantities: Any) -> SealedStudy:
    """The study with other readings of the host during one job."""
    run = sealed.runs[key]
    host = {**run.facts["host"], "quantities": {**run.facts["host"]["quantities"], **quantities}}
    return replace(sealed, runs={**sealed.runs, key: replace(run, facts={**run.facts, "host": host})})


def contention(sealed: SealedStudy) -> dict[str, Any]:
    found = deviations(sealed, [], {"deviations": []}, {"arms": {}, "checks": []})
    return next(one for one in found if one["kind"] == "contention")


def test_confirmed_prediction_says_on_how_few_blocks(sealed: SealedStudy) -> None:
    """Two blocks: the verdict, n, the session, the interval and what two blocks can show stand in one sentence."""
    found = predicting(sealed, quantity="stage_factor", value=2.0, low=1e-6, high=1e6)
    one = found["prediction"]
    resolution = math.exp(T_ONE * 0.05 / math.sqrt(2))  # the stub registers a spread of 5 % between blocks
    assert (one["verdict"], one["n"], one["n_of"]) == ("CONFIRMED", 2, "blocks")
    assert one["resolution"] == pytest.approx(resolution, rel=1e-4)
    sentence = next(part for part in head.result({**found, "status": "complete"}).split(". ") if "CONFIRMED" in part)
    low, high = (f"{value:#.3g}".rstrip(".") for value in one["interval"])
    assert f"**CONFIRMED** on n = 2 blocks in one session, by a 95% interval of {low} to {high}" in sentence
    assert f"not expected to show a difference smaller than {resolution:.2f} times" in sentence


def test_three_blocks_are_told_without_a_warning(sealed: SealedStudy, record: dict[str, Any]) -> None:
    """n, session and interval are told whatever the verdict; only an uninformative interval is called so."""
    one = predicting(sealed, quantity="stage_factor", value=2.0, low=1e-6, high=1e6)["prediction"]
    record["prediction"] = {**one, "n": 3, "note": "", "verdict": "REFUTED", "interval": [11.87, 14.3]}
    told = head.result({**record, "status": "complete"})
    assert "**REFUTED** on n = 3 blocks in one session, by a 95% interval of 11.9 to 14.3; measured" in told


def test_predicted_rate_rests_on_runs(sealed: SealedStudy) -> None:
    """A rate is the mean of two runs, whose interval is no better than that of two blocks."""
    found = predicting(sealed, quantity="stage_throughput", value=1e9)
    assert (found["prediction"]["n"], found["prediction"]["n_of"]) == (2, "runs of fast")
    told = head.result({**found, "status": "complete"})
    assert "**REFUTED** on n = 2 runs of fast in one session, by a 95% interval of" in told
    assert "that is uninformative (t=12.7)" in told


def test_decision_is_a_sentence_with_its_ground(sealed: SealedStudy) -> None:
    """NO VERDICT is given and not been, and the reader is told why at the top of the page."""
    narrow = [metric.model_copy(update={"margin": 1e-9}) for metric in sealed.study.curves]
    record = sections(replace(sealed, study=sealed.study.model_copy(update={"curves": narrow})))
    assert record["curve_verdicts"][0]["verdict"] == "NO VERDICT"
    told = decision.top(record)
    assert "the curves give NO VERDICT: 2 + 2 runs cannot tell the arms apart (p\\_min 0.333 \\> 0.05)" in told
    assert "are NO VERDICT" not in told


@pytest.mark.parametrize("seen", [False, True])
def test_what_was_known_is_what_lay_in_the_folder(record: dict[str, Any], seen: bool) -> None:
    """The program knows its own results folder and claims nothing beyond it."""
    record["registration"]["data_seen_before"] = seen
    row = next(line for line in head.registration(record).splitlines() if line.startswith("| results known"))
    words = "results of this study were in its results folder" if seen else "no result of this study was in its results"
    assert words in row
    assert not row.rstrip(" |").endswith((" no", " yes"))


def test_contention_says_which_jobs_the_factors_rest_on(sealed: SealedStudy) -> None:
    """A busy baseline disturbs no factor; a busy run of the blocks does, in the deviation as in the reservations."""
    busy = {"min": 0.0, "mean": 0.5, "max": 1.0, "n": 9}
    quiet = {"min": 0.0, "mean": 0.0, "max": 0.0, "n": 9}
    for key in sealed.runs:
        sealed = with_host(sealed, key, cpu_foreign=quiet)
    outside = with_host(sealed, "baseline-reference-seed0", cpu_foreign=busy)
    one = contention(outside)
    assert one["what_happened"].endswith("on average through a job: baseline-reference-seed0 0.50")
    assert one["effect"].endswith("no run of the blocks is among them")
    found = sections(outside)
    assert not any("kept the processors busy" in held["sentence"] for held in found["reservations"])
    assert "while other programs kept 0.50 processors busy" in speed.throughput(found)
    inside = with_host(outside, "run-fast-seed1", cpu_foreign=busy)
    assert contention(inside)["effect"].endswith("among them are runs of the blocks: run-fast-seed1")
    assert any("busy during run-fast-seed1" in held["sentence"] for held in sections(inside)["reservations"])
    for key in ("run-fast-seed0", "run-reference-seed0", "run-reference-seed1"):
        inside = with_host(inside, key, cpu_foreign=busy)
    assert contention(inside)["effect"].endswith("every run of the blocks is among them")


def test_profile_is_told_apart_from_the_headline(record: dict[str, Any]) -> None:
    """One sentence: the profile's factor, without brackets, its speed beside the training runs, and what counts."""
    section = record["stages"]
    for arm, rate in (("reference", 1000.0), ("fast", 5000.0)):
        section["arms"][arm]["uninstrumented_rate"] = rate
        section["arms"][arm]["training_rate"] = {"reference": 2000.0, "fast": 8000.0}[arm]
    section["factors"]["fast"] = 6.97
    told = stages.profile_beside_headline(record)
    assert "fast and reference give 6.97x, which is not the headline" in told
    assert "one session of 20 steps each, with a bracket around every stage (without brackets 5.00x)" in told
    assert "at 0.50 (reference) and 0.62 (fast) times the rate of the training runs. The headline counts" in told
    assert told in speed.factors(record)


def test_disturbed_profile_is_told_beside_its_table(sealed: SealedStudy) -> None:
    """Other programs, or a clock that fell, during a profile stand below its table."""
    busy = {"min": 0.0, "mean": 0.35, "max": 1.0, "n": 9}
    clock = {"min": 900.0, "mean": 1500.0, "max": 2000.0, "n": 9}
    disturbed = with_host(sealed, "profile-fast-seed0", cpu_foreign=busy, gpu_mhz=clock)
    page = stages.stages(sections(disturbed))
    assert "Disturbed while it was profiled: " in page
    assert "fast: other programs kept 0.35 processors busy" in page
    assert "fast: the clock was 1,500 MHz on average, 2,000 at most" in page


def test_component_is_told_without_a_profile(sealed: SealedStudy) -> None:
    """A registered component that was measured stands on the page although no profile is registered."""
    study = sealed.study.model_copy(update={"profile": None})
    page = stages.stages(sections(replace(sealed, study=study)))
    assert page.startswith("There is no stage table: no profile is registered.")
    assert "engine alone, in a run of its own: step at " in page


def test_rate_of_the_component_stands_with_its_spread(record: dict[str, Any]) -> None:
    """The repeats of a moment's measurement are told with the rate: least, largest, how many, how long."""
    (rate,) = record["component"]["rates"]
    rate.update(value=1_427_886.2, repeats=[1_342_220.5, 1_483_280.0, 1_440_583.0], seconds=0.0112)
    told = "step at 1,427,886 environment steps/s (1,342,220 to 1,483,280 in 3 repeats, 0.0112 s in all)"
    record["component"]["disturbed"] = []
    assert f"{told}." in stages.stages(record)
    record["component"]["disturbed"] = ["other programs kept 1.51 processors busy"]
    assert f"{told}. Disturbed meanwhile: other programs kept 1.51 processors busy." in stages.stages(record)


def test_run_without_a_headline_is_named_with_its_reason(sealed: SealedStudy) -> None:
    """A run whose later half lasts half as long: top, decision, prediction and outcome say which run and why."""
    run = sealed.runs["run-fast-seed1"]
    assert run.history is not None
    shorter = {name: values * np.where(np.arange(len(values)) > 4, 0.5, 1.0) for name, values in
               run.history.durations.items()}  # fmt: skip
    changed = replace(run, history=replace(run.history, durations=shorter))
    found = sections(replace(sealed, runs={**sealed.runs, "run-fast-seed1": changed}))
    assert found["steadiness"]["headline"] is False
    told = "run-fast-seed1: its later half changed by -"
    assert f"**No headline factor for fast**: {told}" in head.result({**found, "status": "complete"})
    assert f"the speed gives NO VERDICT: no headline factor, as {told}" in decision.top(found)
    assert told in reliability.reliability(found)
    assert told in found["prediction"]["reason_not_tested"]
    identity = {"schema": "throughput-record/1", "record_id": "r", "created": "c"}
    (arm,) = tomllib.loads(outcome({**found, **identity}))["arms"]
    assert arm["note"].startswith(told)


def test_drift_that_the_blocks_cannot_tell_has_no_number(record: dict[str, Any]) -> None:
    """An interval of -100 % to a billion says nothing of a drift, so that none was looked at."""
    one = {
        "arm": "fast",
        "factor": 9.4,
        "total": -0.35,
        "low": -1.0,
        "high": 1e9,
        "p": 0.5,
        "alpha": 0.025,
        "flagged": False,
    }
    record["drift"], record["reservations"] = [one], []
    page = reliability.reliability(record)
    assert "the blocks of fast tell nothing: its interval reaches tenfold" in page
    assert "9.40x" not in page
    assert "a drift over the session" in page.split("Not measured or not told apart: ")[1].split("\n")[0]
    record["drift"] = [{**one, "low": -0.4, "high": 0.3}]
    shown = (
        "9.40x (drift -35.0%, 95% interval -40.0% to +30.0%, p = 0.5, so that none is shown: it takes over 2 % and p"
    )
    assert shown in reliability.reliability(record)


def flagged(run: SealedRun, row: int) -> SealedRun:
    """The run in which an iteration wrote a checkpoint."""
    assert run.history is not None
    history: Any = run.history
    column = np.zeros(len(history))
    column[row] = 1
    spec = replace(history.spec, checkpoint="saved")
    return replace(run, history=replace(history, spec=spec, columns={**history.columns, "saved": column}))


def test_figure_says_which_points_it_leaves_out(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """Iterations without a rate are counted with their reason, in the figure and beside it; else nothing is said."""
    assert rates.not_drawn(analysis["series"]["rates"]) == ""
    assert "In this figure" not in speed.throughput(analysis)
    runs = {key: flagged(sealed.runs[key], 4) for key in ("run-fast-seed0", "run-reference-seed1")}
    found = sections(replace(sealed, runs={**sealed.runs, **runs}))
    told = "2 iterations give no rate and have no point (2 checkpoint)"
    assert f"In this figure: {told}." in speed.throughput(found)
    assert told in draw(found, "rates").figure.axes[0].get_xlabel()
    assert sum(len(one["iteration"]) for one in found["series"]["rates"]) == -2 + sum(
        len(one["iteration"]) for one in analysis["series"]["rates"]
    )


def test_iteration_of_no_seconds_has_no_rate_of_its_own(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """A coarse clock shows 0 s: the iteration counts in the sums, nothing divides by it, and that is told."""
    run = sealed.runs["run-fast-seed0"]
    assert run.history is not None
    history, stage = run.history, sealed.trainer.history.stage.name
    seconds = history.durations[stage].copy()
    seconds[3] = 0.0
    coarse = replace(run, history=replace(history, durations={**history.durations, stage: seconds}))
    found = sections(replace(sealed, runs={**sealed.runs, "run-fast-seed0": coarse}))
    one = next(one for one in found["series"]["rates"] if one["run"] == "run-fast-seed0")
    assert (min(one["stage_seconds"]) > 0, one["left_out"]) == (True, {"instant": 1})
    told = "1 iteration gives no rate and has no point (1 of 0 s by the clock)"
    assert told in draw(found, "rates").figure.axes[0].get_xlabel()
    counted = next(run for run in found["runs"] if run["run"] == "run-fast-seed0")["rates"]["stage"]["whole run"]
    assert counted["iterations"] == len(history)


def test_one_off_cost_of_uneven_work_is_not_known(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """Where iterations differ in work a longer one may have done more: no cost, no break-even, and why."""
    run = sealed.runs["run-fast-seed0"]
    assert run.history is not None
    work = run.history.work.copy()
    work[3] *= 1.5
    uneven = replace(run, history=replace(run.history, work=work))
    found = sections(replace(sealed, runs={**sealed.runs, "run-fast-seed0": uneven}))
    first, second = found["costs"]
    assert (first["once_seconds"], first["ahead"]) == (None, None)
    assert first["reason"] == "an iteration did 640 to 960 environment steps"
    assert (second["seed"], second["reason"]) == (1, None)
    assert second["ahead"] is not None
    page = reliability.reliability(found)
    assert "What the warm-up of fast costs once, and when it is made up for, is not known" in page
    assert "seed 0: an iteration did 640 to 960 environment steps" in page


def test_break_even_holds_the_interval_of_the_iteration(record: dict[str, Any], sealed: SealedStudy) -> None:
    """Brackets are carried through from the factor of the iteration wall, which is named with its own interval."""
    iteration = next(one for one in record["factors"] if (one["quantity"], one["kind"]) == ("iteration", "retained"))
    iteration.update(factor=2.0, low=1.6, high=2.5)
    ahead = {"iterations": 40.0, "low": 33.3, "high": 53.3, "reason": None}
    record["costs"] = [{"arm": "fast", "seed": 0, "once_seconds": 20.0, "reference_once_seconds": 0.0, "ahead": ahead,
                        "reason": None}]  # fmt: skip
    page = reliability.reliability(record)
    assert "40.0 [33.3, 53.3] iterations" in page
    assert "(fast 2.00x [1.60, 2.50]), carried through" in page


def test_unequal_work_of_a_block_is_told_with_the_factors(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """A fast run with 0.9 times the work: its phases are off by that ratio, and the page says so."""
    assert "did not do the same work" not in speed.factors(analysis)
    run = sealed.runs["run-fast-seed1"]
    assert run.history is not None
    less = replace(run, history=replace(run.history, work=run.history.work * 0.9))
    told = speed.factors(sections(replace(sealed, runs={**sealed.runs, "run-fast-seed1": less})))
    assert "did not do the same work (0.90 to 1.00 times that of reference)" in told


def test_metric_without_any_difference_is_no_match(sealed: SealedStudy) -> None:
    """A constant column lies inside of everything and tells nothing: 0 / 0 is no ratio of 1."""
    runs = dict(sealed.runs)
    for key, run in runs.items():
        if run.history is not None:
            columns = {**run.history.columns, "policy_loss": np.full(len(run.history), 800.0)}
            runs[key] = replace(run, history=replace(run.history, columns=columns))
    page = trust.curves(sections(replace(sealed, runs=runs)))
    row = next(line for line in page.splitlines() if line.startswith("| policy loss"))
    assert "no difference anywhere, so that it tells nothing" in row
    assert "1.00" not in row
    window = next(line for line in page.splitlines() if line.startswith("| policy\\_loss"))
    assert "inside, no difference anywhere" in window


def test_seeds_beyond_all_measure_are_an_order_of_magnitude(record: dict[str, Any]) -> None:
    """From the spread of two runs nobody knows that it takes 111,610 seeds."""
    cells = record["curve_verdicts"][0]["equivalence"]["cells"]
    cells[0]["seeds_needed"], cells[1]["seeds_needed"] = 111_610, 467
    page = trust.curves(record)
    assert "over 1,000" in page
    assert "467" in page
    assert "111610" not in page


def test_decision_row_names_its_blocks(record: dict[str, Any]) -> None:
    """The factor of the decision stands with n."""
    row = next(line for line in decision.decision(record).splitlines() if line.startswith("| fast"))
    assert "], n = 2 " in row


def test_numbers_of_the_page_are_strict_json(analysis: dict[str, Any]) -> None:
    """What the new sections hold can be sealed: no number that is not finite."""
    json.dumps([analysis["remarks"], analysis["costs"], analysis["prediction"]], allow_nan=False)


def test_time_beside_the_iterations_is_told(record: dict[str, Any]) -> None:
    """A first run that compiled 3.5 s longer than the others stands out, as its total wall is in a factor."""
    for run in record["runs"]:
        first = run["run"] == "run-reference-seed0"
        run |= {"iterations": 8, "iteration_seconds_mean": 0.5, "total_wall_seconds": 12.0 if first else 8.5}
    told = speed.throughput(record)
    assert "the runs of the blocks took 4.50 s (`run-" in told
    assert "to 8.00 s (`run-reference-seed0`)" in told


def test_programs_on_a_gpu_are_told_where_one_was_used_or_disturbed(record: dict[str, Any]) -> None:
    """Runs on the CPU say nothing of a GPU, unless somebody else was seen on it; runs on a GPU always do."""
    for run in record["runs"]:
        run["host"]["gpu_processes"]["status"] = "clean"
        run["device"]["kind"] = "cpu"
    assert "GPU" not in head.load(record)
    record["runs"][0]["host"]["gpu_processes"]["status"] = "contaminated"
    assert "other programs on the GPU: contaminated." in head.load(record)
    for run in record["runs"]:
        run["device"]["kind"] = "gpu"
    assert "other programs on the GPU: clean, contaminated." in head.load(record)


def test_no_process_takes_less_than_nothing_beside_its_iterations(record: dict[str, Any]) -> None:
    """A resumed run holds iterations of an earlier process; they are not held against the life of the last one."""
    runs = [one for one in record["runs"] if one["role"] == "run"]
    within = runs[0]["iterations"] * runs[0]["iteration_seconds_mean"]
    runs[0]["total_wall_seconds"] = within + 1e-6  # less than any other
    assert f"`{runs[0]['run']}`" in speed._outside(record)
    runs[0]["total_wall_seconds"] = 0.5 * within
    told = speed._outside(record)
    assert f"`{runs[0]['run']}`" not in told
    assert "took -" not in told
