"""The sizes and settings of a training, as named presets.

A preset is everything that determines a training apart from the seed, the path and the device.
Learning constants follow the public research line (arXiv 2511.07312): advantage filter at the 75 % quantile
with a floor of 0.01, PPO clip 0.2, GAE λ 0.5, TD λ 0.8, no discount.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from armies.errors import ArmiesError
from armies.variants import VARIANTS, Variant


def _check_number(
    name: str, field: str, value: object, least: float, most: float = math.inf, whole: bool = False
) -> None:
    """Raise :class:`ArmiesError` unless ``value`` is a finite number from ``least`` to ``most``."""
    kind = int if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kind):
        raise ArmiesError(f"{name}: {field} is {value!r}, expected a {'whole ' if whole else ''}number")
    if not (math.isfinite(value) and value >= least):
        raise ArmiesError(f"{name}: {field} is {value}, expected at least {least}")
    if value > most:
        raise ArmiesError(f"{name}: {field} is {value}, expected at most {most}")


@dataclass(frozen=True)
class NetworkConfig:
    """Size of a transformer: ``layers`` blocks of ``width`` channels, in ``heads`` attention heads."""

    width: int
    heads: int
    layers: int
    feed_forward: int  # hidden channels of a block's feed-forward part, as a multiple of width

    def check(self, name: str) -> None:
        for field, value in asdict(self).items():
            _check_number(name, field, value, least=1, whole=True)
        if self.width % self.heads:
            raise ArmiesError(
                f"{name}: width {self.width} is not divisible by {self.heads} heads, "
                f"expected a multiple of {self.heads}"
            )


@dataclass(frozen=True)
class LearningConfig:
    """How the move network learns from transitions, and the set-up network from finished games."""

    learning_rate: float = 1e-3
    epochs: int = 1  # passes over the kept transitions
    minibatch: int = 256  # kept transitions per gradient step
    clip: float = 0.2  # PPO: bound of the probability ratio around 1
    value_weight: float = 0.5  # weight of the categorical value loss
    entropy_weight: float = 0.01  # bonus per nat of the policy's entropy
    kl_weight: float = 0.1  # penalty per nat of KL(policy that collected, policy being updated)
    max_gradient_norm: float = 0.5
    gae_lambda: float = 0.5
    td_lambda: float = 0.8
    keep_quantile: float = 0.75  # transitions below this quantile of |advantage| are dropped …
    keep_floor: float = 0.01  # … and so are those below this |advantage|
    setup_learning_rate: float = 3e-3
    random_setups: float = 0.5  # share of the sides that start from a random set-up
    setup_entropy_weight: float = 0.05  # bonus per nat of a whole set-up's entropy

    def check(self, name: str) -> None:
        for field, value in asdict(self).items():
            whole = field in ("epochs", "minibatch")
            share = field in ("gae_lambda", "td_lambda", "keep_quantile", "random_setups")
            _check_number(name, field, value, least=1 if whole else 0, most=1 if share else math.inf, whole=whole)


@dataclass(frozen=True)
class Preset:
    """One named training: ``games`` played side by side, ``steps`` plies of each per iteration."""

    name: str
    variant: str
    games: int
    steps: int
    network: NetworkConfig
    setup_width: int  # channels of the recurrent set-up network
    learning: LearningConfig
    battleless_limit: int = 200  # plies without a battle: draw
    ply_cap: int = 2000  # plies of a game: draw

    def __post_init__(self) -> None:
        name = f"preset {self.name}"
        if self.variant not in VARIANTS:
            raise ArmiesError(f"{name}: variant is {self.variant!r}, expected one of {', '.join(sorted(VARIANTS))}")
        for field in ("games", "steps", "setup_width", "battleless_limit", "ply_cap"):
            _check_number(name, field, getattr(self, field), least=1, whole=True)
        self.network.check(f"{name}, network")
        self.learning.check(f"{name}, learning")

    @property
    def board(self) -> Variant:
        return VARIANTS[self.variant]

    @property
    def transitions(self) -> int:
        """Transitions (environment steps) collected in one iteration."""
        return self.games * self.steps


PRESETS: dict[str, Preset] = {
    preset.name: preset
    for preset in (
        Preset(  # seconds on any machine: for tests
            name="tiny",
            variant="octa",
            games=16,
            steps=16,
            network=NetworkConfig(width=16, heads=4, layers=1, feed_forward=2),
            setup_width=16,
            learning=LearningConfig(minibatch=32),
        ),
        Preset(  # a throughput study without a GPU
            name="cpu",
            variant="octa",
            games=64,
            steps=50,
            network=NetworkConfig(width=32, heads=8, layers=2, feed_forward=2),
            setup_width=32,
            learning=LearningConfig(),
        ),
        Preset(
            name="cpu-classic",
            variant="classic",
            games=32,
            steps=50,
            network=NetworkConfig(width=32, heads=8, layers=2, feed_forward=2),
            setup_width=32,
            learning=LearningConfig(),
        ),
        Preset(  # document 000: 101 moves of each player, 206,848 transitions per iteration, for a GPU
            name="small",
            variant="classic",
            games=1024,
            steps=202,
            network=NetworkConfig(width=128, heads=8, layers=4, feed_forward=4),
            setup_width=64,
            learning=LearningConfig(learning_rate=3e-4, minibatch=2048),
        ),
    )
}


def preset_named(name: str) -> Preset:
    """The preset ``name``; :class:`ArmiesError` when there is none."""
    if name not in PRESETS:
        raise ArmiesError(f"preset is {name!r}, expected one of {', '.join(PRESETS)}")
    return PRESETS[name]


def preset_from_dict(fields: dict[str, Any]) -> Preset:
    """The preset that :func:`dataclasses.asdict` turned into ``fields``, as checkpoints hold it."""
    parts = {"network": NetworkConfig(**fields["network"]), "learning": LearningConfig(**fields["learning"])}
    return Preset(**{**fields, **parts})
