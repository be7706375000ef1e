"""When the strategy network is evaluated, against whom, and in which process."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lost_cities.config import Config
from lost_cities.devices import apply_run_settings, device_named
from lost_cities.errors import LostCitiesError, NonFiniteTrainingError
from lost_cities.evaluation import Match, play_match
from lost_cities.exploitability import SolvableGame, write_down
from lost_cities.inference import Answerer, Weights
from lost_cities.kernels.matches import soft_max
from lost_cities.processes import WorkerPool
from lost_cities.warmup import warm_up


class Player:
    """Handles :class:`Weights` of the strategy network and matches to be played with it."""

    def __init__(self, config: Config) -> None:
        settings = config.evaluation
        self._rules = config.game.rules()
        self._answerer = Answerer(
            self._rules,
            config.network.hidden,
            config.network.layers,
            device_named(settings.device, "evaluation.device"),
            settings.use_amp,
            settings.compile,
        )

    def __call__(self, job: Weights | Match) -> dict[str, Any] | None:
        if isinstance(job, Match):
            return play_match(self._rules, self._answerer.answer, job)
        self._answerer.load(job)
        return None

    def policy(self, game: SolvableGame) -> NDArray[np.float64]:
        """The strategy at every information set of a game that is written down whole."""
        policy = np.empty(game.legal.shape)
        for row, answers in enumerate(self._answerer.answer(game.inputs)):
            if not soft_max(answers, game.legal[row], policy[row]):
                raise NonFiniteTrainingError("an answer of the strategy network is not finite")
        return policy


@dataclass(frozen=True)
class Due:
    """An evaluation: the strategy network after ``iteration`` against each opponent, ``games`` games."""

    iteration: int
    opponents: list[str]
    games: int
    weights: Weights


class Evaluator:
    """Evaluates on schedule. Keys of its rows are ``eval/<opponent>/<metric>``.

    Asynchronously, matches are played by the workers while the trainer goes on; they arrive in a later row, with
    their iteration in ``eval/iteration``. The row before the next evaluation, and the last but one, wait for them,
    so that no row has to hold two evaluations. ``under_way`` is what a checkpoint must keep of it.
    """

    def __init__(self, config: Config, seed: int) -> None:
        self._config, self._seed = config, seed
        self._pool: WorkerPool | None = None
        self.under_way: Due | None = None
        self._player = Player(config)
        if config.evaluation.num_workers:
            self._pool = WorkerPool(_make_player, (config,), config.evaluation.num_workers, "evaluation")
        exact = config.evaluation.exploitability_every
        self._game = write_down(config.game.rules()) if exact else None

    def wait_ready(self) -> None:
        """Wait until all workers have loaded what they need."""
        if self._pool:
            self._pool.wait_ready()

    def due(self, iteration: int) -> tuple[list[str], int]:
        """Opponents and games of the evaluation after ``iteration``; no opponents when none is due."""
        settings = self._config.evaluation
        if settings.eval_every and iteration % settings.eval_every == 0:
            return list(settings.opponents), settings.games
        if settings.light_every and iteration % settings.light_every == 0:
            return list(settings.light_opponents), settings.light_games
        return [], 0

    def after(self, iteration: int, weights: Weights) -> dict[str, Any]:
        """Evaluate if it is time to; metrics that are ready now, an empty dictionary without any."""
        row = self._exploitability(iteration, weights)
        opponents, games = self.due(iteration)
        if not opponents:
            return row | self._arrived(wait=self._last_chance(iteration))
        due = Due(iteration, opponents, games, weights)
        if self._pool is None:
            self._player(weights)
            return row | _keys(due, [self._player(match) for match in self._matches(due)])
        self.start(due)
        wait = not self._config.evaluation.asynchronous or self._last_chance(iteration)
        return row | (self._arrived(wait=True) if wait else {})

    def start(self, due: Due) -> None:
        """Give an evaluation to the workers, in a resumed training again. :class:`LostCitiesError` without workers."""
        if self._pool is None:
            raise LostCitiesError(
                f"evaluation.num_workers: found 0, expected at least 1: the evaluation of iteration {due.iteration} "
                "was under way when the checkpoint was written"
            )
        self._pool.broadcast(due.weights)
        self._pool.submit(self._matches(due))
        self.under_way = due

    def _last_chance(self, iteration: int) -> bool:
        """Whether results that are under way must arrive in the row of ``iteration``."""
        return iteration + 1 >= self._config.run.iterations or bool(self.due(iteration + 1)[0])

    def close(self) -> None:
        if self._pool:
            self._pool.close()

    def _matches(self, due: Due) -> list[Match]:
        settings = self._config.evaluation
        return [
            Match(opponent, due.games, settings.batch_size, settings.diagnostics, self._seed, due.iteration)
            for opponent in due.opponents
        ]

    def _arrived(self, wait: bool) -> dict[str, Any]:
        if self.under_way is None or self._pool is None or (not wait and self._pool.busy):
            return {}
        due, self.under_way = self.under_way, None
        return _keys(due, self._pool.results())

    def _exploitability(self, iteration: int, weights: Weights) -> dict[str, Any]:
        every = self._config.evaluation.exploitability_every
        if self._game is None or iteration % every:
            return {}
        start = time.perf_counter()
        self._player(weights)
        exact = self._game.exploitability(self._player.policy(self._game))
        return {"eval/exploitability": exact, "eval/exploitability_seconds": time.perf_counter() - start}


def _keys(due: Due, results: list[Any]) -> dict[str, Any]:
    row: dict[str, Any] = {"eval/iteration": due.iteration}
    for opponent, result in zip(due.opponents, results, strict=True):
        row |= {f"eval/{opponent}/{name}": value for name, value in result.items()}
    return row


def _make_player(config: Config) -> Player:
    apply_run_settings(config.run)
    warm_up(config)
    return Player(config)
