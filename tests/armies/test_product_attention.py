"""Attention by products against torch's, forward and backward."""

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from armies import product_attention
from armies.product_attention import BOUND, ProductAttention, score_scale, scores_are_bounded


def leaves(heads, channels, queries, tokens, size):
    """Random query, key and value, float64, [heads, channels, …]."""
    torch.manual_seed(2)
    shapes = (queries, tokens, tokens)
    return [(size * torch.randn(heads, channels, n, dtype=torch.float64)).requires_grad_() for n in shapes]


def by_torch(query, key, value):
    """The same from torch, which wants channels last."""
    return scaled_dot_product_attention(*(x.transpose(1, 2) for x in (query, key, value))).transpose(1, 2)


@pytest.mark.parametrize("size", [1.0, 30.0])
@pytest.mark.parametrize("piece", [1, 3 * 11 * 7, 2**18])
def test_product_attention_is_attention(monkeypatch, size, piece):
    """Values and all gradients equal torch's to 1e-9 relative, in any pieces, with small and huge scores."""
    monkeypatch.setattr(product_attention, "PIECE", piece)
    tensors = leaves(8, 5, 7, 11, size)
    assert scores_are_bounded(*tensors[:2]) == (size == 1.0)
    weights = torch.randn(8, 5, 7, dtype=torch.float64)
    found = ProductAttention.apply(*tensors)
    expected = by_torch(*tensors)
    assert torch.allclose(found, expected, rtol=1e-9, atol=1e-9)
    for ours, true in zip(
        torch.autograd.grad((found * weights).sum(), tensors),
        torch.autograd.grad((expected * weights).sum(), tensors),
        strict=True,
    ):
        assert torch.allclose(ours, true, rtol=1e-9, atol=1e-9 * size**2)


def test_scores_at_the_bound_lose_nothing_in_float32():
    """With scores at the edge of what needs no maximum, float32 is as near to float64 as torch's is."""
    query, key, value = (x.detach().float() for x in leaves(16, 4, 9, 13, 1.0))
    query *= 0.99 * BOUND / (4 * score_scale(query) * query.abs().max() * key.abs().max())
    assert scores_are_bounded(query, key)
    exact = by_torch(query.double(), key.double(), value.double())
    ours, theirs = ((f(query, key, value) - exact).abs().max() for f in (ProductAttention.apply, by_torch))
    assert ours < max(2 * theirs, 1e-5)


def test_not_a_number_stays_one():
    """A NaN in a query reaches its output."""
    query, key, value = (x.detach() for x in leaves(2, 4, 3, 5, 1.0))
    query[0, 0, 1] = torch.nan
    found = ProductAttention.apply(query, key, value).isnan()
    assert found[0, :, 1].all()
    assert not found[1].any()
