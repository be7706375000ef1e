"""Evaluation: intervals from the literature, opponents that do what they say, and a command that plays."""

import re

import compiled
import numpy as np
import pytest
from histories import history_without_times

from armies.cli import main
from armies.engine import Games
from armies.evaluate import Score, against_opponent, new_player, setups_against_random
from armies.opponents import BEATS, play_heuristic, play_random
from armies.presets import PRESETS
from armies.variants import (
    BOMB,
    CAPTAIN,
    FLAG,
    GENERAL,
    MARSHAL,
    MINER,
    SCOUT,
    SPY,
    VARIANTS,
    action_cells,
)  # fmt: skip

pytestmark = compiled.fused


def test_wilson_interval_of_published_examples():
    """Newcombe (Statistics in Medicine 17, 1998, table I): 81/263: 0.2553–0.3662; 0/20: 0–0.1611."""
    assert Score(81, 0, 182).interval() == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert Score(0, 0, 20).interval() == pytest.approx((0.0, 0.1611), abs=5e-5)


def test_rate_counts_half_of_the_draws():
    """Two wins, two draws, four losses: 3 of 8."""
    assert Score(2, 2, 4).rate == 3 / 8


def test_certain_captures():
    """Higher ranks, spy on marshal, miner on bomb, anything on the flag; not equals, not bombs."""
    for attacker, defender in [
        (MARSHAL, GENERAL),
        (SPY, MARSHAL),
        (MINER, BOMB),
        (SCOUT, FLAG),
        (SCOUT, SPY),
    ]:
        assert BEATS[attacker, defender]
    for attacker, defender in [(MARSHAL, MARSHAL), (MARSHAL, BOMB), (GENERAL, MARSHAL), (SPY, CAPTAIN)]:
        assert not BEATS[attacker, defender]
    assert not BEATS[[BOMB, FLAG]].any()


def test_heuristic_captures_advances_and_obeys_the_rules():
    """Every action is legal; a certain capture is never passed over; without one it advances."""
    variant = VARIANTS["octa"]
    games, generator = Games(variant, 64, seed=1), np.random.default_rng(2)
    source, target = action_cells(variant).T
    captures = advances = 0
    for _ in range(60):
        planes, legal = games.observe(), games.legal_mask().astype(bool)
        actions = play_heuristic(games, generator)
        for game, action in enumerate(actions):
            assert legal[game, action]
            own = planes[game, :12].argmax(0) + 1  # kinds of own pieces, read plane by plane
            shown = np.where(planes[game, 12:24].any(0), planes[game, 12:24].argmax(0) + 1, 0)
            moves = np.flatnonzero(legal[game])
            sure = [m for m in moves if shown[target[m]] and BEATS[own[source[m]], shown[target[m]]]]
            ahead = [m for m in moves if target[m] // 8 > source[m] // 8 and not shown[target[m]]]
            if sure:
                assert action in sure
                captures += 1
            elif ahead:
                assert action in ahead
                advances += 1
        games.step(actions)
    assert captures > 20
    assert advances > 500


def test_random_opponent_is_uniform():
    """Of a position's moves each is drawn about equally often."""
    games = Games(VARIANTS["octa"], 1, seed=3)
    moves = np.flatnonzero(games.legal_mask()[0])
    generator = np.random.default_rng(4)
    counts = np.bincount([play_random(games, generator)[0] for _ in range(3000)], minlength=896)
    assert counts.sum() == counts[moves].sum()
    expected = 3000 / len(moves)
    assert (np.abs(counts[moves] - expected) < 5 * np.sqrt(expected)).all()


def test_heuristic_beats_random_more_than_a_fresh_network_does():
    """A fresh network plays about as well as random does: near one half against it, far below heuristic."""
    player = new_player(PRESETS["tiny"], seed=0)
    against_random = against_opponent(player, "random", 200, seed=1)
    against_heuristic = against_opponent(player, "heuristic", 200, seed=1)
    assert against_random.games == against_heuristic.games == 200
    assert 0.35 < against_random.rate < 0.65
    assert against_heuristic.rate < 0.4


def test_setups_of_a_fresh_network_are_as_good_as_random_ones():
    """They are random ones: the rate's interval holds one half."""
    low, high = setups_against_random(new_player(PRESETS["tiny"], seed=0), 200, seed=5).interval()
    assert low < 0.5 < high


def test_same_seed_same_games():
    """An evaluation can be repeated."""
    player = new_player(PRESETS["tiny"], seed=0)
    assert against_opponent(player, "random", 40, 6) == against_opponent(player, "random", 40, 6)


def test_command_prints_rate_and_interval(tmp_path, capsys):
    """`evaluate` plays a checkpoint: a rate inside its interval, and as many results as games."""
    assert main(["train", "--preset", "tiny", "--iterations", "1", "--out", str(tmp_path)]) == 0
    capsys.readouterr()
    checkpoint = str(tmp_path / "checkpoint.pt")
    assert main(["evaluate", "--checkpoint", checkpoint, "--opponent", "random", "--games", "30"]) == 0
    line = capsys.readouterr().out
    rate, low, high, *results = map(float, re.findall(r"\d+\.?\d*", line)[:6])
    assert low < rate < high
    assert sum(results) == 30


@pytest.mark.slow
def test_strength_table(tmp_path, capsys):
    """`strength` trains and prints one line per seed, opponent and moment, and pooled lines.

    A training that is scored on its way becomes the same as one that is not.
    """
    arguments = ["strength", "--preset", "tiny", "--seeds", "0", "1", "--games", "20", "--iterations"]
    assert main([*arguments, "1", "3", "--out", str(tmp_path / "on the way")]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(lines) == 2 + 3 * 3 * 3
    assert sum("all" in line for line in lines) == 3 * 3
    assert main([*arguments, "3", "--out", str(tmp_path / "at once")]) == 0
    stopped, whole = (history_without_times(tmp_path / name / "seed1") for name in ("on the way", "at once"))
    assert stopped == whole
