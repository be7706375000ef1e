"""Games of a strategy network against an opponent by rule of thumb, many at once, with the time of each part."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lost_cities.errors import NonFiniteTrainingError
from lost_cities.kernels import matches
from lost_cities.kernels.opponents import OPPONENTS, opponents_act
from lost_cities.rules import ACTION_CAP, Rules

Answer = Callable[[NDArray[np.int8]], NDArray[np.float32]]

TIMERS = (
    "policy_network",
    "policy_encoding",
    "policy_postprocess",
    "policy_legal_mask",
    "opponent_act",
    "apply_action",
    "diagnostics",
    "final_scoring",
)
Z95 = 1.959964  # two-sided 95 % of the normal distribution


@dataclass(frozen=True)
class Match:
    """Who is played, how often, from which random numbers; ``batch_size`` is the most states per network call."""

    opponent: str
    games: int
    batch_size: int
    diagnostics: bool
    seed: int
    iteration: int


class Stopwatch:
    """Seconds per part of a match."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(TIMERS, 0.0)

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start


def play_match(rules: Rules, answer: Answer, match: Match) -> dict[str, Any]:
    """Play the games, the policy moving first in every second one; the metrics by name, without a prefix.

    ``answer`` gives the strategy network's float32 (n, actions) for int8 inputs (n, inputs);
    :class:`NonFiniteTrainingError` if one of them is a NaN or an infinity.
    """
    start, watch = time.perf_counter(), Stopwatch()
    opponent = OPPONENTS[match.opponent]
    rows = np.empty((match.games, rules.row), np.int16)
    streams = np.empty(match.games, np.uint64)
    counts = np.zeros((match.games, matches.DIAGNOSTICS), np.int64)
    matches.deal_games(rules, rows, streams, match.seed, match.iteration, _stream_of(match.opponent))
    while True:
        policy_games, opponent_games = matches.to_move(rules, rows)
        if len(policy_games) + len(opponent_games) == 0:
            break
        actions = np.empty(len(policy_games), np.int64)
        for at in range(0, len(policy_games), match.batch_size):
            part = slice(at, at + match.batch_size)
            actions[part] = _policy_actions(rules, answer, rows, policy_games[part], streams, watch)
        replies = np.empty(len(opponent_games), np.int64)
        with watch.part("opponent_act"):
            opponents_act(rules, rows, opponent_games, opponent, streams, replies)
        if match.diagnostics:
            with watch.part("diagnostics"):
                matches.count_actions(rules, policy_games, actions, counts)
        with watch.part("apply_action"):
            matches.step_games(rules, rows, policy_games, actions)
            matches.step_games(rules, rows, opponent_games, replies)
    points = np.empty((match.games, 2), np.int64)
    with watch.part("final_scoring"):
        matches.score_games(rules, rows, points)
        result = summary(points)
    result["endings_cap"] = int((rows[:, rules.ended_at] == ACTION_CAP).sum())
    result["mean_actions"] = float(rows[:, rules.taken_at].mean())
    if match.diagnostics:
        with watch.part("diagnostics"):
            result |= _diagnostics(rules, rows, counts)
    result |= {f"{name}_seconds": seconds for name, seconds in watch.seconds.items()}
    result["elapsed_seconds"] = time.perf_counter() - start
    return result


def summary(points: NDArray[np.int64]) -> dict[str, Any]:
    """Scores of games, points (games, 2): means, and 95 % intervals of the margin (normal) and win rate (Wilson).

    A win is a strictly larger score; a draw counts half a win.
    """
    games = len(points)
    margins = (points[:, 0] - points[:, 1]).astype(float)
    wins = float((np.sign(margins) + 1).mean() / 2)
    centre = (wins + Z95**2 / (2 * games)) / (1 + Z95**2 / games)
    spread = Z95 * math.sqrt(wins * (1 - wins) / games + Z95**2 / (4 * games**2)) / (1 + Z95**2 / games)
    deviation = float(margins.std(ddof=1)) if games > 1 else 0.0
    half = Z95 * deviation / math.sqrt(games)
    mean = float(margins.mean())
    return {
        "games": games,
        "score_mean": float(points[:, 0].mean()),
        "opponent_score_mean": float(points[:, 1].mean()),
        "margin_mean": mean,
        "margin_low": mean - half,
        "margin_high": mean + half,
        "win_rate": wins,
        "win_rate_low": centre - spread,
        "win_rate_high": centre + spread,
    }


def _policy_actions(
    rules: Rules,
    answer: Answer,
    rows: NDArray[np.int16],
    games: NDArray[np.int64],
    streams: NDArray[np.uint64],
    watch: Stopwatch,
) -> NDArray[np.int64]:
    inputs = np.empty((len(games), rules.inputs), np.int8)
    legal = np.empty((len(games), rules.actions), np.uint8)
    actions = np.empty(len(games), np.int64)
    with watch.part("policy_encoding"):
        matches.encode_games(rules, rows, games, inputs)
    with watch.part("policy_legal_mask"):
        matches.legal_in_games(rules, rows, games, legal)
    with watch.part("policy_network"):
        answers = answer(inputs)
    with watch.part("policy_postprocess"):
        finite = matches.draw_actions(answers, legal, games, streams, actions)
    if not finite:
        raise NonFiniteTrainingError("an answer of the strategy network is not finite")
    return actions


def _diagnostics(rules: Rules, rows: NDArray[np.int16], counts: NDArray[np.int64]) -> dict[str, float | None]:
    """Means per game of what the policy did; ``expeditions_gaining_share`` is null if none was started."""
    expeditions = np.empty((len(rows), 2), np.int64)
    matches.count_expeditions(rules, rows, expeditions)
    started, gaining = expeditions.sum(0).tolist()
    means = counts.mean(0).tolist()
    return {
        "plays": means[matches.PLAYS],
        "discards": means[matches.DISCARDS],
        "deck_draws": means[matches.DECK_DRAWS],
        "pile_draws": means[matches.PILE_DRAWS],
        "expeditions": started / len(rows),
        "expeditions_gaining_share": gaining / started if started else None,
    }


def _stream_of(opponent: str) -> int:
    return 1000 + list(OPPONENTS).index(opponent)
