"""The set-up network and the record of its set-ups."""

import math
from collections import Counter

import numpy as np
import pytest
import torch

from armies.engine import Games
from armies.presets import LearningConfig
from armies.setup_network import PlayedSetups, SetupNetwork, setup_loss, update_setups
from armies.setup_record import SetupRecord
from armies.variants import VARIANTS


def network_of(name, seed=0, spread=0.0):
    """A set-up network; ``spread`` > 0 makes its preferences strong."""
    torch.manual_seed(seed)
    network = SetupNetwork(12, VARIANTS[name])
    if spread:
        torch.nn.init.normal_(network.logits.weight, std=spread)
    return network


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_written_setups_have_the_right_army(name):
    """Whatever its weights, every set-up is a placement of the variant's army."""
    setups, _ = network_of(name, spread=3.0).write(50, torch.Generator().manual_seed(1))
    army = VARIANTS[name].army
    assert setups.shape == (50, VARIANTS[name].setup_cells)
    assert (np.sort(setups.numpy(), axis=1) == army).all()


def test_fresh_network_draws_uniformly():
    """Before training each of quad's 4! = 24 placements has log-probability -ln 24, and all occur."""
    setups, log_probs = network_of("quad").write(2000, torch.Generator().manual_seed(2))
    assert torch.allclose(log_probs, torch.full((2000,), -math.log(24)), atol=1e-5)
    counts = Counter(map(tuple, setups.tolist()))
    assert len(counts) == 24
    assert max(abs(n - 2000 / 24) for n in counts.values()) < 5 * math.sqrt(2000 / 24)


def test_evaluating_gives_the_log_probability_of_writing():
    """evaluate() of written set-ups repeats write()'s log-probabilities; entropy lies between 0 and ln n!."""
    network = network_of("octa", spread=1.0)
    setups, log_probs = network.write(20, torch.Generator().manual_seed(3))
    again, entropy = network.evaluate(setups)
    assert torch.allclose(again, log_probs, atol=1e-4)
    assert ((entropy > 0) & (entropy < math.lgamma(25))).all()


def test_probabilities_of_all_setups_sum_to_one():
    """Over all placements of quad's army the network's probabilities sum to 1."""
    from itertools import permutations

    army = VARIANTS["quad"].army.tolist()
    setups = torch.tensor(sorted(set(permutations(army))), dtype=torch.uint8)
    log_probs, _ = network_of("quad", spread=2.0).evaluate(setups)
    assert log_probs.detach().exp().sum().item() == pytest.approx(1.0, abs=1e-5)


def test_setup_loss_compares_with_the_mean_of_the_same_side():
    """Side 0 won both games: no advantage; side 1 lost one, drew one: ∓0.5. Ratios are 1."""
    played = PlayedSetups(
        setups=torch.zeros(4, 3, dtype=torch.uint8),
        log_probs=torch.zeros(4),
        outcomes=torch.tensor([1.0, -1.0, 1.0, 0.0]),
        sides=torch.tensor([0, 1, 0, 1]),
    )
    log_probs = torch.zeros(4, requires_grad=True)
    setup_loss(log_probs, torch.zeros(4), played, 0.2, 0.0).backward()
    assert log_probs.grad.tolist() == pytest.approx([0.0, 0.5 / 4, 0.0, -0.5 / 4])


def test_network_learns_a_rewarded_setup():
    """If set-ups with the flag in the corner win, the network puts the flag there."""
    network = network_of("quad")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.02)
    generator = torch.Generator().manual_seed(4)
    config = LearningConfig(setup_entropy_weight=0.0)
    for _ in range(60):
        setups, log_probs = network.write(64, generator)
        outcomes = (setups[:, 0] == 12).float() * 2 - 1
        played = PlayedSetups(setups, log_probs, outcomes, torch.arange(64) % 2)
        update_setups(network, optimizer, played, config)
    setups, _ = network.write(200, generator)
    assert float((setups[:, 0] == 12).float().mean()) > 0.8  # 0.25 before


def test_record_follows_setups_through_the_engine():
    """Each played set-up is one the network wrote, with its log-probability and its owner's outcome."""
    games = Games(VARIANTS["quad"], 30, seed=6)
    network = network_of("quad", spread=1.0)
    record = SetupRecord(games)
    record.write_next(games, network, torch.Generator().manual_seed(7))
    begun, results = games.setups.copy(), []
    for _ in range(400):
        mover = games.acting.astype(np.uint8)
        outcome = games.step(games.random_actions())
        record.games_ended(games, outcome, mover)
        for b in np.flatnonzero(outcome.ended):
            reward = float(outcome.reward[b])
            results += [(tuple(begun[b, side]), reward if mover[b] == side else -reward) for side in range(2)]
            begun[b] = games.setups[b]
    played = record.take_played(torch.device("cpu"))
    expected, _ = network.evaluate(played.setups)
    assert torch.allclose(played.log_probs, expected.detach(), atol=1e-4)
    followed = Counter(
        (tuple(setup), outcome)
        for setup, outcome in zip(played.setups.tolist(), played.outcomes.tolist(), strict=True)
    )
    assert not followed - Counter((tuple(map(int, s)), o) for s, o in results)
    assert len(played.setups) > 60
    assert len(record.take_played(torch.device("cpu")).setups) == 0
