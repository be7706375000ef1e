"""The engine's interface: starts, endings, errors, random generators, threads, resuming."""

from __future__ import annotations

import ast

import numba
import numpy as np
import pytest
from compiled import COMPILED
from scipy import stats

from armies import engine, kernels
from armies.engine import Games, IllegalActionError, SetupError, signatures, warm_up
from armies.kernels.random_setups import random_setups
from armies.variants import BARRAGE, CLASSIC, HEXA, OCTA, QUAD, VARIANTS, Variant, action_cells


def play(games: Games, steps: int) -> list[np.ndarray]:
    """Random play; returns all actions, legal masks and outcomes."""
    seen: list[np.ndarray] = []
    for _ in range(steps):
        actions = games.random_actions()
        seen += [games.legal_mask(), actions, *games.step(actions)]
    return seen


def assert_same(first: list[np.ndarray], second: list[np.ndarray]) -> None:
    assert len(first) == len(second)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("variant", VARIANTS.values(), ids=lambda variant: variant.name)
def test_shapes_and_types(variant: Variant) -> None:
    """Arrays have the shapes and types that the docstrings give."""
    games = Games(variant, 3, seed=1)
    expected = {
        "observe": (np.uint8, (3, engine.PLANES, variant.cells)),
        "tokens": (np.uint8, (3, variant.cells, 2)),
        "summary": (np.uint8, (3, engine.SUMMARY)),
        "legal_mask": (np.uint8, (3, variant.actions)),
        "random_actions": (np.int32, (3,)),
    }
    for name, (dtype, shape) in expected.items():
        array = getattr(games, name)()
        assert (array.dtype, array.shape) == (dtype, shape), name
        again = np.zeros_like(array)
        assert getattr(games, name)(out=again) is again, name
        if name != "random_actions":
            assert np.array_equal(again, array), name
    mask = np.zeros((3, variant.actions), bool)
    assert np.array_equal(games.legal_mask(out=mask), games.legal_mask())
    offsets, actions = games.legal_list()
    assert (offsets.dtype, actions.dtype, offsets.shape) == (np.int32, np.int32, (4,))
    outcome = games.step(games.random_actions())
    assert [a.dtype for a in outcome] == [np.uint8, np.float32, np.int32]
    assert all(array.shape == (3,) for array in outcome)


def test_wrong_output_is_refused() -> None:
    """An output of the wrong type or shape is an error that names both."""
    games = Games(QUAD, 2, seed=1)
    with pytest.raises(ValueError, match=r"float32 \[2, 36, 16\]; expected contiguous uint8 \[2, 36, 16\]"):
        games.observe(out=np.zeros((2, 36, 16), np.float32))


def test_threads_do_not_change_results() -> None:
    """One thread and all threads play the same games, bit by bit."""
    count, steps = (2 * engine.GAMES_PER_THREAD, 60) if COMPILED else (4, 20)
    results = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        try:
            results.append(play(Games(HEXA, count, seed=5), steps))
        finally:
            numba.set_num_threads(numba.config.NUMBA_NUM_THREADS)
    assert_same(*results)


def test_a_game_does_not_depend_on_the_other_games() -> None:
    """Game i of a small batch is game i of a large one."""
    few, many = Games(QUAD, 3, seed=9), Games(QUAD, 50, seed=9)
    for _ in range(100 if COMPILED else 10):
        actions = many.random_actions()
        assert np.array_equal(few.random_actions(), actions[:3])
        ended = many.step(actions).ended
        assert np.array_equal(few.step(actions[:3]).ended, ended[:3])
        assert np.array_equal(few.observe(), many.observe()[:3])


def test_seeds_make_different_games() -> None:
    """Another seed, or another game, means other set-ups."""
    first, second = Games(OCTA, 20, seed=1), Games(OCTA, 20, seed=2)
    assert not np.array_equal(first.setups, second.setups)
    assert len({first.setups[game].tobytes() for game in range(20)}) == 20


def test_resuming_continues_exactly() -> None:
    """Games that take over a state go on like the original, set-ups of later games included."""
    games, other = Games(QUAD, 4, seed=3), Games(QUAD, 4, seed=77)
    play(games, 50)
    other.load_state_dict(games.state_dict())
    assert_same(play(games, 60), play(other, 60))


def test_resuming_checks_the_arrays() -> None:
    """A state of another count is refused and changes nothing."""
    games = Games(QUAD, 4, seed=3)
    before = games.state_dict()
    with pytest.raises(ValueError, match=r"'boards' is uint8 \[5, 16\]; expected uint8 \[4, 16\]"):
        games.load_state_dict(Games(QUAD, 5, seed=3).state_dict())
    assert all(np.array_equal(before[name], array) for name, array in games.state_dict().items())


def quad_setups(first: list[int], second: list[int]) -> np.ndarray:
    """Set-ups of two games of QUAD; kinds 10 marshal, 2 scout, 1 spy, 12 flag."""
    return np.array([[first, second]] * 2, np.uint8)


def test_reset_starts_from_given_setups_where_asked() -> None:
    """Set-ups are read from the owner's back row, each side in its own view; other games go on."""
    games = Games(QUAD, 2, seed=1)
    games.step(games.random_actions())
    other = games.state.boards[1].copy()
    games.reset(np.array([True, False]), quad_setups([10, 2, 1, 12], [12, 1, 2, 10]))
    side_1 = [kind | 16 for kind in (10, 2, 1, 12)]
    assert games.state.boards[0].tolist() == [10, 2, 1, 12] + [0] * 8 + side_1
    assert np.array_equal(games.state.boards[1], other)
    assert games.plies.tolist() == [0, 1]
    assert games.acting.tolist() == [0, 1]


def test_next_setups_are_used_at_every_restart() -> None:
    """Each restart takes the next set-ups until they are taken back."""
    games = Games(QUAD, 2, seed=1, ply_cap=3)
    setups = quad_setups([10, 2, 1, 12], [12, 1, 2, 10])
    started = games.setups.copy()
    games.set_next_setups(setups)
    assert np.array_equal(games.setups, started)
    for _ in range(9):
        ended = games.step(games.random_actions()).ended
        for game in np.flatnonzero(ended):
            assert np.array_equal(games.setups[game], setups[game])
    games.set_next_setups(None)
    for _ in range(30):
        games.step(games.random_actions())
    assert not np.array_equal(games.setups, setups)


STUCK = Variant("stuck", 4, (), ((11, 3), (10, 1), (12, 1)), 2, 30, 100)
SHUT_IN = np.array([10, 11, 0, 0, 11, 11, 0, 12], np.uint8)  # the marshal in a corner behind bombs
OPEN = np.array([11, 11, 11, 0, 10, 12, 0, 0], np.uint8)


def test_setups_without_a_first_move() -> None:
    """Side 0 shut in at the start: an error when asked for, replaced by random ones otherwise."""
    setups = np.array([[SHUT_IN, OPEN]])
    games = Games(STUCK, 1, seed=1)
    with pytest.raises(SetupError, match="game 0: the set-ups leave the first player without a legal move"):
        games.reset(setups=setups)
    games.set_next_setups(setups)
    games.reset()
    assert games.legal_mask().any()
    assert not np.array_equal(games.setups, setups)
    games.set_next_setups(setups[:, ::-1])
    games.reset()
    assert np.array_equal(games.setups, setups[:, ::-1])


def test_random_starts_always_have_a_first_move() -> None:
    """Random set-ups, shut in or not, never start a game without a legal move."""
    games = Games(STUCK, 500 if COMPILED else 20, seed=1)
    assert games.state.legal_counts.min() > 0


@pytest.mark.parametrize(
    ("setups", "sentence"),
    [
        (quad_setups([10, 2, 1, 12], [12, 1, 1, 10]), r"game 0, side 1: the set-up has 2 × spy; quad has 1"),
        (quad_setups([10, 2, 1, 13], [12, 1, 2, 10]), r"side 0: the set-up has 0 × flag; quad has 1"),
        (quad_setups([10, 2, 1], [12, 1, 2]), r"uint8 \[2, 2, 3\]; expected uint8 \[2, 2, 4\]"),
        (quad_setups([10, 2, 1, 12], [12, 1, 2, 10]).astype(int), r"set-ups are int64"),
    ],
)  # fmt: skip
def test_wrong_setups_are_refused(setups: np.ndarray, sentence: str) -> None:
    """A set-up that is no placement of the army is an error that says where and what."""
    games = Games(QUAD, 2, seed=1)
    before = games.state.boards.copy()
    with pytest.raises(SetupError, match=sentence):
        games.reset(setups=setups)
    with pytest.raises(SetupError, match=sentence):
        games.set_next_setups(setups)
    assert np.array_equal(games.state.boards, before)


# Board of the illegal actions below, in side 0's view: marshal a1, scout b1, spy c1, flag d1.
ILLEGAL = {
    (4, 8): r"no own piece stands on its source, from \(1, 0\) to \(2, 0\)",
    (12, 8): r"no own piece stands on its source, from \(3, 0\) to \(2, 0\)",
    (3, 7): r"a flag does not move, from \(0, 3\) to \(1, 3\)",
    (0, 1): r"an own piece stands on its target, from \(0, 0\) to \(0, 1\)",
    (0, 8): r"a marshal moves one square, from \(0, 0\) to \(2, 0\)",
}


@pytest.mark.parametrize(("source", "target"), ILLEGAL)
def test_illegal_action_is_an_error(source: int, target: int) -> None:
    """An illegal action of one game is an error that names game, action and reason; no game moves."""
    games = Games(QUAD, 2, seed=1)
    games.reset(setups=quad_setups([10, 2, 1, 12], [12, 1, 2, 10]))
    pairs = [tuple(pair) for pair in action_cells(QUAD).tolist()]
    actions = games.random_actions()
    actions[1] = pairs.index((source, target))
    before = games.state_dict()
    with pytest.raises(IllegalActionError, match=rf"game 1: action {actions[1]} .*{ILLEGAL[source, target]}"):
        games.step(actions)
    after = games.state_dict()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("action", [-1, QUAD.actions])
def test_action_out_of_range_is_an_error(action: int) -> None:
    """A number that is no action is an error that gives the range."""
    games = Games(QUAD, 1, seed=1)
    with pytest.raises(IllegalActionError, match="actions lie between 0 and 95"):
        games.step(np.array([action], np.int32))


def test_blocked_way_lakes_and_two_squares_are_explained() -> None:
    """The reasons that need a longer story: a scout's blocked way, a lake, the two-square rule."""
    games = Games(HEXA, 1, seed=1)
    back, front = [12, 11, 9, 10, 2, 3], [2, 0, 0, 0, 0, 1]  # scout at (1, 0); lakes (2, 1), (3, 4)
    mirrored = [12, 11, 9, 10, 2, 3], [0, 0, 1, 0, 0, 2]
    games.reset(setups=np.array([[back + front, mirrored[0] + mirrored[1]]], np.uint8))
    pairs = [tuple(pair) for pair in action_cells(HEXA).tolist()]

    def go(source: int, target: int) -> None:
        games.step(np.array([pairs.index((source, target))], np.int32))

    go(6, 7)
    go(11, 10)
    with pytest.raises(IllegalActionError, match=r"target is a lake, from \(1, 1\) to \(2, 1\)"):
        go(7, 13)
    with pytest.raises(IllegalActionError, match=r"the way is not free, from \(1, 1\) to \(3, 1\)"):
        go(7, 19)
    go(7, 6)
    go(10, 9)
    go(6, 7)
    go(9, 10)
    with pytest.raises(IllegalActionError, match=r"the two-square rule forbids it, from \(1, 1\) to \(1, 0\)"):
        go(7, 6)


def test_actions_of_the_wrong_type_are_refused() -> None:
    """Actions of another type or shape are an error, not a reinterpretation."""
    with pytest.raises(ValueError, match=r"actions are int64 \[2\]; expected int32 \[2\]"):
        Games(QUAD, 2, seed=1).step(np.zeros(2, np.int64))


@pytest.mark.parametrize("limits", [{"battleless_limit": 0}, {"ply_cap": -1}])
def test_limits_below_one_ply_are_refused(limits: dict[str, int]) -> None:
    """Limits are at least one ply."""
    with pytest.raises(ValueError, match="it must be at least one ply"):
        Games(QUAD, 2, seed=1, **limits)


def chi_square_p(counts: np.ndarray) -> float:
    """Probability of counts as uneven as these when all outcomes are equally likely."""
    return float(stats.chisquare(counts).pvalue)


def test_random_setups_are_uniform() -> None:
    """The engine's set-ups, and those of ``random_setups``, take all 24 orders of QUAD equally often."""
    count = 4800 if COMPILED else 480
    drawn = [
        Games(QUAD, count // 2, seed=4).setups.reshape(-1, 4),
        random_setups(QUAD, count, np.random.default_rng(4)),
    ]
    for setups in drawn:
        counts = np.unique(setups, axis=0, return_counts=True)[1]
        assert counts.size == 24
        assert counts.sum() == count
        assert chi_square_p(counts) > 1e-3


def test_random_play_is_uniform() -> None:
    """Each legal move of a position is drawn equally often."""
    games = Games(QUAD, 1, seed=4)
    legal = games.legal_list()[1]
    drawn = np.array([games.random_actions()[0] for _ in range(4000 if COMPILED else 400)])
    counts = np.array([(drawn == action).sum() for action in legal])
    assert counts.sum() == drawn.size
    assert chi_square_p(counts) > 1e-3


def test_kernels_are_made_of_hashed_sources_alone() -> None:
    """A module with kernels imports from the package nothing that the name of the cache folder omits."""
    sources = {path.stem for path in kernels.kernel_sources()}
    assert {"step", "moves", "observe", "random_setups"} <= sources
    for path in kernels.kernel_sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("armies."):
                assert node.module.rsplit(".", 1)[-1] in sources, f"{path.name}: {node.module}"


def test_every_kernel_states_its_options() -> None:
    """Each ``@njit`` of the package is cached and says whether arithmetic may be reordered."""
    found = 0
    for path in kernels.kernel_sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "njit":
                options = {keyword.arg: getattr(keyword.value, "value", None) for keyword in node.keywords}
                assert options.get("cache") is True, f"{path.name}:{node.lineno}"
                assert "fastmath" in options, f"{path.name}:{node.lineno}"
                found += 1
    assert found >= 20


@pytest.mark.skipif(not COMPILED, reason="signatures exist only of compiled kernels")
def test_warm_up_compiles_everything() -> None:
    """After a warm-up no call compiles anything more, whatever variant is played."""
    warm_up(OCTA)
    before = signatures()
    assert all(before[f"armies.kernels.step.{name}"] == 1 for name in ("step_games", "write_legal_mask"))
    for variant in (CLASSIC, BARRAGE, QUAD):
        games = Games(variant, 2, seed=1)
        games.set_next_setups(games.setups.copy())
        games.reset(np.array([False, True]), games.setups.copy())
        play(games, 3)
        for call in (games.observe, games.tokens, games.summary, games.legal_list):
            call()
        with pytest.raises(IllegalActionError):
            games.step(np.array([-1, -1], np.int32))
    assert signatures() == before
