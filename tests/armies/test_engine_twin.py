"""The engine agrees with the slow twin move by move: legal moves, boards, observations, endings."""

from __future__ import annotations

import pytest
from beside_twin import play_at_length, play_beside_twin
from compiled import COMPILED, long_play
from rules_met import RULES

from armies.variants import VARIANTS


@pytest.mark.parametrize("name", VARIANTS)
def test_agrees_with_the_slow_twin(name: str) -> None:
    """Engine and twin agree on every position of some games of random play."""
    play_beside_twin(name, 4000 if COMPILED else 1600, seed=1, limits=(40, 300))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@long_play
@pytest.mark.parametrize("name", VARIANTS)
def test_agrees_with_the_slow_twin_at_length(name: str) -> None:
    """Engine and twin agree on 200,000 positions of every variant, and these meet every rule and ending."""
    met = play_at_length(name, 200_000)
    bombless = ("bomb",) if name == "quad" else ()
    unmet = [rule for rule in RULES if not met[rule] and not any(word in rule for word in bombless)]
    assert not unmet, f"never met: {unmet}"
