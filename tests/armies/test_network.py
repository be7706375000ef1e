"""The move network: every way of computing it is the same function."""

import math

import numpy as np
import pytest
import torch

from armies.engine import Games
from armies.network import LegalMoves, MoveNetwork, needed_rows
from armies.parity import evaluate, freeze
from armies.paths import STEPS, path_named
from armies.presets import NetworkConfig
from armies.variants import VARIANTS, action_cells

CONFIG = NetworkConfig(width=16, heads=4, layers=2, feed_forward=2)


def batch_and_network(variant, plies=25, count=7):
    """Positions of random play and a float64 network with random weights."""
    games = Games(variant, count, seed=4)
    for _ in range(plies):
        games.step(games.random_actions())
    torch.manual_seed(0)
    return freeze(games, torch.device("cpu")), MoveNetwork(CONFIG, variant).double()


@pytest.mark.parametrize("name", ["classic", "octa", "quad"])
@pytest.mark.parametrize("path", ["flash", "legal", "table", "legal+rows", "products", "fast"])
def test_paths_are_one_function(name, path):
    """In float64 every step of the fast path gives the reference's logits and values to 1e-10."""
    batch, network = batch_and_network(VARIANTS[name])
    for ours, reference in zip(
        evaluate(network, path_named(path), batch),
        evaluate(network, path_named("reference"), batch),
        strict=True,
    ):
        assert ours.shape == reference.shape
        assert torch.allclose(ours, reference, rtol=0, atol=1e-10)


@torch.no_grad()
def test_policy_head_is_query_times_key_of_the_moves_cells():
    """A move's logit is query(source)·key(target) / √C, looked up naively cell by cell."""
    variant = VARIANTS["octa"]
    batch, network = batch_and_network(variant, count=2)
    logits, _ = network.all_actions(network.embed_planes(batch.planes, batch.summary))
    tokens = network.embed_planes(batch.planes, batch.summary)
    for block in network.blocks:
        tokens = block(tokens)
    tokens = network.final_norm(tokens)
    query, key = network.query(tokens), network.key(tokens)
    playable = variant.playable.tolist()
    for action, (source, target) in enumerate(action_cells(variant).tolist()):
        if source in playable and target in playable:
            i, j = 1 + playable.index(source), 1 + playable.index(target)
            expected = (query[:, i] * key[:, j]).sum(-1) / math.sqrt(CONFIG.width)
            assert torch.allclose(logits[:, action], expected, atol=1e-12)


@torch.no_grad()
def test_attention_is_softmax_of_scaled_products():
    """A block's attention equals the formula of Vaswani et al. (2017), head by head."""
    torch.manual_seed(1)
    block = MoveNetwork(CONFIG, VARIANTS["quad"]).double().blocks[0]
    x = torch.randn(2, 5, 16, dtype=torch.float64)
    query, key, value = block.query_key_value(block.attention_norm(x)).split(16, dim=-1)
    heads = []
    for h in range(4):
        part = slice(4 * h, 4 * h + 4)
        weights = (query[..., part] @ key[..., part].transpose(1, 2) / 2).softmax(-1)
        heads.append(weights @ value[..., part])
    y = x + block.output(torch.cat(heads, -1))
    y = y + block.contract(torch.relu(block.expand(block.feed_norm(y))))
    assert torch.allclose(block(x), y, atol=1e-12)


def test_needed_rows_are_value_token_sources_and_targets():
    """Rows are sorted, start with the value token, hold nothing else, and positions point into them."""
    moves = LegalMoves(
        sources=torch.tensor([[3, 3, 9], [5, 1, 1]]),
        targets=torch.tensor([[4, 9, 2], [6, 1, 1]]),
        valid=torch.tensor([[True, True, True], [True, False, False]]),
    )
    rows, position = needed_rows(moves, 12)
    assert rows.tolist() == [[0, 2, 3, 4, 9], [0, 5, 6, 0, 0]]
    assert rows.gather(1, position.gather(1, moves.sources))[0].tolist() == [3, 3, 9]
    assert rows.gather(1, position.gather(1, moves.targets))[1, 0] == 6


@pytest.mark.parametrize(("name", "tokens"), [("octa", 64), ("classic", 96), ("quad", 32)])
def test_tokens_fill_whole_vectors(name, tokens):
    """1 + 60 cells become 64 tokens, 1 + 92 become 96, 1 + 16 become 32."""
    batch, network = batch_and_network(VARIANTS[name], count=1)
    assert network.embed_planes(batch.planes, batch.summary).shape == (1, tokens, 16)


def test_hidden_input_reaches_no_output():
    """Swapping two hidden enemy pieces changes neither policy nor value."""
    variant = VARIANTS["octa"]
    network = batch_and_network(variant)[1]
    results = []
    for swap in (False, True):
        games = Games(variant, 1, seed=8)
        if swap:
            setups = games.setups.copy()
            filled = np.flatnonzero(setups[0, 1])
            a, b = next((i, j) for i in filled for j in filled if setups[0, 1, i] != setups[0, 1, j])
            setups[0, 1, [a, b]] = setups[0, 1, [b, a]]
            games.reset(setups=setups)
        results.append(evaluate(network, path_named("reference"), freeze(games, torch.device("cpu"))))
    assert torch.equal(results[0][0], results[1][0])
    assert torch.equal(results[0][1], results[1][1])


def test_every_step_of_the_fast_path_is_tested_above():
    """A step added to STEPS must be added to the comparison, unless it does not change the forward pass."""
    assert set(STEPS) == {"flash", "legal", "table", "rows", "products"} | {"fp32", "lean"}
