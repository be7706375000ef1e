"""Does training make it stronger? Win rates before and after, over several seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from armies.checkpoint import CHECKPOINT
from armies.errors import ArmiesError
from armies.evaluate import Player, Score, against_opponent, load_player, new_player, setups_against_random
from armies.files import check_writable
from armies.opponents import OPPONENTS
from armies.paths import CollectPath
from armies.presets import Preset
from armies.train import train

SETUPS = "own set-ups against random ones"


def measure_strength(
    preset: Preset, path: CollectPath, seeds: Sequence[int], iterations: Sequence[int], games: int, out: Path
) -> list[dict[str, Any]]:
    """Train once per seed into ``out``/seedN; score the player before and after ``iterations``: a row per number.

    With more than one number of ``iterations`` the training stops at each, is scored, and goes on.

    Raises :class:`ArmiesError` before it trains if a seed is named twice, its folder is there already, or the
    result could not be written to ``out``/strength.json.
    """
    folders = {seed: out / f"seed{seed}" for seed in seeds}
    if len(folders) < len(seeds):
        raise ArmiesError(f"seeds are {', '.join(map(str, seeds))}, expected each once")
    for folder in folders.values():
        if folder.exists():  # said before the first training, not between two
            raise ArmiesError(f"{folder} exists already, expected a new folder")
    check_writable(out / "strength.json")
    rows = []
    for seed, folder in folders.items():
        rows += _rows(seed, 0, new_player(preset, seed), games)
        for done in sorted(set(iterations)):
            train(preset, path, done, folder, seed, resume=folder.exists())
            rows += _rows(seed, done, load_player(folder / CHECKPOINT), games)
    return rows


def strength_table(rows: Sequence[dict[str, Any]]) -> str:
    """A Markdown table; rates are wins and half of the draws, with 95 % intervals (Wilson).

    The rows "all" pool the games of all seeds.
    """
    columns = ("seed", "iterations", "against", "rate", "interval", "wins", "draws", "losses")
    return tabulate(
        [
            [
                *(row[key] for key in columns[:3]),
                f"{100 * row['rate']:.1f} %",
                f"[{100 * row['low']:.1f}, {100 * row['high']:.1f}]",
                *(row[key] for key in columns[5:]),
            ]
            for row in sorted([*rows, *_pooled(rows)], key=_place)
        ],
        columns,
        tablefmt="github",
    )


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    """Where a row stands in the table: pooled rows after those of the seeds."""
    return row["against"], row["seed"] == "all", row["seed"], row["iterations"]


def _pooled(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    counts: dict[tuple[str, int], Counter[str]] = {}
    for row in rows:
        results = {key: row[key] for key in ("wins", "draws", "losses")}
        counts.setdefault((row["against"], row["iterations"]), Counter()).update(results)
    return [
        {"seed": "all", "iterations": iterations, "against": against, **_numbers(Score(**results))}
        for (against, iterations), results in counts.items()
    ]


def _rows(seed: int, done: int, player: Player, games: int) -> list[dict[str, Any]]:
    """The player after ``done`` iterations against every opponent, and its set-ups against random ones."""
    scores = {name: against_opponent(player, name, games, seed) for name in OPPONENTS}
    scores[SETUPS] = setups_against_random(player, games, seed)
    return [{"seed": seed, "iterations": done, "against": name, **_numbers(score)} for name, score in scores.items()]


def _numbers(score: Score) -> dict[str, Any]:
    low, high = score.interval()
    counts = {"wins": score.wins, "draws": score.draws, "losses": score.losses}
    return {"rate": score.rate, "low": low, "high": high, **counts}
