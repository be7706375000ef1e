"""Kernels over a batch of games: start, step, and legal moves as a mask or a list.

Every game uses its own rows of the arrays alone, its random generators included, so results do not depend
on the number of threads.
"""

from __future__ import annotations

from numba import njit, prange

from armies.kernels.moves import extend_chain, forget_chain, write_legal_moves
from armies.kernels.random_setups import random_below, shuffle_army
from armies.state import (
    KIND_BITS,
    MOVED,
    NO_CELL,
    PLAY_STREAM,
    REVEALED,
    SETUP_STREAM,
    SIDE_SHIFT,
)
from armies.variants import BOMB, EMPTY, FLAG, MARSHAL, MINER, SPY

GOES_ON, FLAG_CAPTURED, NO_LEGAL_MOVES, BATTLELESS_LIMIT, PLY_CAP = range(5)

ATTACKER_WINS, DEFENDER_WINS, BOTH_FALL = 1, -1, 0


@njit(cache=True, nogil=True, fastmath=False)
def battle(attacker, defender):  # type: ignore[no-untyped-def]
    """Result of an attack between two kinds: ATTACKER_WINS, DEFENDER_WINS or BOTH_FALL."""
    if defender == BOMB:
        return ATTACKER_WINS if attacker == MINER else DEFENDER_WINS
    if defender == FLAG or (attacker == SPY and defender == MARSHAL):
        return ATTACKER_WINS
    if attacker == defender:
        return BOTH_FALL
    return ATTACKER_WINS if attacker > defender else DEFENDER_WINS  # a kind's number is its rank


@njit(cache=True, nogil=True, fastmath=False)
def set_up(rules, state, game):  # type: ignore[no-untyped-def]
    """Put both armies of ``state.setups[game]`` on an empty board; side 0 is to move."""
    cells = rules.empty_board.size
    board = state.boards[game]
    for cell in range(cells):
        board[cell] = rules.empty_board[cell]
    for i in range(rules.army.size):
        board[i] = state.setups[game, 0, i]
        kind = int(state.setups[game, 1, i])
        board[cells - 1 - i] = EMPTY if kind == EMPTY else kind | 1 << SIDE_SHIFT
    state.acting[game] = 0
    state.plies[game] = 0
    state.quiet_plies[game] = 0
    state.history[game, :] = NO_CELL
    forget_chain(state.chains[game, 0])
    forget_chain(state.chains[game, 1])
    find_legal_moves(rules, state, game)


@njit(cache=True, nogil=True, fastmath=False)
def find_legal_moves(rules, state, game):  # type: ignore[no-untyped-def]
    """Bring ``state.legal`` up to date with the position and return the number of legal moves."""
    side = int(state.acting[game])
    count = write_legal_moves(
        rules.size,
        state.boards[game],
        state.chains[game, side],
        side,
        state.grids[game],
        state.legal[game],
    )
    state.legal_counts[game] = count
    return count


@njit(cache=True, nogil=True, fastmath=False)
def restart(rules, state, game):  # type: ignore[no-untyped-def]
    """Start the game anew, from its next set-ups if it has some, else from random ones.

    Set-ups that leave side 0 without a legal move are replaced by random ones.
    """
    if state.has_next[game]:
        for side in range(2):
            for i in range(rules.army.size):
                state.setups[game, side, i] = state.next_setups[game, side, i]
        set_up(rules, state, game)
        if state.legal_counts[game] > 0:
            return
    while True:
        for side in range(2):
            shuffle_army(rules.army, state.generators[game], SETUP_STREAM, state.setups[game, side])
        set_up(rules, state, game)
        if state.legal_counts[game] > 0:
            return


@njit(cache=True, nogil=True, fastmath=False)
def is_legal(state, game, action):  # type: ignore[no-untyped-def]
    """Whether the action is among the game's legal ones (binary search)."""
    low, high = 0, int(state.legal_counts[game])
    while low < high:
        middle = (low + high) // 2
        if state.legal[game, middle] < action:
            low = middle + 1
        else:
            high = middle
    return low < state.legal_counts[game] and state.legal[game, low] == action


@njit(cache=True, nogil=True, fastmath=False)
def target_of(size, action):  # type: ignore[no-untyped-def]
    """Source and target cell of an action, both in the mover's view."""
    span = 2 * (size - 1)
    source, k = action // span, action % span
    row, column = source // size, source % size
    if k < size - 1:
        return source, row * size + (k if k < column else k + 1)
    k -= size - 1
    return source, (k if k < row else k + 1) * size + column


@njit(cache=True, nogil=True, fastmath=False)
def move(rules, state, game, action):  # type: ignore[no-untyped-def]
    """Make a legal move and return how the game ended, or GOES_ON; the turn passes in any case."""
    size = rules.size
    side = int(state.acting[game])
    source, target = target_of(size, action)
    first, sign = (0, 1) if side == 0 else (size * size - 1, -1)
    start, end = first + sign * source, first + sign * target  # in the view of side 0, as the board is
    board = state.boards[game]
    piece = int(board[start]) | MOVED
    if abs(end - start) != 1 and abs(end - start) != size:  # more than one square: only a scout can
        piece |= REVEALED
    defender = int(board[end])

    history = state.history[game]
    for i in range(history.size - 1, 1, -1):
        history[i] = history[i - 2]
    history[0], history[1] = start, end
    extend_chain(state.chains[game, side], size, source, target)

    board[start] = EMPTY
    if defender == EMPTY:
        board[end] = piece
        state.quiet_plies[game] += 1
    else:
        state.quiet_plies[game] = 0
        result = battle(piece & KIND_BITS, defender & KIND_BITS)
        if result == ATTACKER_WINS:
            board[end] = piece | REVEALED
        elif result == DEFENDER_WINS:
            board[end] = defender | REVEALED
        else:
            board[end] = EMPTY

    state.plies[game] += 1
    state.acting[game] = 1 - side
    if defender & KIND_BITS == FLAG:
        return FLAG_CAPTURED
    if find_legal_moves(rules, state, game) == 0:
        return NO_LEGAL_MOVES
    if state.quiet_plies[game] >= rules.battleless_limit:
        return BATTLELESS_LIMIT
    if state.plies[game] >= rules.ply_cap:
        return PLY_CAP
    return GOES_ON


@njit(cache=True, nogil=True, parallel=True, fastmath=False)
def reset_games(rules, state, mask):  # type: ignore[no-untyped-def]
    """Restart the games where ``mask`` (uint8 [n]) is not 0."""
    for game in prange(mask.size):
        if mask[game]:
            restart(rules, state, game)


@njit(cache=True, nogil=True, parallel=True, fastmath=False)
def start_from_setups(rules, state, mask):  # type: ignore[no-untyped-def]
    """Start the games where ``mask`` (uint8 [n]) is not 0 from ``state.setups`` exactly."""
    for game in prange(mask.size):
        if mask[game]:
            set_up(rules, state, game)


@njit(cache=True, nogil=True, parallel=True, fastmath=False)
def step_games(rules, state, actions, ended, reward, plies):  # type: ignore[no-untyped-def]
    """Play one action (int32 [n]) in every game and return 0, or the number of illegal actions.

    If any action is illegal, no game is touched. Written are ``ended`` uint8, ``reward`` float32 (of the side
    that moved) and ``plies`` int32 (of the finished game), each [n]. Finished games are restarted.
    """
    illegal = 0
    for game in prange(actions.size):
        if not is_legal(state, game, actions[game]):
            illegal += 1
    if illegal:
        return illegal
    for game in prange(actions.size):
        end = move(rules, state, game, int(actions[game]))
        ended[game] = end
        reward[game] = 1.0 if end in (FLAG_CAPTURED, NO_LEGAL_MOVES) else 0.0
        plies[game] = 0
        if end != GOES_ON:
            plies[game] = state.plies[game]
            restart(rules, state, game)
    return 0


@njit(cache=True, nogil=True, parallel=True, fastmath=False)
def write_legal_mask(state, mask):  # type: ignore[no-untyped-def]
    """Write 1 for every legal action, else 0, to ``mask`` (uint8 [n, actions])."""
    for game in prange(mask.shape[0]):
        mask[game, :] = 0
        for i in range(state.legal_counts[game]):
            mask[game, state.legal[game, i]] = 1


@njit(cache=True, nogil=True, parallel=True, fastmath=False)
def write_legal_list(state, offsets, actions):  # type: ignore[no-untyped-def]
    """Write each game's legal actions to ``actions`` (int32 [total]) from ``offsets[game]`` on."""
    for game in prange(state.legal_counts.size):
        for i in range(state.legal_counts[game]):
            actions[offsets[game] + i] = state.legal[game, i]


@njit(cache=True, nogil=True, parallel=True, fastmath=False)
def write_random_actions(state, actions):  # type: ignore[no-untyped-def]
    """Write a uniformly random legal action of every game to ``actions`` (int32 [n])."""
    for game in prange(actions.size):
        choice = random_below(state.generators[game], PLAY_STREAM, state.legal_counts[game])
        actions[game] = state.legal[game, choice]
