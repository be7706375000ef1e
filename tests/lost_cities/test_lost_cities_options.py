"""Options of training and evaluation: each changes what its description says, and by how much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from tiny_lost_cities import TINY, tiny_config

from lost_cities import crew, evaluator
from lost_cities.config import Config
from lost_cities.crew import Crew
from lost_cities.devices import apply_run_settings
from lost_cities.evaluator import Player
from lost_cities.exploitability import write_down
from lost_cities.inference import weights_of
from lost_cities.memory import Memory
from lost_cities.network import make_network
from lost_cities.optimize import Fit, advantage_loss, fit
from lost_cities.trainer import Trainer

CPU = torch.device("cpu")


def trained(config: Config, iterations: int) -> Trainer:
    """A trainer after some iterations without evaluation."""
    trainer, walkers = Trainer(config, 5), Crew(config)
    for _ in range(iterations):
        trainer.iteration += 1
        weights = [weights_of(learner.network) for learner in trainer.advantage]
        trainer.add_to_memories(walkers.traverse(weights, 5, trainer.iteration))
        trainer.fit_advantages()
        trainer.fit_strategy()
    return trainer


def test_amp_in_evaluation_rounds_the_strategy_to_bfloat16():
    """evaluation.use_amp: answers with 8 bits of mantissa instead of 24, from the same weights."""
    game = write_down(TINY)
    network = make_network(TINY, 16, 2, 0, CPU)
    torch.nn.init.normal_(network.body[-1].weight, generator=torch.Generator().manual_seed(0))
    policies = []
    for flag in ("true", "false"):
        player = Player(tiny_config(f"evaluation.use_amp={flag}"))
        player(weights_of(network))
        policies.append(player.policy(game))
    largest = np.abs(policies[0] - policies[1]).max()
    assert 2**-14 < largest < 2**-4  # far above the rounding of float32, far below another strategy
    assert policies[0].sum(1) == pytest.approx(1)


def filled_memory() -> Memory:
    """Records of random states with targets that a fresh network is far from."""
    rng, memory = np.random.default_rng(0), Memory(TINY, 64)
    inputs = rng.integers(0, 2, (64, TINY.inputs), dtype=np.int8)
    targets = rng.normal(10, 1, (64, TINY.actions)).astype(np.float32)
    memory.add(inputs, targets, np.ones((64, TINY.actions), np.uint8), 1.0, (0, 0, 0, 0))
    return memory


def step_length(clip: float) -> float:
    """How far one update by plain gradient descent of rate 1 moves the network: the norm of the clipped gradient."""
    network = make_network(TINY, 16, 2, 0, CPU)
    before = torch.nn.utils.parameters_to_vector(network.parameters()).detach().clone()
    descent = torch.optim.SGD(network.parameters(), lr=1.0)
    fit(network, descent, filled_memory(), advantage_loss, Fit(1, 32, clip, False), (1,), CPU, lambda: None)
    return float((torch.nn.utils.parameters_to_vector(network.parameters()).detach() - before).norm())


def test_gradients_are_clipped_to_the_given_norm():
    """optimization.gradient_clip: longer gradients are shortened to it, shorter ones stay; training has it."""
    whole = step_length(1e9)
    assert whole > 1
    for clip in (0.25, 0.5):
        assert step_length(clip) == pytest.approx(clip, rel=1e-3)
    assert step_length(2 * whole) == pytest.approx(whole)
    weights = [
        weights_of(trained(tiny_config(f"optimization.gradient_clip={clip}"), 1).advantage[0].network)
        for clip in (1e-9, 1.0)  # Adam's steps are as long for any scale, but for its epsilon of 1e-8
    ]
    assert not all(np.array_equal(weights[0][name], weights[1][name]) for name in weights[0])


@pytest.mark.parametrize(("from_scratch", "alike"), [("true", False), ("false", True)])
def test_advantage_networks_start_anew_or_go_on(from_scratch, alike):
    """optimization.advantage_from_scratch: with updates too small to see, iteration 2 has other weights or the same."""
    config = tiny_config(
        f"optimization.advantage_from_scratch={from_scratch}", "optimization.advantage_learning_rate=1e-12"
    )
    first, second = (trained(config, iterations) for iterations in (1, 2))
    for player in range(2):
        one, two = (weights_of(trainer.advantage[player].network)["body.0.weight"] for trainer in (first, second))
        assert np.allclose(one, two, atol=1e-8) is alike
        optimizer = second.advantage[player].optimizer
        steps = {int(state["step"]) for state in optimizer.state.values()}
        assert steps == {config.optimization.advantage_updates * (2 if alike else 1)}
    strategies = [weights_of(trainer.strategy.network)["body.0.weight"] for trainer in (first, second)]
    assert np.allclose(*strategies, atol=0.01)  # that of the average goes on in either case


@pytest.mark.parametrize(("linear", "expected"), [("true", {1.0, 2.0, 3.0}), ("false", {1.0})])
def test_records_weigh_their_iteration_or_all_alike(linear, expected):
    """optimization.linear_weighting: the weights of the records in all memories after three iterations."""
    trainer = trained(tiny_config(f"optimization.linear_weighting={linear}"), 3)
    for learner in (*trainer.advantage, trainer.strategy):
        assert set(learner.memory.arrays[3][: len(learner.memory)].tolist()) == expected


@pytest.fixture
def _threads_as_before() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_threads_as_before")
@pytest.mark.parametrize("start", [lambda c: apply_run_settings(c.run), crew._make_walker, evaluator._make_player])
def test_threads_are_those_of_every_process(start):
    """run.threads: torch's in the trainer and in the workers of traversal and evaluation; 0 leaves torch's choice."""
    for threads in (3, 1, 2):
        start(tiny_config(f"run.threads={threads}"))
        assert torch.get_num_threads() == threads
    start(tiny_config("run.threads=0"))
    assert torch.get_num_threads() == 2
