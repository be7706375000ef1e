"""Curves of evaluation scores, which only some iterations have: judged on those, and said so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.analysis.study import sections
from tachograph.analysis.tables import table
from tachograph.evidence.columns import Missing
from tachograph.models import Study
from tachograph.record import trust

SCORE = "eval/random/margin_mean"


def evaluated(sealed: SealedStudy, better: float) -> SealedStudy:
    """The executed study as if iterations 4 and 8 of every run had a score, those of the fast arm ``better``."""
    curve = {"column": SCORE, "label": "margin", "margin": 5.0, "reason": "a tenth of what training gains"}
    study = Study.model_validate({**sealed.study.model_dump(by_alias=True), "curves": [*sealed.study.curves, curve]})
    history = sealed.trainer.history.model_copy(update={"sparse_metrics": [SCORE]})
    runs = {key: scored(run, better if run.planned.arm == "fast" else 0.0) for key, run in sealed.runs.items()}
    trainer = sealed.trainer.model_copy(update={"history": history})
    return replace(sealed, study=study, trainer=trainer, runs=runs)


def scored(run: SealedRun, score: float | None) -> SealedRun:
    """The run with this score (none: no evaluation at all), which differs between seeds by 1."""
    if run.history is None:
        return run
    values = np.full(len(run.history), np.nan)
    if score is not None:
        values[3::4] = score + run.planned.seed
    kinds = np.where(np.isnan(values), Missing.ABSENT, Missing.PRESENT).astype(np.uint8)
    columns, missing = {**run.history.columns, SCORE: values}, {**run.history.missing, SCORE: kinds}
    return replace(run, history=replace(run.history, columns=columns, missing=missing))


@pytest.mark.parametrize(("better", "place"), [(0.0, "inside"), (100.0, "outside")])
def test_scores_are_judged_on_the_evaluated_iterations(sealed: SealedStudy, better: float, place: str) -> None:
    """Two of eight iterations have a score: it is judged in their windows, and the page names them."""
    found = sections(evaluated(sealed, better))
    one = found["curve_verdicts"][0]
    assert one["evaluated"] == {SCORE: [4, 8]}
    rows = table(found, "equivalence")
    own = rows[rows["metric"] == SCORE]
    assert list(own["window"]) == ["mid", "late"]
    assert list(own["difference"]) == [better, better]
    page = trust.curves(found)
    assert "eval/random/margin\\_mean judged on the evaluated iterations 4, 8" in page
    cells = [line for line in page.splitlines() if line.startswith("| eval/random/margin\\_mean |")]
    assert [place in line for line in cells] == [True, True]


def test_scores_in_no_common_iteration_are_no_verdict(sealed: SealedStudy) -> None:
    """Where the runs of one arm have no score at all, nothing is judged and the column is named."""
    study = evaluated(sealed, 0.0)
    runs = {key: scored(run, None) if run.planned.arm == "fast" else run for key, run in study.runs.items()}
    one = sections(replace(study, runs=runs))["curve_verdicts"][0]
    assert one["verdict"] == "NO VERDICT"
    assert SCORE in one["sentence"]
