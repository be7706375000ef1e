"""Strength before and after training: the strategy network against each opponent, with intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tabulate import tabulate

from lost_cities.checkpoint import damage_named, read_checkpoint
from lost_cities.config import Config, check
from lost_cities.devices import apply_run_settings
from lost_cities.evaluation import Match
from lost_cities.evaluator import Player
from lost_cities.inference import weights_of
from lost_cities.trainer import Trainer

SCHEMA = "strength/1"


def strength(checkpoint: Path, games: int, seed: int) -> dict[str, Any]:
    """Play ``games`` games per opponent with the untrained and the saved strategy network of ``checkpoint``.

    Both play the same deals. Untrained is the network that the training started from: uniform play.
    :class:`LostCitiesError` if the file is no checkpoint.
    """
    content = read_checkpoint(checkpoint)
    with damage_named(checkpoint):
        config = Config.model_validate(content["config"])
        check(config)
        apply_run_settings(config.run)
        player = Player(config)
        before = weights_of(Trainer(config, content["seed"]).strategy.network)
        after = {name: tensor.numpy() for name, tensor in content["networks"][-1].items()}
        player(after)
    rows = []
    for opponent in config.evaluation.opponents:
        match = Match(opponent, games, config.evaluation.batch_size, False, seed, 0)
        for iterations, weights in ((0, before), (content["iteration"], after)):
            player(weights)
            rows.append({"opponent": opponent, "iterations": iterations, **(player(match) or {})})
    return {"schema": SCHEMA, "checkpoint_seed": content["seed"], "match_seed": seed, "rows": rows}


def strength_table(result: dict[str, Any]) -> str:
    """A Markdown table of :func:`strength`: points, margin and win rate with their 95 % intervals."""
    rows = [
        [
            row["opponent"],
            row["iterations"],
            f"{row['score_mean']:.1f} : {row['opponent_score_mean']:.1f}",
            f"{row['margin_mean']:.1f} [{row['margin_low']:.1f}, {row['margin_high']:.1f}]",
            f"{row['win_rate']:.1%} [{row['win_rate_low']:.1%}, {row['win_rate_high']:.1%}]",
            row["endings_cap"],
        ]
        for row in result["rows"]
    ]
    heads = ["opponent", "iterations", "points", "margin [95 %]", "win rate [95 %]", "at the cap"]
    games = result["rows"][0]["games"] if result["rows"] else 0
    return f"{games} games per row\n\n" + tabulate(rows, heads, tablefmt="github")
