"""The analysis of a real study of the stub trainer, against numbers computed here by hand from its histories."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tachograph.analysis.names import table_names
from tachograph.analysis.rates import run_rows
from tachograph.analysis.sealed import SealedStudy, check_published, read_sealed
from tachograph.analysis.study import analyse, sections
from tachograph.analysis.tables import as_csv, table
from tachograph.errors import TachographError
from tachograph.files import canonical_json, parse_json
from tachograph.study.layout import StudyFolder


@pytest.fixture(scope="module")
def analysis(executed: Path) -> dict[str, Any]:
    found: dict[str, Any] = parse_json(canonical_json(analyse(StudyFolder(executed / "results/stub"))))
    return found


def rows(root: Path, run: str) -> list[dict[str, Any]]:
    """The lines of a run's history, read without the engine."""
    path = root / "results/stub/attempts" / run / "001/history.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def by_hand(root: Path, run: str, first: int, last: int, column: str = "collection_seconds") -> float:
    """Sum of steps over sum of seconds of iterations first to last."""
    chosen = [row for row in rows(root, run) if first <= row["iteration"] <= last]
    return sum(row["steps"] for row in chosen) / sum(row[column] for row in chosen)


def test_rates_are_ratios_of_sums_over_named_windows(executed: Path, analysis: dict[str, Any]) -> None:
    """Whole run, after warm-up and window are sums of work over sums of seconds, as a pocket calculator gives them."""
    run = next(one for one in analysis["runs"] if one["run"] == "run-fast-seed1")
    stage = run["rates"]["stage"]
    assert stage["whole run"]["value"] == pytest.approx(by_hand(executed, "run-fast-seed1", 1, 8))
    assert stage["retained"]["value"] == pytest.approx(by_hand(executed, "run-fast-seed1", 2, 8))
    assert stage["window"]["value"] == pytest.approx(by_hand(executed, "run-fast-seed1", 4, 8))
    assert stage["window"]["window"] == "iterations 4 to 8"
    iteration = run["rates"]["iteration"]["whole run"]["value"]
    assert iteration == pytest.approx(by_hand(executed, "run-fast-seed1", 1, 8, "iteration_seconds"))


def test_row_whose_clock_stepped_has_no_seconds_anywhere(executed: Path, sealed: SealedStudy) -> None:
    """I1: an iteration of -3 s is in no mean, no phase and no rate; the other seven give them."""
    key = "run-fast-seed1"
    run = sealed.runs[key]
    assert run.history is not None
    seconds = run.history.durations["iteration"].copy()
    seconds[4] = -3.0
    possible = np.arange(8) != 4
    durations = {**run.history.durations, "iteration": seconds}
    broken = replace(run, history=replace(run.history, durations=durations, clock_ok=possible))
    row = next(one for one in run_rows(replace(sealed, runs={**sealed.runs, key: broken})) if one["run"] == key)
    told = [one for one in rows(executed, key) if one["iteration"] != 5]
    update = sum(one["move_update_seconds"] for one in told)
    assert row["phase_seconds"]["move update"] == pytest.approx(update)
    assert row["iteration_seconds_mean"] == pytest.approx(sum(one["iteration_seconds"] for one in told) / 7)
    assert row["rates"]["iteration"]["whole run"]["work"] == sum(one["steps"] for one in told)


def test_headline_factor_is_the_geometric_mean_of_its_blocks(executed: Path, analysis: dict[str, Any]) -> None:
    """The headline names its arms and window, and is the geometric mean of two ratios of rates after warm-up."""
    headline = [one for one in analysis["factors"] if one["headline"]]
    assert len(headline) == 1
    ratios = [
        by_hand(executed, f"run-fast-seed{s}", 2, 8) / by_hand(executed, f"run-reference-seed{s}", 2, 8) for s in (0, 1)
    ]
    assert headline[0]["factor"] == pytest.approx(math.sqrt(ratios[0] * ratios[1]))
    assert [pair["factor"] for pair in headline[0]["pairs"]] == pytest.approx(ratios)
    assert (headline[0]["numerator"], headline[0]["denominator"]) == ("fast", "reference")
    assert "uninformative" in headline[0]["note"]


def test_factor_of_the_stub_is_about_two(analysis: dict[str, Any]) -> None:
    """The reference path of the stub sleeps twice as long, so the factor of the stage lies near 2."""
    headline = next(one for one in analysis["factors"] if one["headline"])
    assert headline["factor"] == pytest.approx(2.0, rel=0.25)


def test_curves_are_described_by_their_largest_difference(executed: Path, analysis: dict[str, Any]) -> None:
    """The largest difference of entropy to the reference of the same seed, and where, found by a plain loop."""
    metric = next(one for one in analysis["curves"] if one["metric"] == "entropy")
    row = next(one for one in metric["rows"] if one["run"] == "run-fast-seed0")
    pairs = zip(rows(executed, "run-fast-seed0"), rows(executed, "run-reference-seed0"), strict=True)
    differences = {a["iteration"]: abs(a["entropy"] - b["entropy"]) for a, b in pairs}
    assert row["fast_max"] == max(differences.values())
    assert differences[row["fast_iteration"]] == row["fast_max"]
    assert row["false_alarm"] == 0.5


def test_reference_repeats_bit_for_bit(analysis: dict[str, Any]) -> None:
    """The stub's curves depend on seed and path alone, so A/A is identical and every largest difference is 0."""
    assert analysis["repeat"]["identical"] is True
    assert set(analysis["repeat"]["largest_differences"].values()) == {0.0}


def test_endings_are_sums_of_the_history(executed: Path, analysis: dict[str, Any]) -> None:
    """Endings of a run are the sums of the columns of its history."""
    found = next(one for one in analysis["endings"] if one["run"] == "run-reference-seed1")
    total = sum(row["endings_battleless"] for row in rows(executed, "run-reference-seed1"))
    assert found["counts"]["battleless limit"] == total


def test_counts_and_order(analysis: dict[str, Any]) -> None:
    """Both identities hold, everything counts, and the runs were made in the registered ABBA order."""
    count = analysis["counts"]
    assert count["planned"] == count["counted"] == count["attempts"] == count["finished"] == 13
    assert analysis["order"]["realised"] == analysis["order"]["registered"]
    blocks = [run for run in analysis["order"]["realised"] if run.startswith("run-")]
    assert blocks == ["run-reference-seed0", "run-fast-seed0", "run-fast-seed1", "run-reference-seed1"]


def test_time_adds_up(analysis: dict[str, Any]) -> None:
    """Runs, waits, own time and pauses together are the wall time of the study."""
    time = analysis["time"]
    parts = time["run_seconds"] + time["own_seconds"] + sum(p["seconds"] for p in time["pauses"])
    first_wait = 0.0  # the wait before the first run lies before the first start
    waits = time["lease_wait_seconds"] - first_wait
    assert time["wall_seconds"] == pytest.approx(parts + waits, abs=0.05)


def test_stage_table_closes(analysis: dict[str, Any]) -> None:
    """Shares of the leaves of each arm sum to 1, and the environment share is that of the stage of this group."""
    section = analysis["stages"]
    for arm in ("reference", "fast"):
        assert sum(row["arms"][arm]["share"] for row in section["rows"]) == pytest.approx(1.0, abs=0.01)
        step = next(row for row in section["rows"] if row["stage"] == "env.step")
        assert section["arms"][arm]["environment"] == step["arms"][arm]


def test_every_registered_table_can_be_made(executed: Path, analysis: dict[str, Any]) -> None:
    """Each table that the registration calls for has a row, a header, and as many cells as its header."""
    sealed = read_sealed(StudyFolder(executed / "results/stub"))
    for name in table_names(sealed.study, sealed.trainer):
        frame = table(analysis, name)
        assert as_csv(frame).splitlines()[0].split(",") == list(frame.columns)
        assert len(frame) or name == "deviations"


def test_formulas_are_disarmed_in_csv(analysis: dict[str, Any]) -> None:
    """A reason that a spreadsheet would run as a formula gets an apostrophe in front."""
    analysis = {**analysis, "attempts": [{**analysis["attempts"][0], "reason": "=HYPERLINK(1)"}]}
    assert "'=HYPERLINK(1)" in as_csv(table(analysis, "attempts"))


@pytest.mark.parametrize("name", ["history.jsonl", "run.json"])
def test_altered_sealed_file_is_an_error_that_names_it(workshop: Path, name: str) -> None:
    """One changed byte in a sealed file of a counted run stops the analysis with its path."""
    path = workshop / "results/stub/attempts/run-fast-seed0/001" / name
    path.write_bytes(path.read_bytes().replace(b"640", b"641", 1).replace(b'"valid"', b'"Valid"', 1))
    with pytest.raises(TachographError, match=f"run-fast-seed0/001/{name}: it was altered"):
        analyse(StudyFolder(workshop / "results/stub"))


def test_published_target_that_is_no_copy_is_refused(workshop: Path) -> None:
    """A target that somebody edited is told apart from the attempt that it should be a copy of."""
    path = workshop / "results/stub/runs/fast/seed0/history.jsonl"
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(TachographError, match=r"runs/fast/seed0/history.jsonl: it was altered"):
        check_published(read_sealed(StudyFolder(workshop / "results/stub")))


def test_analysis_is_strict_json(executed: Path) -> None:
    """No NaN, no infinity, nothing but JSON types in the whole analysis."""
    canonical_json(sections(read_sealed(StudyFolder(executed / "results/stub"))))
