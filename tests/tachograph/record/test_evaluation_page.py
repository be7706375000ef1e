"""What the page says of evaluations, of the supply of states and of a whole training, from small sections."""

from __future__ import annotations

from typing import Any

from tachograph.evidence.sweep import reach
from tachograph.evidence.sweep import sweep as table_of
from tachograph.record.evaluation import evaluation
from tachograph.record.projection import projection
from tachograph.record.sweep import sweep

ARMS = {"registration": {"arm_order": ["reference", "fast"], "design": {"iterations": 8}}}


def cost(**more: Any) -> dict[str, Any]:
    return {
        "runs": 3, "evaluations": 3, "iterations": [5, 5, 5], "checkpoints": 0, "plain_iterations": 15,
        "seconds": 4.325,
        "plain_seconds": 3.886, "excess": 0.439, "excess_low": -3.0, "excess_high": 3.9, "told": False, "timer": 0.238,
        "timer_low": 0.22, "timer_high": 0.26, "every": 8, "every_from": "count", "by_excess": None,
        "by_timer": 0.02979, "breakdown": None,
        "games": None, "subjects": {}, "saving": None, "engine_ceiling": None,
        "projected": [
            {"games": 50, "every": 25, "by_excess": None, "by_timer": 0.0095, "engine_ceiling": None}
        ], **more,
    }  # fmt: skip


def page(one: dict[str, Any]) -> str:
    engine = {"plain_seconds": 3.886, "evaluations": 0.0298, "by": "timer", "in_evaluations": None, "elsewhere": None,
              "timers": [], "ceiling": None}  # fmt: skip
    return evaluation({**ARMS, "evaluation": {"arms": {"fast": {"kinds": [one], "engine": engine}}}})


def test_excess_that_is_not_told_is_said_and_not_tabulated() -> None:
    """The interval holds 0: said in words, no column of the excess, the timer and its range instead."""
    told = page(cost())
    assert "3 evaluations (iteration 5 of 3 runs)" in told
    assert "(95% interval -3.00 to 3.90 s)" in told
    assert "**By this an iteration with an evaluation cannot be told from one without**" in told
    assert "0.2380 s (0.220 to 0.260 s)" in told
    assert "excess, s/iteration" not in told
    assert "8 (by count: no run holds two)" in told


def test_excess_that_is_told_stands_beside_the_timer() -> None:
    """Above 0 both are spread; the time of a checkpoint in an evaluated iteration is said to be taken out."""
    one = cost(excess=22.45, excess_low=22.0, excess_high=22.9, told=True, by_excess=2.8, checkpoints=1,
               saving="timer", timer=18.29, projected=[])  # fmt: skip
    told = page(one)
    assert "excess, s/iteration" in told
    assert "without the time of the checkpoint that 1 of the former wrote" in told
    assert "4.160 s less than the iteration shows" in told


CALLS = {"network": [365, 128, 22], "warm_up": 10, "calls": 1000}
SIZES = table_of([1, 4, 16, 64], [60e-6, 60e-6, 80e-6, 160e-6])


def section(levels: dict[str, float], arm: str) -> dict[str, Any]:
    reached = {kind: vars(reach(SIZES, states)) for kind, states in levels.items()}
    return {"arm": arm, "group": "traversal", "networks": 2, "levels": reached}


def test_supply_is_told_for_both_arms_by_what_may_share_a_call() -> None:
    """A traversal that is a chain gives one state per call; the calls that were made stand against the most."""
    supplies = [
        section({"group": 1.0, "iteration": 45.0, "side by side": 1.0, "made": 1.0}, "reference"),
        section({"group": 1.0, "iteration": 45.0, "side by side": 45.0, "made": 33.3}, "fast"),
    ]
    rows = [vars(row) for row in SIZES.rows]
    found = {"rows": rows, "device": "cpu", "threads": 1, "peak": 64, "monotone": True, "supply": supplies, **CALLS}
    told = sweep({**ARMS, "sweep": found})
    assert "The network alone (365 → 128 → 22) on cpu, 1 thread, mean of 1,000 calls after 10 of warm-up:" in told
    alone = [line for line in told.splitlines() if "states that wait for no other one" in line]
    assert [line.split("|")[3].strip() for line in alone] == ["1.0", "1.0"]
    assert all("1.00x at 1" in line for line in alone)
    assert "The calls of reference held 1.0 of at most 45.0 states that could have been asked about at once" in told
    assert "The calls of fast held 33.3 of at most 45.0 states" in told
    assert "one of 2 networks: were the states always evenly divided between them, it would hold 22.5 at most." in told


def test_supply_without_chains_is_called_an_upper_bound() -> None:
    """Where nobody said what waits for what, the states of a traversal are no more than a bound."""
    rows = [vars(row) for row in SIZES.rows]
    found = {"rows": rows, "device": "cuda", "threads": None, "peak": 64, "monotone": True, **CALLS, "network": [],
             "supply": [section({"group if nothing waited": 368.0}, "fast")]}  # fmt: skip
    row = next(line for line in sweep({**ARMS, "sweep": found}).splitlines() if "368.0" in line)
    assert "were none of its states to wait for another (upper bound)" in row


def arm(name: str, seconds: float, runs: int = 3) -> list[dict[str, Any]]:
    """Rows without evaluations and with one of 0.36 s every 10 iterations."""
    rows = []
    for every, more in ((None, 0.0), (10, 0.036)):
        row: dict[str, Any] = {"arm": name, "runs": runs, "checkpoints": 3, "every": every,
                               "beside_seconds": 0.0}  # fmt: skip
        row["evaluation_by"] = every and "timer"
        for end, part in (("", 1.0), ("_low", 0.9), ("_high", 1.2)):
            row |= {f"seconds{end}": seconds * part + more, f"hours{end}": (seconds * part + more) / 3.6}
        rows.append(row)
    return rows


def test_projection_compares_with_as_many_evaluations_and_shows_its_spread() -> None:
    """Each comparison has the same evaluations on both sides; each number the range of the runs; what is assumed."""
    section = {"rows": arm("fast", 0.36) + arm("reference", 3.6), "iterations": 1000}
    told = projection({**ARMS, "projection": section})
    plain, evaluated = (line for line in told.splitlines() if line.startswith("| fast"))
    assert "against reference with as many evaluations" in told
    assert "-54.0 min (-90.0%)" in plain
    assert "0.1000 [0.0900, 0.120]" in plain
    assert f"{(0.11 - 1.01) * 60:+.1f} min ({0.11 / 1.01 - 1:+.1%})" in evaluated
    assert "every 10" in evaluated
    assert "Evaluations of reference, fast count by the trainer's own timer, as not every excess can be told." in told
    assert "Checkpoints are taken to be as frequent as in these runs." in told
    assert "assumed" in told


def test_arm_without_evaluations_is_compared_where_both_have_the_same() -> None:
    """Where the reference holds no evaluation, rows with evaluations have nothing to be compared with."""
    section = {"rows": arm("reference", 3.6)[:1] + arm("fast", 0.36), "iterations": 1000}
    plain, evaluated = (
        line for line in projection({**ARMS, "projection": section}).splitlines() if line.startswith("| fast")
    )
    assert "min (" in plain
    assert "min (" not in evaluated


def test_one_run_shows_no_spread() -> None:
    """A single run of an arm has no fastest and slowest one."""
    told = projection({**ARMS, "projection": {"rows": arm("reference", 3.6, runs=1), "iterations": 1000}})
    assert "[" not in told.splitlines()[-1]
