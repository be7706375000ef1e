"""Random play of the engine and of slow twins in step, compared in everything at every position."""

from __future__ import annotations

from collections import Counter

import numpy as np
from rules_met import rules_of_ending, rules_of_move, rules_of_position
from slow_twin import BOARDS, NAMES, Move, Piece, SlowGame

from armies.engine import PLANE_NAMES, Games
from armies.variants import KIND_NAMES, VARIANTS

ENDINGS = {1: "flag captured", 2: "no legal moves", 3: "battleless limit", 4: "ply cap"}


def twin_of(games: Games, game: int) -> SlowGame:
    """A slow game from the set-ups that the engine's game has just started with."""
    setups = [[KIND_NAMES[kind] for kind in side] for side in games.setups[game]]
    return SlowGame(BOARDS[games.variant.name], setups, games.rules.battleless_limit, games.rules.ply_cap)


def board_byte(piece: Piece | None) -> int:
    """The engine's byte for a piece, as the head of ``armies.state`` describes it."""
    if piece is None:
        return 0
    return NAMES.index(piece.name) | piece.side << 4 | piece.revealed << 5 | piece.moved << 6


def assert_same_position(games: Games, twins: list[SlowGame], moves: list[dict[int, Move]]) -> None:
    """Compare every game's whole position with its twin's; ``moves`` are the twins' by action."""
    size = games.variant.size
    squares = [(row, column) for row in range(size) for column in range(size)]
    offsets, listed = games.legal_list()
    mask = games.legal_mask()
    planes = games.observe()
    summary = games.summary()
    for game, twin in enumerate(twins):
        where = f"{games.variant.name}, game {game}, ply {twin.plies}"
        actions = listed[offsets[game] : offsets[game + 1]].tolist()
        assert actions == sorted(moves[game]), where
        assert np.flatnonzero(mask[game]).tolist() == actions, where
        expected = [0x80 if s in twin.board.lakes else board_byte(twin.pieces.get(s)) for s in squares]
        assert games.state.boards[game].tolist() == expected, where
        assert (games.acting[game], games.plies[game]) == (twin.side, twin.plies), where
        seen = {(PLANE_NAMES[plane], squares[cell]) for plane, cell in np.argwhere(planes[game]).tolist()}
        assert seen == twin.observation(), where
        assert summary[game, :12].tolist() == twin.hidden_counts(), where
        assert summary[game, 12] == 8 * twin.plies_without_battle // twin.battleless_limit, where


def choose(generator: np.random.Generator, twin: SlowGame, moves: dict[int, Move]) -> int:
    """A random action; half of the time one of the piece that the side moved last.

    Plain random play meets the two-square rule rarely.
    """
    actions = sorted(moves)
    if len(twin.moves) >= 2 and generator.random() < 0.5:
        actions = [a for a in actions if moves[a][0] == twin.moves[-2][1]] or actions
    return actions[generator.integers(len(actions))]


def play_beside_twin(name: str, positions: int, seed: int, limits: tuple[int, int]) -> Counter[str]:
    """Play the engine and twins in step over ``positions`` positions; asserts that they agree.

    ``limits``: the battleless limit and the cap on plies. Returns in how many plies each rule was met.
    """
    count = 8
    games = Games(VARIANTS[name], count, seed, battleless_limit=limits[0], ply_cap=limits[1])
    twins = [twin_of(games, game) for game in range(count)]
    generator = np.random.default_rng(seed)
    met: Counter[str] = Counter()
    for _ in range(positions // count):
        moves = [{twin.action(move): move for move in twin.legal_moves()} for twin in twins]
        assert_same_position(games, twins, moves)
        actions = [choose(generator, *pair) for pair in zip(twins, moves, strict=True)]
        outcome = games.step(np.array(actions, np.int32))
        for game, (twin, action) in enumerate(zip(twins, actions, strict=True)):
            mover = twin.side
            met.update(rules_of_position(twin) | rules_of_move(twin, moves[game][action]))
            twin.play(*moves[game][action])
            met.update(rules_of_ending(twin))
            assert ENDINGS.get(int(outcome.ended[game])) == twin.ending
            assert outcome.reward[game] == (twin.winner == mover)
            assert outcome.plies[game] == (twin.plies if twin.ending else 0)
            if twin.ending:
                twins[game] = twin_of(games, game)
    return met


def play_at_length(name: str, positions: int) -> Counter[str]:
    """``positions`` positions of a variant, with limits such that every ending is met."""
    met: Counter[str] = Counter()
    for seed, limits in enumerate([(200, 2000), (20, 2000), (20, 20), (200, 90)], start=2):
        met += play_beside_twin(name, positions // 4, seed, limits)
    return met
