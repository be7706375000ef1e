"""Evaluation: opponents, intervals, schedule, the forward sweep and the strength table."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from games_of_lost_cities import pair_of_games
from tiny_lost_cities import QUICK, WITHOUT_EVALUATION, tiny_config

from lost_cities.cli import main
from lost_cities.config import load_config
from lost_cities.engine_alone import ENCODINGS
from lost_cities.evaluation import TIMERS, Match, play_match, summary
from lost_cities.evaluator import Evaluator
from lost_cities.kernels.game import step
from lost_cities.kernels.matches import soft_max
from lost_cities.kernels.opponents import OPPONENTS, opponents_act
from lost_cities.rules import STANDARD


def uniform(inputs: np.ndarray) -> np.ndarray:
    return np.zeros((len(inputs), STANDARD.actions), np.float32)


def by_row(inputs: np.ndarray) -> np.ndarray:
    matrix = np.random.default_rng(2).normal(size=(STANDARD.inputs, STANDARD.actions)).astype(np.float32)
    return np.stack([row.astype(np.float32) @ matrix for row in inputs])


def match(opponent: str, **changes: object) -> Match:
    settings = {"games": 60, "batch_size": 64, "diagnostics": True, "seed": 1, "iteration": 0, **changes}
    return Match(opponent, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", OPPONENTS)
def test_opponents_take_legal_actions(name):
    """In every state of random games each opponent's action is a legal one by the slow twin."""
    actions, streams = np.empty(1, np.int64), np.ones(1, np.uint64)
    for seed in range(3):
        row, plain = pair_of_games(STANDARD, seed)
        choice = np.random.default_rng(seed)
        while plain.ending is None:
            opponents_act(STANDARD, row[None], np.zeros(1, np.int64), OPPONENTS[name], streams, actions)
            assert actions[0] in plain.legal()
            action = int(choice.choice(plain.legal()))
            step(STANDARD, row, action)
            plain.take(action)


def test_strength_of_the_opponents_is_as_published():
    """Uniform play loses to every one but random as in a public implementation's duels (safe 34.5 : random -64.8)."""
    results = {name: play_match(STANDARD, uniform, match(name, games=400, diagnostics=False)) for name in OPPONENTS}
    assert results["random"]["margin_low"] < 0 < results["random"]["margin_high"]
    assert results["passive_discard"]["opponent_score_mean"] == 0
    assert results["safe_heuristic"]["opponent_score_mean"] == pytest.approx(34.5, abs=10)
    assert results["safe_heuristic"]["score_mean"] == pytest.approx(-64.8, abs=25)
    points = {name: result["opponent_score_mean"] for name, result in results.items()}
    assert points["safe_heuristic_loose"] > points["safe_heuristic"] > points["safe_heuristic_strict"] > 5
    assert points["safe_heuristic"] > points["noisy_safe"]


def test_a_match_does_not_depend_on_the_batch_size():
    """The same seed gives the same games in batches of 7 and of 64; another seed gives others."""
    first, second, third = (
        play_match(STANDARD, by_row, match("safe_heuristic", **changes))
        for changes in ({"batch_size": 7}, {}, {"seed": 2})
    )
    same = [key for key in first if not key.endswith("_seconds")]
    assert [first[key] for key in same] == [second[key] for key in same]
    assert first["margin_mean"] != third["margin_mean"]


def test_breakdown_and_diagnostics():
    """Every timer of the breakdown is there and their sum is at most the elapsed time; diagnostics fit together."""
    full = play_match(STANDARD, uniform, match("noisy_safe"))
    parts = [full[f"{name}_seconds"] for name in TIMERS]
    assert all(seconds > 0 for seconds in parts)
    assert sum(parts) <= full["elapsed_seconds"]
    turns = full["plays"] + full["discards"]
    assert turns - 1 <= full["deck_draws"] + full["pile_draws"] <= turns
    assert full["mean_actions"] == pytest.approx(4 * turns, abs=3)
    light = play_match(STANDARD, uniform, match("noisy_safe", diagnostics=False))
    assert light["diagnostics_seconds"] == 0
    assert "plays" not in light
    assert light["margin_mean"] == full["margin_mean"]


def test_intervals():
    """Wilson's 95 % interval of 8 of 10 is 0.490 to 0.943; the margin's is mean +- 1.96 s / sqrt(n)."""
    points = np.array([[1, 0]] * 8 + [[0, 1]] * 2)
    result = summary(points)
    assert (result["win_rate"], result["margin_mean"]) == (0.8, pytest.approx(0.6))
    assert (result["win_rate_low"], result["win_rate_high"]) == pytest.approx((0.490, 0.943), abs=1e-3)
    assert result["margin_high"] - 0.6 == pytest.approx(1.96 * np.sqrt(0.64 * 10 / 9) / np.sqrt(10), abs=1e-4)
    assert summary(np.array([[3, 3], [5, 1]]))["win_rate"] == 0.75


def test_soft_max_over_legal_actions():
    """Illegal actions get nothing however large their answer, the others their share of the exponentials."""
    policy = np.empty(3)
    soft_max(np.log(np.array([1, 100, 3], np.float32)), np.array([1, 0, 1], np.uint8), policy)
    assert policy == pytest.approx([0.25, 0, 0.75])


def test_light_and_full_schedule():
    """Full evaluations win over light ones where both are due; 0 means never."""
    config = tiny_config(
        "evaluation.eval_every=6", "evaluation.light_every=2", "evaluation.light_games=3", "evaluation.games=9"
    )
    evaluator = Evaluator(config, 0)
    light, full = (["random", "safe_heuristic"], 3), (["random", "noisy_safe"], 9)
    assert [evaluator.due(i) for i in range(1, 7)] == [([], 0), light, ([], 0), light, ([], 0), full]
    assert Evaluator(load_config(None, WITHOUT_EVALUATION), 0).due(25) == ([], 0)


def test_exploitability_in_the_metrics(tmp_path):
    """evaluation.exploitability_every writes the exact value of a solvable game, which falls from uniform play's."""
    settings = [*WITHOUT_EVALUATION, "evaluation.exploitability_every=4", "optimization.strategy_updates=100"]
    arguments = [part for setting in settings for part in ("--set", setting)]
    assert main(["train", "--out", str(tmp_path / "out"), "--seed", "1", *arguments]) == 0
    rows = [json.loads(line) for line in (tmp_path / "out" / "metrics.jsonl").read_text().splitlines()]
    assert ["eval/exploitability" in row for row in rows] == [False, False, False, True]
    assert 0 < rows[-1]["eval/exploitability"] < 1.45


def test_forward_sweep(tmp_path, capsys):
    """The sweep times every batch size, and its speed-up is the ratio of the times per state."""
    out = tmp_path / "sweep" / "forward.json"
    sweep = ["forward", "--batch-sizes", "1,8", "--calls", "20", "--set", "network.hidden=32"]
    assert main([*sweep, "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    first, second = result["rows"]
    assert (first["batch_size"], second["batch_size"]) == (1, 8)
    assert second["microseconds_per_state"] == pytest.approx(second["microseconds_per_call"] / 8)
    assert second["speed_up"] == pytest.approx(first["microseconds_per_state"] / second["microseconds_per_state"])
    assert (first["speed_up"], result["measured_calls"], result["network"]) == (1.0, 20, [365, 32, 32, 32, 22])
    capsys.readouterr()
    assert main(sweep) == 0
    assert [line.split(":")[0].split() for line in capsys.readouterr().out.splitlines()] == [
        ["batch", "1"],
        ["batch", "8"],
    ]
    assert main(["forward", "--out", str(tmp_path)]) == 2
    assert "cannot be written: it is a folder, expected a file" in capsys.readouterr().err
    os.mkfifo(tmp_path / "null")
    assert main(["forward", "--out", str(tmp_path / "null")]) == 2
    assert "cannot be written: it is a device, pipe or socket, expected a file" in capsys.readouterr().err
    assert (tmp_path / "null").is_fifo()


def test_engine_alone(tmp_path):
    """The engine's rates are work over seconds, over as many repeats as it says, in a file of schema component/1."""
    out = tmp_path / "engine.json"
    assert main(["engine", "--games", "20", "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    assert (result["schema"], [rate["name"] for rate in result["rates"]]) == ("component/1", ["actions", "encode"])
    for rate in result["rates"]:
        assert rate["value"] == pytest.approx(rate["work"] / rate["seconds"])
        assert len(rate["repeats"]) == 5
    assert result["rates"][0]["work"] > 5 * 20 * 88
    assert result["rates"][1]["work"] == 5 * 20 * ENCODINGS


def test_strength_before_and_after(tmp_path, capsys):
    """The table has a row before and one after training per opponent, of the same deals; before is uniform play."""
    arguments = [part for setting in QUICK for part in ("--set", setting)]
    assert main(["train", "--out", str(tmp_path), "--seed", "1", *arguments, "--set", "run.iterations=1"]) == 0
    out = tmp_path / "strength.json"
    checkpoint = str(tmp_path / "checkpoint.pt")
    assert main(["strength", "--checkpoint", checkpoint, "--games", "50", "--out", str(out)]) == 0
    rows = json.loads(out.read_text())["rows"]
    assert [(row["opponent"], row["iterations"]) for row in rows] == [
        ("random", 0),
        ("random", 1),
        ("noisy_safe", 0),
        ("noisy_safe", 1),
    ]
    rules = load_config(None, QUICK).game.rules()
    zeros = Match("random", 50, 64, False, 0, 0)
    plain = play_match(rules, lambda x: np.zeros((len(x), rules.actions), np.float32), zeros)
    assert rows[0]["margin_mean"] == plain["margin_mean"]
    assert "| noisy_safe" in capsys.readouterr().out
