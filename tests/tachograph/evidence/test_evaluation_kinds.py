"""Evaluations are compared like with like: without checkpoints, and light ones apart from full ones (document 001)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tachograph.analysis.evaluation import evaluation_of
from tachograph.analysis.phases import arm_row, ceilings, table_of
from tachograph.analysis.tables import table
from tachograph.evidence.history import Counter, History, read_history
from tachograph.execution.judging import history_spec
from tachograph.models.study import Projection
from tachograph.models.trainer import Evaluation, HistoryFile, Phase
from tachograph.record.evaluation import evaluation as evaluation_page
from tachograph.record.phases import phases as phases_page

from .build import history, rows

PLAIN = 10.0
GAMES = Evaluation(
    seconds="evaluated",
    subjects=["random", "strict"],
    column="eval/{subject}/{timer}",
    elapsed="elapsed",
    timers=["network"],
    inference="network",
    games="games",
)
EVALUATED = Evaluation(seconds="evaluated")
DOCUMENT = {"random": (0.57, 0.18), "safe_heuristic": (14.54, 2.65), "safe_heuristic_strict": (15.94, 2.51)}


def saving(tmp_path: Path, seconds: float, every: int, timer: bool) -> dict[str, Any]:
    """100 iterations of 10 s, evaluations of 18 s every 25 and checkpoints every ``every``, with or without a timer."""
    held = [i % 25 == 0 for i in range(1, 101)]
    saved = [i % every == 0 for i in range(1, 101)]
    durations = [PLAIN + 18 * h + seconds * s for h, s in zip(held, saved, strict=True)]
    table = rows(durations, evaluated=[18.0 * h for h in held], saving=[seconds * s for s in saved])
    timers = {"iteration": Counter("d")} | ({"checkpoint": Counter("saving")} if timer else {})
    one = history(tmp_path, table, evaluation="evaluated", checkpoint="saving", durations=timers)
    (kind,) = evaluation_of([one], EVALUATED, 0, Projection(evaluation_every=[25]))["kinds"]
    return dict(kind)


def test_checkpoint_is_no_part_of_the_excess(tmp_path: Path) -> None:
    """Evaluation of 18 s and checkpoint of 5 s in the same iterations: 18 s by the iterations as by the timer."""
    found = saving(tmp_path, 5.0, 25, timer=True)
    assert (found["excess"], found["timer"], found["seconds"]) == pytest.approx((18, 18, 28))
    assert (found["checkpoints"], found["saving"], found["told"]) == (4, "timer", True)
    assert found["by_excess"] == pytest.approx(0.72)


def test_evaluations_with_a_checkpoint_of_unknown_time_are_left_out(tmp_path: Path) -> None:
    """Without a timer of the checkpoint only the evaluations that saved nothing are compared."""
    found = saving(tmp_path, 5.0, 50, timer=False)
    assert found["excess"] == pytest.approx(18)
    assert (found["evaluations"], found["iterations"], found["checkpoints"]) == (2, [25, 75], 2)
    assert found["saving"] == "left out"


def test_excess_that_holds_checkpoints_tells_nothing(tmp_path: Path) -> None:
    """Each evaluation saved, nobody took the time: 23 s are shown as what they are, and only the timer is spread."""
    found = saving(tmp_path, 5.0, 25, timer=False)
    assert found["excess"] == pytest.approx(23)
    assert (found["saving"], found["told"], found["by_excess"]) == ("inside", False, None)
    assert found["by_timer"] == pytest.approx(0.72)
    told = page({"kinds": [found], **engine_without_timers()})
    assert "**It holds what 4 of the former wrote as a checkpoint**, whose time nobody took" in told
    assert "cannot be told from one without" not in told


def test_work_of_iterations_with_an_evaluation_is_told(tmp_path: Path) -> None:
    """They did 1.5 times the work of the plain ones: 5 of the 23 s are not the evaluation's, and the page says so."""
    held = [i % 25 == 0 for i in range(1, 101)]
    table = rows(
        [PLAIN + 23 * h for h in held], evaluated=[18.0 * h for h in held], w=[1500 if h else 1000 for h in held]
    )
    (kind,) = evaluation_of([history(tmp_path, table, evaluation="evaluated")], EVALUATED, 0, None)["kinds"]
    assert kind["work_ratio"] == pytest.approx(1.5)
    told = "An iteration with one did 1.50 times the work of one without, which is in the excess. "
    assert told in page({"kinds": [kind], **engine_without_timers()})
    assert told not in page({"kinds": [{**kind, "work_ratio": 1.01}], **engine_without_timers()})


def engine_without_timers() -> dict[str, Any]:
    return {
        "engine": {
            "plain_seconds": PLAIN, "evaluations": 0.72, "by": "timer", "in_evaluations": None, "elsewhere": None,
            "timers": [], "ceiling": None,
        }
    }  # fmt: skip


def page(one: dict[str, Any]) -> str:
    return evaluation_page({"registration": {"arm_order": ["fast"]}, "evaluation": {"arms": {"fast": one}}})


def light_and_full(tmp_path: Path, compiled: bool = False) -> History:
    """100 iterations: 20 games against one opponent in 1 s every 5, in every fifth of them 100 against two in 18 s."""
    table = []
    for i in range(1, 101):
        row: dict[str, Any] = {"it": i, "d": PLAIN, "w": 1000, "evaluated": 0.0, "compiled": 0.0}
        if i % 25 == 0:
            row |= {"evaluated": 18.0, "d": PLAIN + 18}
            row |= {"eval/random/games": 100, "eval/random/elapsed": 5.0, "eval/random/network": 1.0}
            row |= {"eval/strict/games": 100, "eval/strict/elapsed": 12.0, "eval/strict/network": 2.0}
        elif i % 5 == 0:
            row |= {"evaluated": 1.0, "d": PLAIN + 1}
            row |= {"eval/random/games": 20, "eval/random/elapsed": 0.9, "eval/random/network": 0.2}
        table.append(row)
    if compiled:
        table[24] |= {"compiled": 40.0, "d": PLAIN + 58}
    extra = tuple(GAMES.columns())
    return history(tmp_path, table, evaluation="evaluated", extra=extra, compile_flag="compiled")


def test_light_and_full_evaluations_are_told_apart(tmp_path: Path) -> None:
    """100 games every 25 cost 18 / 25 = 0.72 s and 1,000 games 7.2; the light ones 16 / 100 iterations."""
    spread = Projection(evaluation_every=[25], evaluation_games=[100, 1000])
    full, light = evaluation_of([light_and_full(tmp_path)], GAMES, 0, spread)["kinds"]
    assert (full["games"], full["evaluations"], light["games"], light["evaluations"]) == (100, 4, 20, 16)
    assert (full["excess"], light["excess"]) == pytest.approx((18, 1))
    assert [(row["games"], row["by_excess"]) for row in full["projected"]] == [(100, 0.72), (1000, 7.2)]
    assert light["projected"] == []
    assert (full["every"], full["by_excess"]) == (25, pytest.approx(0.72))
    assert light["every"] == pytest.approx(90 / 15)  # from 5 to 95 in 15 steps, as each fifth is a full one
    assert [row["subject"] for row in light["breakdown"]["rows"]] == ["random"]
    assert {row["subject"]: row["elapsed"] for row in full["breakdown"]["rows"]} == {"strict": 12.0, "random": 5.0}


def test_size_of_a_light_evaluation_is_told_from_the_light_ones(tmp_path: Path) -> None:
    """A registered number of games that a kind has is told from that kind; others in proportion from the largest."""
    spread = Projection(evaluation_every=[10], evaluation_games=[20, 50])
    full, light = evaluation_of([light_and_full(tmp_path)], GAMES, 0, spread)["kinds"]
    assert [(row["games"], row["by_excess"]) for row in light["projected"]] == [(20, pytest.approx(0.1))]
    assert [(row["games"], row["by_excess"]) for row in full["projected"]] == [(50, pytest.approx(0.9))]


def test_page_tells_each_kind(tmp_path: Path) -> None:
    """Both kinds have their sentence and their table; the size as run stands in the row of what was observed."""
    told = page(evaluation_of([light_and_full(tmp_path)], GAMES, 0, None))
    assert "The evaluations of fast are of 2 kinds, each told by itself: no mean is over two." in told
    assert "**fast, 100 games against random, strict**: 4 evaluations" in told
    assert "**fast, 20 games against random**: 16 evaluations" in told
    assert told.count("s (1.00 to 1.00 s), as the iteration shows.") == 1  # and not by 4e-15 s less
    assert [line.split("|")[1].strip() for line in told.splitlines() if "as run:" in line] == [
        "as run: 100",
        "as run: 20",
    ]


def test_tables_hold_each_kind_and_read_older_records(tmp_path: Path) -> None:
    """A row per kind as observed and per projection, subjects by kind; a record of 0.3 has one row for all of them."""
    spread = Projection(evaluation_every=[25], evaluation_games=[100, 1000])
    found = evaluation_of([light_and_full(tmp_path)], GAMES, 0, spread)
    costs = table({"evaluation": {"arms": {"fast": found}}}, "evaluation")
    assert list(costs["games"]) == [100, 100, 1000, 20]
    assert list(costs["by_excess"]) == pytest.approx([0.72, 0.72, 7.2, 1 / 6])
    subjects = table({"evaluation": {"arms": {"fast": found}}}, "subjects")
    assert list(zip(subjects["subject"], subjects["games"], strict=True)) == [
        ("strict", 100),
        ("random", 100),
        ("random", 20),
    ]
    (full, _) = found["kinds"]
    older = {key: value for key, value in full.items() if key not in ("games", "subjects", "engine_ceiling")}
    assert list(table({"evaluation": {"arms": {"fast": older}}}, "evaluation")["excess"]) == [full["excess"]] * 3
    assert len(table({"evaluation": {"arms": {"fast": older}}}, "subjects")) == 2


def test_evaluation_that_compiled_is_not_averaged(tmp_path: Path) -> None:
    """The first full evaluation took 40 s more to compile: a one-off cost, told elsewhere, so 18 s remain."""
    full, _ = evaluation_of([light_and_full(tmp_path, compiled=True)], GAMES, 0, None)["kinds"]
    assert (full["evaluations"], full["excess"]) == (3, pytest.approx(18))


def test_subjects_are_grouped_where_no_column_counts_games(tmp_path: Path) -> None:
    """Without declared games, evaluations against other subjects are still another kind."""
    declared = GAMES.model_copy(update={"games": None})
    full, light = evaluation_of([light_and_full(tmp_path)], declared, 0, None)["kinds"]
    assert (full["games"], full["subjects"], light["subjects"]) == (
        None,
        {"random": None, "strict": None},
        {"random": None},
    )


def document_001(tmp_path: Path, network: list[Phase]) -> dict[str, Any]:
    """Iterations 70 to 95 at the page's means, the evaluation in 75 by three of its opponents, side by side."""
    declared = HistoryFile.model_validate(
        {
            "file": "metrics.jsonl",
            "iteration": "it",
            "work": {"column": "w", "unit": "nodes"},
            "iteration_seconds": "d",
            "stage": {"name": "traversal", "column": "traversal"},
            "phases": network,
            "evaluation": {
                "seconds": "evaluated", "subjects": list(DOCUMENT), "column": "eval/{subject}/{timer}",
                "elapsed": "elapsed", "timers": ["network"], "inference": "network",
            },
        }
    )  # fmt: skip
    table = rows([40.30 if i == 5 else 17.85 for i in range(26)], traversal=[10.71] * 26, asked=[8.0] * 26)
    table[5] |= {"evaluated": 18.29}
    for who, (elapsed, spent) in DOCUMENT.items():
        table[5] |= {f"eval/{who}/elapsed": elapsed, f"eval/{who}/network": spent}
    history(tmp_path, table)
    one = read_history(tmp_path / "history.jsonl", history_spec(declared))
    spread = Projection(evaluation_every=[25, 5], evaluation_games=[100, 1000])
    assert declared.evaluation is not None
    return evaluation_of([one], declared.evaluation, 0, spread, network)


def test_engine_in_evaluations_alone_brings_half_a_percent(tmp_path: Path) -> None:
    """15.94 - 13.43 s less per evaluation of 22.45 s: every 25 iterations 1.005x, with 1,000 games every 5 1.09x."""
    found = document_001(tmp_path, [])
    (kind,) = found["kinds"]
    assert kind["breakdown"]["saved"] == pytest.approx(2.51)
    ceilings_of = {(row["games"], row["every"]): row["engine_ceiling"] for row in kind["projected"]}
    for games, every in ((100, 25), (100, 5), (1000, 25), (1000, 5)):
        whole = 17.85 + 22.45 * games / 100 / every
        assert ceilings_of[games, every] == pytest.approx(whole / (whole - 2.51 * games / 100 / every))
    assert (f"{ceilings_of[100, 25]:.3f}", f"{ceilings_of[1000, 5]:.2f}") == ("1.005", "1.09")
    assert found["engine"]["elsewhere"] is None
    told = page(found)
    assert "no timer tells the network's part of the rest of the iteration" in told
    assert "1.005x" in told


def test_engine_counts_the_network_of_collection_where_it_is_timed(tmp_path: Path) -> None:
    """8 s of 10.71 s of traversal are the network's: (17.85 + 22.45 / 26) / (that - 8 - 2.51 / 26)."""
    asked = Phase(name="asking", column="asked", parent="traversal", inference=True)
    found = document_001(tmp_path, [asked])
    whole = 17.85 + 22.45 / 26
    assert found["engine"]["elsewhere"] == pytest.approx(8)
    assert found["engine"]["ceiling"] == pytest.approx(whole / (whole - 8 - 2.51 / 26))
    assert "outside of them asking takes 8.000 s" in page(found)


def test_tensor_batches_are_ranked_as_a_part_of_training(tmp_path: Path) -> None:
    """The page's second priority: 4.60 s inside of training are 25.8 % of 17.85 s, 1.35x at most, never added."""
    means = {"traversal": 10.71, "training": 7.11, "batch_tensor": 4.60}
    durations = {name: Counter(name) for name in means} | {"iteration": Counter("d")}
    one = history(tmp_path, rows([17.85] * 25, **{n: [v] * 25 for n, v in means.items()}), durations=durations)
    declared = [Phase(name=n, column=n, parent="training" if n == "batch_tensor" else None) for n in means]
    found = {"arms": {"only": arm_row(table_of([one], declared, 0), 0)}, "predictions": []}
    (ranked,) = ceilings({"arms": {}, "rows": []}, found)
    (inner,) = ranked["nested"]
    assert (inner["part"], inner["part_of"], inner["pays"]) == ("batch_tensor", "training", True)
    assert (f"{inner['share']:.1%}", f"{inner['ceiling']:.2f}") == ("25.8%", "1.35")
    assert [row["part"] for row in ranked["rows"]] == ["traversal", "training"]
    assert sum(row["share"] for row in ranked["rows"]) == pytest.approx(1, abs=0.01)
    record = {
        "phases": found,
        "ceilings": [ranked],
        "registration": {"arm_order": ["only"]},
        "evaluation": {"arms": {}},
    }
    told = phases_page(record)
    row = next(line for line in told.splitlines() if "batch\\_tensor (part of training)" in line)
    assert [cell.strip() for cell in row.split("|")[3:6]] == ["25.8%", "1.347x", "yes"]
    assert "is in the share of that one, too: the two are never added" in told
