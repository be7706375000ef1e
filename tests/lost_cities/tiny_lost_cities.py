"""A game small enough to write down whole, and a training of it that takes seconds."""

from __future__ import annotations

from lost_cities.config import Config, load_config
from lost_cities.rules import make_rules

TINY = make_rules(colours=2, ranks=2, handshakes=1, hand=2, cost=3, bonus=2, bonus_cards=3, action_cap=6)
GAME = [
    "game.colours=2",
    "game.ranks=2",
    "game.handshakes=1",
    "game.hand=2",
    "game.cost=3",
    "game.bonus=2",
    "game.bonus_cards=3",
    "game.action_cap=6",
]
QUICK = [
    *GAME,
    "run.iterations=4",
    "network.hidden=16",
    "network.layers=2",
    "traversal.traversals_per_player=20",
    "traversal.points_per_unit=5",
    "memory.advantage_capacity=150",
    "memory.strategy_capacity=200",
    "optimization.advantage_updates=5",
    "optimization.strategy_updates=5",
    "optimization.advantage_batch_size=32",
    "optimization.strategy_batch_size=32",
    "evaluation.eval_every=2",
    "evaluation.games=6",
    "evaluation.opponents=random,noisy_safe",
    "checkpoint.every=2",
]
# the same without evaluation, whose number of games then has no meaning
WITHOUT_EVALUATION = [setting for setting in QUICK if not setting.startswith("evaluation.games")]
WITHOUT_EVALUATION += ["evaluation.eval_every=0"]


def tiny_config(*overrides: str) -> Config:
    return load_config(None, [*QUICK, *overrides])
