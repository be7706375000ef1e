"""Traversals: what they estimate, and that batching changes nothing of it."""

from __future__ import annotations

import time
from collections import defaultdict

import numpy as np
import pytest
import torch
from scipy.stats import ks_2samp
from tiny_lost_cities import TINY

from lost_cities.crew import joined
from lost_cities.errors import LostCitiesError
from lost_cities.exploitability import SolvableGame, write_down
from lost_cities.inference import Answerer, weights_of
from lost_cities.kernels.lanes import ADVANTAGE, STRATEGY
from lost_cities.kernels.regret import regret_matching
from lost_cities.network import make_network
from lost_cities.rules import STANDARD, Rules
from lost_cities.traversal import Harvest, Sampling, Traverser

OUTCOME = Sampling("outcome", 0.2, True, 5.0, 10_000)
OUTCOME_PLAIN = Sampling("outcome", 0.2, False, 5.0, 10_000)
OUTCOME_SPARSE = Sampling("outcome", 0.5, True, 5.0, 10_000, 0.3)
EXTERNAL = Sampling("external", 0.2, False, 5.0, 10_000)
EXTERNAL_SPARSE = Sampling("external", 0.2, False, 5.0, 10_000, 0.4)


def row_by_row(rules: Rules):
    """Answers that differ from state to state, computed one row at a time so that a batch cannot change them."""
    matrices = np.random.default_rng(8).normal(size=(2, rules.inputs, rules.actions)).astype(np.float32)

    def forward(player: int, inputs: np.ndarray) -> np.ndarray:
        return np.stack([row.astype(np.float32) @ matrices[player] for row in inputs])

    return forward


def zeros(player: int, inputs: np.ndarray) -> np.ndarray:
    return np.zeros((len(inputs), TINY.actions), np.float32)


def assert_same(first: Harvest, second: Harvest) -> None:
    for one, other in zip(first.records, second.records, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("answer", "policy"), [([3, 1, 5, 0], [0.75, 0.25, 0, 0]), ([-3, -1, 9, -2], [0, 1, 0, 0])])
def test_regret_matching(answer, policy):
    """Probabilities follow positive advantages of legal actions; without any, the largest is played alone."""
    out = np.empty(4)
    regret_matching(np.array(answer, np.float32), np.array([1, 1, 0, 1], np.uint8), out)
    assert out.tolist() == policy


def test_regret_matching_of_an_untrained_network_is_uniform():
    """Where all answers are 0, every legal action is played alike."""
    out = np.empty(4)
    regret_matching(np.zeros(4, np.float32), np.array([1, 1, 0, 1], np.uint8), out)
    assert out == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])


@pytest.mark.parametrize("sampling", [OUTCOME, OUTCOME_SPARSE, EXTERNAL, EXTERNAL_SPARSE])
@pytest.mark.parametrize("width", [5, 64])
def test_batched_traversals_equal_single_ones(sampling, width):
    """With the same random numbers and answers every record and count is the same, in one range or in chunks."""
    forward = row_by_row(TINY)
    single = Traverser(TINY, sampling, 1).run(forward, 4, 2, 0, 60)
    batched = Traverser(TINY, sampling, width)
    assert_same(single, batched.run(forward, 4, 2, 0, 60))
    chunks = joined([batched.run(forward, 4, 2, start, start + 20) for start in (0, 20, 40)])
    assert_same(single, chunks)
    assert (single.counts.nodes, single.counts.forced) == (chunks.counts.nodes, chunks.counts.forced)
    assert single.counts.forward_calls == single.counts.nodes > chunks.counts.forward_calls


def test_time_of_the_network_is_told():
    """A network that takes 2 ms per call: at least that much is its own, and of several ranges the sum."""
    answer = row_by_row(TINY)

    def slow(player, inputs):
        time.sleep(0.002)
        return answer(player, inputs)

    walker = Traverser(TINY, OUTCOME, 20)
    harvests = [walker.run(slow, 4, 2, start, start + 10) for start in (0, 10)]
    for harvest in harvests:
        assert harvest.counts.network_seconds >= 0.002 * harvest.counts.forward_calls > 0
    assert joined(harvests).counts.network_seconds == pytest.approx(sum(h.counts.network_seconds for h in harvests))


def test_batched_standard_games_equal_single_ones():
    """In the standard game too: outcome sampling, 12 traversals, the records of single and batched inference."""
    forward = row_by_row(STANDARD)
    single = Traverser(STANDARD, OUTCOME, 1).run(forward, 4, 2, 0, 12)
    assert_same(single, Traverser(STANDARD, OUTCOME, 12).run(forward, 4, 2, 0, 12))
    assert single.counts.nodes > 12 * 50


@pytest.mark.parametrize("sampling", [OUTCOME, OUTCOME_SPARSE, EXTERNAL, EXTERNAL_SPARSE])
def test_chains_are_the_longest_ways_through_the_tree(sampling):
    """Decisions that wait for each other: a whole traversal in outcome sampling, one branch in external sampling.

    By hand: at a decision after k actions, those of the last decisions after fewer than k actions lie before it.
    """
    walker, answers = Traverser(TINY, sampling, 1), row_by_row(TINY)
    way: list[int] = []
    longest: dict[int, int] = defaultdict(int)

    def forward(player: int, inputs: np.ndarray) -> np.ndarray:
        taken, traversal = int(walker._lanes.rows[0, TINY.taken_at]), int(walker._lanes.traversal[0])
        while way and (traversal not in longest or way[-1] >= taken):
            way.pop()
        way.append(taken)
        longest[traversal] = max(longest[traversal], len(way))
        return answers(player, inputs)

    counts = walker.run(forward, 4, 2, 0, 60).counts
    assert (counts.chains, counts.longest_chain) == (sum(longest.values()), max(longest.values()))
    assert (counts.chains == counts.nodes) == (sampling.kind == "outcome")
    chunks = [Traverser(TINY, sampling, 16).run(answers, 4, 2, start, start + 20) for start in (0, 20, 40)]
    together = joined(chunks).counts
    assert (together.chains, together.longest_chain) == (counts.chains, counts.longest_chain)


def test_a_real_network_gives_the_same_traversals_but_for_rounding():
    """torch rounds a batch otherwise than a row: nearly all traversals are the same, with targets close."""
    answerers = [Answerer(TINY, 32, 2, torch.device("cpu")) for _ in range(2)]
    for player, answerer in enumerate(answerers):
        network = make_network(TINY, 32, 2, player, torch.device("cpu"))
        torch.manual_seed(player)
        torch.nn.init.normal_(network.body[-1].weight)
        answerer.load(weights_of(network))

    def forward(player: int, inputs: np.ndarray) -> np.ndarray:
        return answerers[player].answer(inputs)

    single, batched = (Traverser(TINY, OUTCOME, width).run(forward, 1, 1, 0, 200) for width in (1, 64))
    same = 0
    for number in range(200):
        one, other = (
            [array[harvest.records.traversal == number] for array in harvest.records[:2]]
            for harvest in (single, batched)
        )
        if np.array_equal(one[0], other[0]):
            np.testing.assert_allclose(one[1], other[1], rtol=1e-3, atol=1e-3)
            same += 1
    assert same >= 198


def test_batched_and_single_agree_in_distribution():
    """With other random numbers the lengths of traversals and the sampled advantages have the same distribution."""
    forward = row_by_row(TINY)
    single = Traverser(TINY, OUTCOME, 1).run(forward, 11, 1, 0, 1500)
    batched = Traverser(TINY, OUTCOME, 100).run(forward, 12, 1, 0, 1500)
    assert not np.array_equal(single.records.inputs[:500], batched.records.inputs[:500])
    for sample_of in (lambda records: np.bincount(records.traversal), lambda records: records.targets.max(1)):
        assert ks_2samp(sample_of(single.records), sample_of(batched.records), method="asymp").pvalue > 0.01


def exact_advantages(game: SolvableGame, player: int, level: int) -> dict[bytes, np.ndarray]:
    """Advantages in points under uniform play of all information sets of a level, by their inputs."""
    tree, policy = game.tree, game.uniform()
    nodes = len(tree.player)
    values, reach = tree.value.copy(), tree.chance.copy()
    for node in range(nodes):
        for child in tree.child[node][tree.child[node] >= 0]:
            share = 1 / np.count_nonzero(tree.child[node] >= 0)
            reach[child] = reach[node] * (1.0 if tree.player[node] == player else share)
    for node in reversed(range(nodes)):
        children = tree.child[node][tree.child[node] >= 0]
        if len(children):
            values[node] = values[children].mean()
    gains, weights = defaultdict(lambda: np.zeros(tree.child.shape[1])), defaultdict(float)
    for node in np.flatnonzero((tree.level == level) & (tree.player == player)):
        infoset = game.infosets[node]
        for action in np.flatnonzero(tree.child[node] >= 0):
            gains[infoset][action] += reach[node] * (values[tree.child[node, action]] - values[node])
        weights[infoset] += reach[node]
    sign = 1 if player == 0 else -1
    assert len({game.inputs[i].tobytes() for i in gains}) == len(gains)
    assert policy.shape[1] == tree.child.shape[1]
    return {game.inputs[i].tobytes(): sign * gains[i] / weights[i] for i in gains}


@pytest.mark.parametrize("sampling", [OUTCOME, OUTCOME_PLAIN, OUTCOME_SPARSE, EXTERNAL, EXTERNAL_SPARSE])
@pytest.mark.parametrize(("player", "level"), [(0, 0), (1, 2)])
def test_sampled_advantages_are_unbiased(sampling, player, level):
    """Under uniform play the mean of sampled advantages is the exact advantage of the written-down game."""
    exact = exact_advantages(write_down(TINY), player, level)
    records = Traverser(TINY, sampling, 256).run(zeros, 21, 1, 0, 60_000).records
    samples = defaultdict(list)
    chosen = (records.kind == ADVANTAGE) & (records.player == player)
    for inputs, target in zip(records.inputs[chosen], records.targets[chosen], strict=True):
        if inputs.tobytes() in exact:
            samples[inputs.tobytes()].append(target * sampling.points_per_unit)
    scores = []
    for key, targets in samples.items():
        if len(targets) >= 50:
            error = np.std(targets, axis=0, ddof=1) / np.sqrt(len(targets))
            seen = error > 1e-9
            scores += ((np.mean(targets, axis=0) - exact[key])[seen] / error[seen]).tolist()
    assert len(scores) > 15
    assert np.sqrt(np.mean(np.square(scores))) < 1.3
    assert max(np.abs(scores)) < 5


def test_records_of_the_other_player_hold_its_strategy():
    """Strategy records hold probabilities over legal actions, and belong to the player that does not traverse."""
    records = Traverser(TINY, EXTERNAL, 8).run(row_by_row(TINY), 3, 1, 0, 40).records
    strategy = records.kind == STRATEGY
    assert strategy.any()
    assert (records.player[strategy] != records.traversal[strategy] % 2).all()
    assert (records.player[~strategy] == records.traversal[~strategy] % 2).all()
    assert records.targets[strategy].sum(1) == pytest.approx(np.ones(strategy.sum()), abs=1e-6)
    assert (records.targets[records.legal == 0] == 0).all()


def test_a_traversal_without_end_is_refused():
    """External sampling of the standard game would never end: the bound on decisions stops it with a sentence."""
    sampling = Sampling("external", 0.05, False, 50.0, 300)
    with pytest.raises(LostCitiesError, match="more than 300 decisions, expected outcome sampling or a smaller game"):
        Traverser(STANDARD, sampling, 4).run(row_by_row(STANDARD), 1, 1, 0, 4)
