"""A candidate for drawing moves from the policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from armies.candidates.candidate import SAMPLING, Candidate, Function, Output, Setting
from armies.candidates.forward import eager
from armies.policy import log_probabilities, sample

FREQUENCIES = "frequencies of the moves"
DRAWS = 8  # moves drawn from each position to compare frequencies


@dataclass(frozen=True)
class Policy:
    """Logits [B, A] and legal moves bool [B, A] of a batch: what moves are drawn from."""

    logits: Tensor
    mask: Tensor


def with_gumbel(name: str, setting: Setting) -> Candidate:
    """``gumbel``: moves by the Gumbel argmax instead of ``multinomial``, from the same logits."""
    path, generator = setting.path, setting.generator
    network = eager(setting.network, path, path.attention)

    def way(draw: Callable[[Tensor], Tensor]) -> Function:
        """Log-probabilities of given logits, and one move from each row."""

        def function(policies: list[Policy]) -> list[Output]:
            all_log_probs = [log_probabilities(policy.logits, policy.mask) for policy in policies]
            return [(log_probs, draw(log_probs)) for log_probs in all_log_probs]

        return function

    def frequencies(policies: list[Policy], function: Function) -> dict[str, Tensor]:
        """How often each legal move is drawn, from the same random numbers at every call."""
        generator.manual_seed(0)
        counts = [torch.zeros(policy.mask.shape, dtype=torch.float64, device=policy.mask.device) for policy in policies]
        for _ in range(DRAWS):
            for count, (_, choices) in zip(counts, function(policies), strict=True):
                count.scatter_add_(1, choices[:, None], torch.ones_like(count[:, :1]))
        drawn = [count[policy.mask] for count, policy in zip(counts, policies, strict=True)]
        return {FREQUENCIES: torch.cat(drawn) / DRAWS}

    def probabilities(policies: list[Policy]) -> dict[str, Tensor]:
        exact = [policy.logits.double().masked_fill(~policy.mask, -math.inf).softmax(1) for policy in policies]
        return {FREQUENCIES: torch.cat([one[policy.mask] for one, policy in zip(exact, policies, strict=True)])}

    return Candidate(
        name=name,
        part=SAMPLING,
        base=way(lambda log_probs: sample(log_probs, path, generator)),
        changed=way(lambda log_probs: gumbel_argmax(log_probs, generator)),
        bad_rows=not_drawn,
        comparable=frequencies,
        exact=probabilities,
        dtype="float32",
        prepare=lambda batch: Policy(network([batch])[0][0], batch.mask),
    )


def not_drawn(policy: Policy, output: Output) -> Tensor:
    """Games for which no legal move was drawn, as happens where a number is not finite: bool [B]."""
    return ~policy.mask.gather(1, output[1][:, None]).squeeze(1)


def gumbel_argmax(log_probs: Tensor, generator: torch.Generator) -> Tensor:
    """One column per row: with exponential E, argmax(log p - log E) is a draw from p."""
    noise = torch.empty_like(log_probs).exponential_(generator=generator)
    return (log_probs - noise.log()).argmax(-1)
