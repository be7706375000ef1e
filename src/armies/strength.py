"""Does training make it stronger? Win rates before and after, over several seeds."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from armies.checkpoint import CHECKPOINT
from armies.evaluate import Player, Score, against_opponent, load_player, new_player, setups_against_random
from armies.opponents import OPPONENTS
from armies.paths import CollectPath
from armies.presets import Preset
from armies.train import train

SETUPS = "own set-ups against random ones"


def measure_strength(
    preset: Preset, path: CollectPath, seeds: Sequence[int], iterations: int, games: int, out: Path
) -> list[dict[str, Any]]:
    """Train once per seed into ``out``/seedN and score the player before and after: one row per number."""
    rows = []
    for seed in seeds:
        folder = out / f"seed{seed}"
        train(preset, path, iterations, folder, seed)
        players = ((0, new_player(preset, seed)), (iterations, load_player(folder / CHECKPOINT)))
        for done, player in players:
            rows += [
                {"seed": seed, "iterations": done, "against": name, **_numbers(score)}
                for name, score in _scores(player, games, seed)
            ]
    return rows


def strength_table(rows: Sequence[dict[str, Any]]) -> str:
    """A Markdown table; rates are wins and half of the draws, with 95 % intervals (Wilson)."""
    columns = ("seed", "iterations", "against", "rate", "interval", "wins", "draws", "losses")
    return tabulate(
        [
            [
                *(row[key] for key in columns[:3]),
                f"{100 * row['rate']:.1f} %",
                f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]",
                *(row[key] for key in columns[5:]),
            ]
            for row in sorted(rows, key=lambda row: (row["against"], row["seed"], row["iterations"]))
        ],
        columns,
        tablefmt="github",
    )


def _scores(player: Player, games: int, seed: int) -> list[tuple[str, Score]]:
    scores = [(name, against_opponent(player, name, games, seed)) for name in OPPONENTS]
    return [*scores, (SETUPS, setups_against_random(player, games, seed))]


def _numbers(score: Score) -> dict[str, Any]:
    low, high = score.interval()
    counts = {"wins": score.wins, "draws": score.draws, "losses": score.losses}
    return {"rate": score.rate, "low": low, "high": high, **counts}
