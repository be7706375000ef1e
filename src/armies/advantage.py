"""What each transition was worth: advantages, value targets and the filter.

T plies of B games are recorded in the order in which they were played; the two players' plies interleave. A
player's transition links to the *same player's* next turn. A game that ends, ends both players' chains, also
when the opponent made the last move. There is no discount and no reward but the outcome.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

LOSS, TIE, WIN = 0, 1, 2  # categories of the value, from the mover's side
Floats = NDArray[np.float32]


def scalar_value(categories: Floats) -> Floats:
    """Probabilities [..., (loss, tie, win)] -> expected outcome in [-1, 1]."""
    return categories[..., WIN] - categories[..., LOSS]


def advantages_and_targets(
    values: Floats,
    acting: NDArray[np.uint8],
    ended: NDArray[np.bool_],
    reward: Floats,
    gae_lambda: float,
    td_lambda: float,
) -> tuple[Floats, Floats]:
    """GAE(λ) advantages [T, B] and TD(λ) targets of the categorical value [T, B, 3].

    ``values`` [T + 1, B, 3]: probabilities of (loss, tie, win) for the mover; row T belongs to the position
    after the last ply. ``acting`` [T + 1, B]: which player (0 or 1) moves. ``ended`` [T, B]: the ply ended
    its game, with ``reward`` [T, B] for the mover (1 win, 0 tie, -1 loss).

    For a transition with value V, whose player's next turn has value V' (or whose game ended with outcome
    V'): advantage = (V' - V) + λ · advantage', target = (1 - λ) V' + λ target'; at an end advantage' = 0,
    target' = V' (Schulman et al., arXiv 1506.02438, with γ = 1). The player who does not move at row T takes
    the mover's value there, seen from the other side.
    """
    T, B, _ = values.shape[0] - 1, *values.shape[1:]
    games = np.arange(B)
    advantages = np.empty((T, B), np.float32)
    targets = np.empty((T, B, 3), np.float32)

    # What a chain finds ahead of it, for either player: [2, B, …]
    ahead_value = np.empty((2, B, 3), np.float32)
    ahead_value[acting[T], games] = values[T]
    ahead_value[1 - acting[T], games] = values[T][:, ::-1]
    ahead_target = ahead_value.copy()
    ahead_advantage = np.zeros((2, B), np.float32)

    for t in reversed(range(T)):
        mover = acting[t]
        over = np.flatnonzero(ended[t])
        outcome = np.eye(3, dtype=np.float32)[reward[t, over].astype(np.int64) + 1]
        ahead_value[mover[over], over] = ahead_target[mover[over], over] = outcome
        ahead_value[1 - mover[over], over] = ahead_target[1 - mover[over], over] = outcome[:, ::-1]
        ahead_advantage[:, over] = 0.0

        next_value = ahead_value[mover, games]
        delta = scalar_value(next_value) - scalar_value(values[t])
        advantages[t] = delta + gae_lambda * ahead_advantage[mover, games]
        targets[t] = (1 - td_lambda) * next_value + td_lambda * ahead_target[mover, games]

        ahead_value[mover, games] = values[t]
        ahead_target[mover, games] = targets[t]
        ahead_advantage[mover, games] = advantages[t]
    return advantages, targets


def keep(advantages: Floats, quantile: float, floor: float) -> tuple[NDArray[np.int64], float]:
    """Flat numbers of the transitions with |advantage| ≥ threshold = max(quantile, floor), and threshold."""
    size = np.abs(advantages).ravel()
    threshold = max(float(np.quantile(size, quantile)), floor)
    return np.flatnonzero(size >= threshold), threshold
