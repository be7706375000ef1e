"""Options that have an effect only beside certain values of others; to set one without that is an error.

Nobody would notice otherwise that an option did nothing, and a study could compare a training with itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from lost_cities.errors import LostCitiesError

if TYPE_CHECKING:
    from lost_cities.config import Config


class Needs(NamedTuple):
    """What an option needs to have an effect: the test of a configuration, and the same in words."""

    met: Callable[[Config], bool]
    words: str


BONUS = Needs(lambda config: config.game.bonus > 0, "game.bonus of 1 or more")
BONUS_IN_REACH = Needs(
    lambda config: BONUS.met(config) and config.game.bonus_cards <= config.game.ranks + config.game.handshakes,
    "game.bonus of 1 or more and so many cards in a colour",
)
OUTCOME = Needs(lambda config: config.traversal.sampling == "outcome", "traversal.sampling outcome")
BATCHED = Needs(lambda config: config.traversal.inference == "batched", "traversal.inference batched")
TRAVERSAL_WORKERS = Needs(lambda config: config.traversal.num_workers > 0, "traversal.num_workers of 1 or more")
FULL = Needs(lambda config: config.evaluation.eval_every > 0, "evaluation.eval_every of 1 or more")
LIGHT = Needs(lambda config: config.evaluation.light_every > 0, "evaluation.light_every of 1 or more")
ANY_EVALUATION = Needs(
    lambda config: FULL.met(config) or LIGHT.met(config), "evaluation.eval_every or evaluation.light_every of 1 or more"
)
BETWEEN_FULL = Needs(
    lambda config: not FULL.met(config) or config.evaluation.light_every % config.evaluation.eval_every > 0,
    "iterations of its own: at each multiple of evaluation.eval_every the full evaluation takes its place",
)
WORK_FOR_ALL = Needs(
    lambda config: config.traversal.num_workers <= chunks(config),
    "a chunk of traversals for each: more traversals or a smaller traversal.worker_chunk_size",
)
OPPONENT_FOR_ALL = Needs(
    lambda config: ANY_EVALUATION.met(config) and config.evaluation.num_workers <= most_opponents(config),
    "evaluation.eval_every or evaluation.light_every of 1 or more, with an opponent for each",
)


def chunks(config: Config) -> int:
    """Jobs of an iteration's traversals."""
    return -(-2 * config.traversal.traversals_per_player // config.traversal.worker_chunk_size)


def most_opponents(config: Config) -> int:
    """Opponents, a job each, of the largest evaluation that is on the schedule."""
    settings = config.evaluation
    return max(
        len(settings.opponents) if settings.eval_every else 0,
        len(settings.light_opponents) if settings.light_every else 0,
    )


NEEDS = {
    "game.bonus_cards": BONUS_IN_REACH,
    "traversal.epsilon": OUTCOME,
    "traversal.baseline": OUTCOME,
    "traversal.width": BATCHED,
    "traversal.num_workers": WORK_FOR_ALL,
    "traversal.worker_chunk_size": TRAVERSAL_WORKERS,
    "evaluation.games": FULL,  # the other options of evaluation are also those of the strength table
    "evaluation.light_every": BETWEEN_FULL,
    "evaluation.light_games": LIGHT,
    "evaluation.light_opponents": LIGHT,
    "evaluation.num_workers": OPPONENT_FOR_ALL,
    "evaluation.diagnostics": ANY_EVALUATION,
}


def refuse_idle(config: Config, keys: Iterable[str], source: str) -> None:
    """Raise :class:`LostCitiesError` for one of ``keys`` (``section.key``, set by ``source``) that does nothing.

    A key at its default changes nothing anywhere, and passes: a file may name all of them.
    """
    for key in keys:
        if key not in NEEDS or NEEDS[key].met(config):
            continue
        section, name = key.split(".")
        values = getattr(config, section)
        value = getattr(values, name)
        if value != getattr(type(values)(), name):
            raise LostCitiesError(f"{source}: {key}: found {value!r}, which has no effect without {NEEDS[key].words}")
