"""PPO's losses against hand-computed values, and the two ways of recomputing the old policy."""

import math

import numpy as np
import pytest
import torch

from armies.paths import path_named
from armies.presets import PRESETS, LearningConfig
from armies.trainer import make_trainer
from armies.update import minibatches, ppo_losses, recompute_policy, update_moves

HALF = math.log(0.5)


def losses(new, old, choices, advantages, targets=None, value_logits=None):
    """ppo_losses of policies given as probabilities; 0 marks an illegal move."""
    new, old = torch.tensor(new), torch.tensor(old)
    K = len(new)
    return ppo_losses(
        new.log(),
        torch.zeros(K, 3) if value_logits is None else torch.tensor(value_logits),
        old.log(),
        new > 0,
        torch.tensor(choices),
        torch.tensor(advantages),
        torch.tensor([[0.0, 1.0, 0.0]] * K) if targets is None else torch.tensor(targets),
        clip=0.2,
    )


def test_policy_loss_clips_only_gains():
    """r = 1.5: a gain counts 1.2 times, a loss 1.5 times; r = 0.5: a gain 0.5 times, a loss 0.8 times."""
    new, old = [[0.75, 0.25, 0.0]], [[0.5, 0.5, 0.0]]
    assert losses(new, old, [0], [2.0]).policy == pytest.approx(-1.2 * 2)
    assert losses(new, old, [0], [-2.0]).policy == pytest.approx(1.5 * 2)
    assert losses(new, old, [1], [2.0]).policy == pytest.approx(-0.5 * 2)
    assert losses(new, old, [1], [-2.0]).policy == pytest.approx(0.8 * 2)


def test_entropy_and_kl_leave_illegal_moves_out():
    """Entropy of (½, ½) is ln 2; KL((½, ½) ‖ (¾, ¼)) is ½ ln(2/3) + ½ ln 2."""
    even, uneven = [[0.5, 0.5, 0.0]], [[0.75, 0.25, 0.0]]
    assert losses(even, even, [0], [0.0]).entropy == pytest.approx(math.log(2))
    assert losses(even, even, [0], [0.0]).kl == pytest.approx(0.0)
    expected = 0.5 * math.log(0.5 / 0.75) + 0.5 * math.log(0.5 / 0.25)
    assert losses(uneven, even, [0], [0.0]).kl == pytest.approx(expected)


def test_value_loss_is_cross_entropy_to_a_soft_target():
    """Against logits that stand for (¼, ¼, ½), the target (½, 0, ½) costs -½ ln ¼ - ½ ln ½."""
    logits = [[math.log(0.25), math.log(0.25), math.log(0.5)]]
    result = losses([[1.0]], [[1.0]], [0], [0.0], [[0.5, 0.0, 0.5]], logits)
    assert result.value == pytest.approx(-0.5 * math.log(0.25) - 0.5 * math.log(0.5))


def test_gradient_is_finite_where_moves_are_illegal():
    """Illegal moves (log-probability -inf) give no NaN gradient."""
    logits = torch.tensor([[1.0, 2.0, 3.0]], requires_grad=True)
    legal = torch.tensor([[True, True, False]])
    log_probs = logits.masked_fill(~legal, -torch.inf).log_softmax(-1)
    old = torch.tensor([[HALF, HALF, -torch.inf]])
    result = ppo_losses(
        log_probs, torch.zeros(1, 3), old, legal, torch.tensor([0]), torch.ones(1), torch.ones(1, 3) / 3, 0.2
    )
    result.total(LearningConfig()).backward()
    assert torch.isfinite(logits.grad).all()
    assert logits.grad[0, 2] == 0


@pytest.mark.parametrize("epochs", [1, 3])
def test_minibatches_hold_every_kept_transition_once_per_epoch(epochs):
    """An epoch is a permutation, cut into minibatches."""
    config = LearningConfig(epochs=epochs, minibatch=4)
    rows = list(minibatches(10, config, torch.Generator().manual_seed(0), torch.device("cpu")))
    assert [len(row) for row in rows] == [4, 4, 2] * epochs
    numbers = torch.cat(rows).reshape(epochs, 10)
    assert all(sorted(epoch.tolist()) == list(range(10)) for epoch in numbers)


def one_rollout(path_name):
    """A fresh tiny training on a path, and what it collected."""
    trainer = make_trainer(PRESETS["tiny"], path_named(path_name), 5, "cpu")
    rollout = trainer.collector.collect(trainer.collecting_network(), 16, trainer.setups)
    return trainer, rollout


def test_lean_update_equals_recomputing_everything():
    """Filtering before or after the old policy is recomputed gives the same weights."""
    weights = []
    for name in ("flash+fp32+legal", "flash+fp32+legal+lean"):
        trainer, rollout = one_rollout(name)
        update_moves(
            trainer.network,
            trainer.optimizer,
            rollout,
            PRESETS["tiny"].learning,
            trainer.path,
            trainer.shuffle,
        )
        weights.append(torch.cat([p.detach().flatten() for p in trainer.network.parameters()]))
    assert torch.allclose(weights[0], weights[1], rtol=0, atol=1e-5)


def test_recomputed_policy_is_the_one_that_played():
    """In fp32 the recomputed log-probability of a choice is the recorded one, on lists and masks."""
    for name in ("fp32", "fast"):
        trainer, rollout = one_rollout(name)
        every = torch.arange(rollout.choices.numel())
        again = recompute_policy(trainer.network, rollout, trainer.path, every)
        chosen = again.gather(1, rollout.choices.flatten()[:, None])[:, 0]
        assert torch.allclose(chosen, rollout.log_probs.flatten(), atol=1e-5)


def test_choices_are_legal_and_follow_the_policy():
    """Sampling on lists draws from the policy: frequencies of 20,000 draws within 4 standard errors."""
    from armies.policy import sample

    log_probs = torch.tensor([[0.1, 0.6, 0.3, 0.0]]).log().expand(20_000, 4)
    for name in ("legal", "reference"):
        draws = sample(log_probs, path_named(name), torch.Generator().manual_seed(2))
        share = np.bincount(draws.numpy(), minlength=4) / 20_000
        error = np.sqrt(np.array([0.1, 0.6, 0.3]) * (1 - np.array([0.1, 0.6, 0.3])) / 20_000)
        assert (np.abs(share[:3] - [0.1, 0.6, 0.3]) < 4 * error).all()
        assert share[3] == 0
