"""Collection as it was before there were paths: one straight loop, without a choice or a timer in it.

It shares the network and the engine with :mod:`armies.collect` and nothing else. A run on the path ``plain``
must write the same history as one on the path ``reference``, bit for bit but for the times; that proves that
making the loop configurable changed nothing.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from armies.engine import PLANES, SUMMARY, Games
from armies.network import MoveNetwork
from armies.rollout import Masks, Rollout
from armies.setup_record import SetupRecord


@torch.no_grad()
def plain_collect(
    games: Games, network: MoveNetwork, steps: int, setups: SetupRecord, generator: torch.Generator
) -> Rollout:
    """Play ``steps`` plies of every game with a bf16 ``network``; see
    :meth:`armies.collect.Collector.collect`.
    """
    T, B, A, cells = steps, games.count, games.variant.actions, games.variant.cells
    device = generator.device
    observations = torch.empty(T, B, PLANES, cells, dtype=torch.bfloat16, device=device)
    summaries = torch.empty(T, B, SUMMARY, dtype=torch.bfloat16, device=device)
    masks = torch.empty(T, B, A, dtype=torch.bool, device=device)
    choices = torch.empty(T, B, dtype=torch.int64, device=device)
    log_probs = torch.empty(T, B, device=device)
    values = torch.empty(T + 1, B, 3, device=device)
    acting = np.empty((T + 1, B), np.uint8)
    ended = np.empty((T, B), np.uint8)
    reward = np.empty((T, B), np.float32)
    plies = np.empty((T, B), np.int32)

    def evaluate() -> tuple[Tensor, ...]:
        planes = torch.from_numpy(games.observe()).to(device)
        summary = torch.from_numpy(games.summary()).to(device)
        mask = torch.from_numpy(games.legal_mask()).to(device).bool()
        with sdpa_kernel(SDPBackend.MATH):
            logits, value_logits = network.all_actions(network.embed_planes(planes, summary))
        policy = torch.log_softmax(logits.float().masked_fill(~mask, -torch.inf), dim=-1)
        return planes, summary, mask, policy, torch.softmax(value_logits.float(), dim=-1)

    for t in range(T):
        planes, summary, mask, policy, value = evaluate()
        action = torch.multinomial(policy.exp(), 1, generator=generator)
        observations[t] = planes
        summaries[t] = summary
        masks[t] = mask
        choices[t] = action[:, 0]
        log_probs[t] = policy.gather(1, action)[:, 0]
        values[t] = value
        acting[t] = games.acting
        outcome = games.step(action[:, 0].to(torch.int32).cpu().numpy())
        ended[t], reward[t], plies[t] = outcome
        setups.games_ended(games, outcome, acting[t])
    values[T] = evaluate()[-1]
    acting[T] = games.acting
    return Rollout(
        (observations, summaries), Masks(masks), choices, log_probs, values, acting, ended, reward, plies
    )
