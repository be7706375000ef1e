"""Advantages, value targets and the filter, against values worked out by hand."""

import numpy as np
import pytest

from armies.advantage import advantages_and_targets, keep, scalar_value

WIN, TIE, LOSS = [0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]


def categories(value):
    """Probabilities of (loss, tie, win) with the given expected outcome and no tie."""
    return [(1 - value) / 2, 0.0, (1 + value) / 2]


def worth(values, acting, ended, reward, gae_lambda=0.5, td_lambda=0.8):
    """advantages_and_targets of one game: values and acting have one entry more than ended and reward."""
    advantages, targets = advantages_and_targets(
        np.array([[categories(v)] for v in values], np.float32),
        np.array(acting, np.uint8)[:, None],
        np.array(ended, bool)[:, None],
        np.array(reward, np.float32)[:, None],
        gae_lambda,
        td_lambda,
    )
    return advantages[:, 0], targets[:, 0]


def test_chain_of_one_player_skips_the_opponents_turns():
    """A player's delta is taken to its own next turn, two plies later, and λ multiplies its own chain."""
    advantages, _ = worth([0.1, -0.2, 0.3, -0.4, 0.5], [0, 1, 0, 1, 0], [0] * 4, [0] * 4)
    last_0, last_1 = 0.5 - 0.3, -0.5 - -0.4  # player 1 takes player 0's value at the end, turned round
    assert advantages == pytest.approx(
        [(0.3 - 0.1) + 0.5 * last_0, (-0.4 - -0.2) + 0.5 * last_1, last_0, last_1], abs=1e-6
    )


def test_a_win_ends_the_chains_of_both_players():
    """The winner's last transition looks at +1, the opponent's at -1; nothing behind the end counts."""
    advantages, targets = worth([0.1, 0.2, 0.3, 0.9, 0.8], [0, 1, 0, 0, 1], [0, 0, 1, 0], [0, 0, 1, 0])
    assert advantages[2] == pytest.approx(1 - 0.3)
    assert advantages[1] == pytest.approx(-1 - 0.2)
    assert advantages[0] == pytest.approx((0.3 - 0.1) + 0.5 * (1 - 0.3))
    assert targets[2] == pytest.approx(WIN)
    assert targets[1] == pytest.approx(LOSS)
    assert targets[0] == pytest.approx(0.2 * np.array(categories(0.3)) + 0.8 * np.array(WIN))


def test_draw_has_a_target_of_its_own():
    """A drawn game gives the tie category, not half a win and half a loss."""
    _, targets = worth([0.5, 0.5, 0.0], [0, 1, 0], [0, 1], [0, 0])
    assert targets.tolist() == [TIE, TIE]


def test_end_of_the_recording_bootstraps_each_player():
    """An unfinished game looks forward to the last value: as it is for the mover, turned for the other."""
    _, targets = worth([0.0, 0.0, 0.6], [0, 1, 0], [0, 0], [0, 0])
    assert targets[0] == pytest.approx(categories(0.6))
    assert targets[1] == pytest.approx(categories(-0.6))


def test_lambda_one_is_the_outcome():
    """With λ = 1 every advantage is outcome less value and every target is the outcome."""
    values = [0.1, 0.4, -0.3, 0.2, 0.7, 0.0]
    advantages, targets = worth(values, [0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1], [0, 0, 0, 0, 1], 1.0, 1.0)
    outcome = np.array([1, -1, 1, -1, 1])
    assert advantages == pytest.approx(outcome - np.array(values[:5]), abs=1e-6)
    assert scalar_value(targets) == pytest.approx(outcome)


def test_games_side_by_side_do_not_touch():
    """Two games computed together give what each gives alone."""
    rng = np.random.default_rng(3)
    values = rng.dirichlet(np.ones(3), size=(21, 2)).astype(np.float32)
    acting = rng.integers(0, 2, (21, 2)).astype(np.uint8)
    ended = rng.random((20, 2)) < 0.2
    reward = rng.integers(-1, 2, (20, 2)).astype(np.float32)
    together = advantages_and_targets(values, acting, ended, reward, 0.5, 0.8)
    for b in range(2):
        alone = advantages_and_targets(
            values[:, [b]], acting[:, [b]], ended[:, [b]], reward[:, [b]], 0.5, 0.8
        )
        for both, one in zip(together, alone, strict=True):
            assert np.array_equal(both[:, [b]], one)


def test_filter_keeps_the_largest_quarter():
    """Of sizes 1 … 8 the 75 % quantile is 6.25 (linear interpolation), so 7 and 8 are kept, signs ignored."""
    kept, threshold = keep(np.array([[1.0, -8.0, 3.0, 4.0], [5.0, 6.0, -7.0, 2.0]]), 0.75, 0.01)
    assert threshold == pytest.approx(6.25)
    assert kept.tolist() == [1, 6]


def test_filter_floor_binds_when_advantages_are_small():
    """Below the floor nothing is kept, however many transitions that drops; the floor itself is kept."""
    kept, threshold = keep(np.array([0.001, 0.01, -0.02, 0.002, 0.003, 0.0, 0.0, 0.0]), 0.75, 0.01)
    assert threshold == 0.01
    assert kept.tolist() == [1, 2]
