"""What holds at every position: pieces only fall, nothing hidden shows, both sides' views agree."""

from __future__ import annotations

import numpy as np
from compiled import COMPILED
from hypothesis import given, settings
from hypothesis import strategies as st

from armies.engine import HISTORY_PLANES, PIECE_PLANES, Games
from armies.kernels.step import find_legal_moves
from armies.variants import BARRAGE, HEXA, OCTA, QUAD, Variant, action_cells

KIND, SIDE, REVEALED = 0x0F, 0x10, 0x20

variants = st.sampled_from([QUAD, HEXA, OCTA, BARRAGE] if COMPILED else [QUAD, HEXA])
seeds = st.integers(0, 2**32 - 1)
lengths = st.integers(0, 150 if COMPILED else 15)
examples = settings(max_examples=60 if COMPILED else 6, deadline=None)


def game_at(variant: Variant, seed: int, plies: int) -> Games:
    """One game after some plies of random play (or of the game that followed it)."""
    games = Games(variant, 1, seed)
    for _ in range(plies):
        games.step(games.random_actions())
    return games


def everything_seen(games: Games) -> list[np.ndarray]:
    """All that the side to move is told."""
    return [games.observe(), games.tokens(), games.summary(), games.legal_mask(), *games.legal_list()]


@given(variants, seeds, lengths)
@examples
def test_hidden_kinds_do_not_leak(variant: Variant, seed: int, plies: int) -> None:
    """Any exchange of kinds among the enemy's hidden pieces leaves all that a side is told as it was."""
    games = game_at(variant, seed, plies)
    before = everything_seen(games)
    board = games.state.boards[0]
    enemy = SIDE * (1 - int(games.acting[0]))
    hidden = np.flatnonzero((board & KIND > 0) & (board & (SIDE | REVEALED) == enemy))
    kinds = board[hidden] & KIND
    board[hidden] = board[hidden] & ~np.uint8(KIND) | np.random.default_rng(seed).permutation(kinds)
    find_legal_moves(games.rules, games.state, 0)
    after = everything_seen(games)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@given(variants, seeds, lengths)
@examples
def test_views_agree(variant: Variant, seed: int, plies: int) -> None:
    """The turned board with the sides exchanged looks the same to the side to move."""
    games = game_at(variant, seed, plies)
    before = everything_seen(games)
    state = games.state
    board = state.boards[0, ::-1].copy()
    board[board & KIND > 0] ^= SIDE
    state.boards[0] = board
    state.acting[0] = 1 - state.acting[0]
    state.chains[0] = state.chains[0, ::-1].copy()
    played = state.history[0] >= 0
    state.history[0, played] = variant.cells - 1 - state.history[0, played]
    find_legal_moves(games.rules, state, 0)
    after = everything_seen(games)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))


@given(variants, seeds, lengths)
@examples
def test_pieces_only_fall(variant: Variant, seed: int, plies: int) -> None:
    """A ply without a restart moves one piece; no kind of a side grows, and at most one piece each falls."""
    games = game_at(variant, seed, plies)
    before = games.state.boards[0].copy()
    if games.step(games.random_actions()).ended[0]:
        return
    after = games.state.boards[0]
    fallen = []
    for side in (0, SIDE):
        counts = [np.bincount(b[(b & KIND > 0) & (b & SIDE == side)] & KIND, minlength=13) for b in (before, after)]
        fallen.append(counts[0] - counts[1])
    assert np.min(fallen) >= 0
    assert np.max(np.sum(fallen, axis=1)) <= 1
    assert np.count_nonzero(before != after) <= 2
    assert np.array_equal(before == 0x80, after == 0x80)


@given(variants, seeds, lengths)
@examples
def test_planes_are_a_function_of_the_codes(variant: Variant, seed: int, plies: int) -> None:
    """Looking up both codes of a cell gives exactly the cell's planes."""
    games = game_at(variant, seed, plies)
    codes = games.tokens()
    planes = np.concatenate([PIECE_PLANES[codes[..., 0]], HISTORY_PLANES[codes[..., 1]]], axis=-1)
    assert np.array_equal(planes.transpose(0, 2, 1), games.observe())


@given(variants, seeds, lengths)
@examples
def test_legal_actions_start_on_own_movable_pieces(variant: Variant, seed: int, plies: int) -> None:
    """Every legal action leads from an own piece other than bomb or flag to a square without an own piece."""
    games = game_at(variant, seed, plies)
    planes = games.observe()[0]
    own = planes[:12].any(0)
    source, target = action_cells(variant)[np.flatnonzero(games.legal_mask()[0])].T
    assert (planes[:10].any(0))[source].all()
    assert not own[target].any()


@given(variants, seeds)
@examples
def test_planes_at_the_start(variant: Variant, seed: int) -> None:
    """At the start the own army is on the own rows, and the enemy's is hidden, counted by kind."""
    games = Games(variant, 1, seed)
    planes, summary = games.observe()[0], games.summary()[0]
    army = np.bincount(variant.army, minlength=13)[1:]
    assert planes[:12].sum(1).tolist() == army.tolist() == summary[:12].tolist()
    assert not planes[:12, variant.setup_cells :].any()
    assert planes[24].sum() == variant.pieces_per_side
    assert not planes[12:24].any()
    assert not planes[25:].any()
