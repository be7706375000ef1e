"""How far the baseline's iterations and the seeds of an arm lie apart: on the page and among the tables."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tachograph.analysis.factors import baseline, seed_spread
from tachograph.analysis.sealed import SealedStudy
from tachograph.analysis.tables import table
from tachograph.record import speed


def run(arm: str, block: int, rate: float) -> dict[str, Any]:
    return {"role": "run", "arm": arm, "block": block, "rates": {"stage": {"retained": {"value": rate}}}}


def test_spread_of_document_000_between_seeds(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """Reference seeds of 4,231 and 4,341 steps/s and one fast run: 2.6 % in table and page, none for fast."""
    runs = [run("reference", 0, 4231.0), run("reference", 1, 4341.0), run("fast", 0, 10150.0)]
    found = {**analysis, "seed_spread": seed_spread(sealed, runs)}
    rows = table(found, "spread").set_index("arm")
    assert rows.loc["reference", "spread"] == pytest.approx(0.026, abs=5e-5)
    assert rows.loc["fast", "rates"] == 1
    assert rows.loc["fast"].isna()["spread"]
    assert "reference 4,231 to 4,341, the fastest 2.6% above the slowest" in speed.throughput(found)


def test_spread_of_the_baseline(analysis: dict[str, Any]) -> None:
    """The fastest of the baseline's iterations over the slowest; 3,601 to 4,291 are told as 19.2 %."""
    analysis = copy.deepcopy(analysis)
    rates = analysis["baseline"]["rates"]
    assert analysis["baseline"]["spread"] == pytest.approx(max(rates) / min(rates) - 1)
    analysis["baseline"].update(rates=[3601.0, 4291.0], spread=4291 / 3601 - 1)
    assert table(analysis, "spread").iloc[0]["spread"] == pytest.approx(0.1916, abs=5e-5)
    assert "the fastest iteration 19.2% above the slowest" in speed.throughput(analysis)


def test_blocks_hold_the_factor_of_the_iteration(analysis: dict[str, Any]) -> None:
    """Every pair of every factor is in the table; the page tells the iteration's factor beside the headline's."""
    found = table(analysis, "blocks")
    pairs = [pair["factor"] for one in analysis["factors"] for pair in one["pairs"]]
    assert found["factor"].tolist() == pairs
    walls = next(one for one in analysis["factors"] if (one["quantity"], one["kind"]) == ("iteration", "retained"))
    rows = [line for line in speed.factors(analysis).splitlines() if line.startswith("| fast") and line.count("|") == 8]
    assert [line.split("|")[7].strip() for line in rows] == [f"{pair['factor']:.2f}x" for pair in walls["pairs"]]


def test_baseline_without_an_iteration_that_gives_a_rate(sealed: SealedStudy, analysis: dict[str, Any]) -> None:
    """A baseline whose iterations all compiled or held an evaluation has no rate, and the page says why."""
    empty = {"role": "baseline", "run": "baseline-reference-seed0", "work": [], "stage_seconds": []}
    found = {**analysis, "baseline": baseline(sealed, [empty])}
    assert "Baseline: no iteration of the baseline run can give a rate." in speed.throughput(found)
