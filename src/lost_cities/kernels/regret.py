"""From predicted advantages to a strategy: regret matching with the argmax fall-back of Deep CFR."""

from __future__ import annotations

import numpy as np
from numba import njit

from lost_cities.kernels.random import uniform


@njit(cache=True)
def regret_matching(advantages, legal, policy):
    """Write the strategy of one state to ``policy`` (float64, actions).

    Probabilities are proportional to the positive advantages of legal actions. If none is positive, the legal
    actions of the largest advantage share the probability: one action as a rule (Brown et al. 2019, section 5.1),
    all of them while an untrained network answers 0 everywhere.

    Returns whether the advantages of all legal actions are finite. If not, ``policy`` is uniform, so that the game can
    go on to the place where somebody tells of it.
    """
    total = 0.0
    if not all_finite(advantages, legal, policy):
        return False
    for action in range(policy.shape[0]):
        positive = max(0.0, float(advantages[action])) if legal[action] else 0.0
        policy[action] = positive
        total += positive
    if total > 0.0:
        for action in range(policy.shape[0]):
            policy[action] /= total
        return True
    best, ties = -1, 0
    for action in range(policy.shape[0]):
        if legal[action]:
            if best < 0 or advantages[action] > advantages[best]:
                best, ties = action, 1
            elif advantages[action] == advantages[best]:
                ties += 1
    for action in range(policy.shape[0]):
        if legal[action] and advantages[action] == advantages[best]:
            policy[action] = 1.0 / ties
    return True


@njit(cache=True)
def all_finite(answers, legal, policy):
    """Whether a network's answers for all legal actions are finite; if not, ``policy`` becomes uniform over them."""
    number, finite = 0, True
    for action in range(policy.shape[0]):
        if legal[action]:
            number += 1
            finite = finite and np.isfinite(answers[action])
    if not finite:
        for action in range(policy.shape[0]):
            policy[action] = 1.0 / number if legal[action] else 0.0
    return finite


@njit(cache=True)
def sample(policy, streams, index):
    """An action drawn from ``policy`` (sums to 1) with stream ``index``."""
    left = uniform(streams, index)
    chosen = -1
    for action in range(policy.shape[0]):
        if policy[action] > 0.0:
            chosen = action
            left -= policy[action]
            if left < 0.0:
                break
    return chosen
