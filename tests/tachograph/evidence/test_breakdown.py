"""The per-opponent breakdown of document 001's evaluation in iteration 75."""

from __future__ import annotations

import numpy as np
import pytest

from tachograph.evidence.breakdown import Breakdown, breakdown

TIMERS = ["policy_network_seconds", "policy_postprocess_seconds", "opponent_act_seconds"]
ROWS = {
    "random": (0.57, 0.18, 0.25, 0.06),
    "passive_discard": (0.36, 0.13, 0.17, 0.00),
    "safe_heuristic": (14.54, 2.65, 3.34, 7.57),
    "safe_heuristic_loose": (11.20, 2.55, 3.30, 4.63),
    "safe_heuristic_strict": (15.94, 2.51, 3.14, 9.22),
    "noisy_safe": (1.68, 0.40, 0.58, 0.57),
}


def document_001(parallel: bool | None = None, inference: str | None = "policy_network_seconds") -> Breakdown:
    names = ["elapsed_seconds", *TIMERS]
    columns = {(who, name): np.array([x]) for who, row in ROWS.items() for name, x in zip(names, row, strict=True)}
    found = breakdown(columns, list(ROWS), "elapsed_seconds", TIMERS, inference, parallel, 18.29)
    assert found is not None
    return found


def test_parallel_opponents_are_not_summed() -> None:
    """Nobody says so, but 44.29 s do not fit into 18.29 s, so they overlap: the slowest took 15.94 s of them."""
    found = document_001()
    assert found.rows[0].subject == "safe_heuristic_strict"
    assert found.parallel
    assert found.slowest == 15.94
    assert found.together == pytest.approx(44.29)


def test_inference_bounds_what_an_engine_can_bring() -> None:
    """Without any network time the slowest would take 15.94 - 2.51 = 13.43 s: 1.19x at most, however fast it is."""
    assert document_001().ceiling == pytest.approx(15.94 / 13.43)


def test_one_after_the_other_the_sums_count() -> None:
    """44.29 s with 8.42 s of network time: 1.23x at most."""
    assert document_001(parallel=False).ceiling == pytest.approx(44.29 / (44.29 - 8.42))


def test_remainder_is_what_no_timer_tells() -> None:
    """Of 15.94 s against the strict opponent the three timers tell 14.87."""
    assert document_001().rows[0].remainder == pytest.approx(1.07)


def test_timer_that_no_row_holds_is_unknown() -> None:
    """Diagnostics may be off: neither the remainder nor a ceiling is made up."""
    columns = {("a", "elapsed"): np.array([2.0, np.nan]), ("a", "network"): np.array([np.nan, np.nan])}
    found = breakdown(columns, ["a"], "elapsed", ["network"], "network", False, 2.0)
    assert found is not None
    assert (found.rows[0].timers["network"], found.rows[0].remainder, found.ceiling) == (None, None, None)
    assert found.rows[0].evaluations == 1


def test_nobody_evaluated_is_no_breakdown() -> None:
    """A light schedule may leave out everybody."""
    columns = {("a", "elapsed"): np.array([np.nan]), ("a", "network"): np.array([np.nan])}
    assert breakdown(columns, ["a"], "elapsed", ["network"], None, True, 2.0) is None
