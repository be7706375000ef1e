"""The game of armies, batched: many games at once, each step one ply of every game.

Rules. Two armies face each other; each side sees the kinds of its own pieces only. A move takes a piece one
square along a row or column to an empty square or onto an enemy; bombs and flags never move; a scout moves
any number of empty squares in line and may attack at the end of the same move; a move of more than one square
reveals it as a scout. An attack reveals both pieces: the higher rank stays, equal ranks both fall; an
attacking spy beats the marshal; a miner takes a bomb, any other attacker falls on it and the bomb stays. An
attacker that wins moves onto the square, a defender that wins stays on it.

Two-square rule. A piece may not cross the same border between two squares on more than three moves of its
side in a row, attacks included. A scout crosses every border on its way. The count starts anew when another
piece of that side moves, when the piece changes between row and column, or when it falls; not when it is
attacked and stays. The rule against continuous chases is not played: the battleless limit bounds a chase.

Endings, looked at in this order after every ply: the flag is captured (the mover wins); the side to move next
has no legal move (it loses); the battleless limit, plies in a row without an attack (draw); the cap on plies
(draw). Side 0 begins. A finished game is restarted within the same step.

An illegal action raises :class:`IllegalActionError` and changes nothing: it is a caller's error, never a
reward.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from armies.illegal import explain_illegal
from armies.kernels import moves, observe, random_setups, step
from armies.kernels.observe import HISTORY_PLANES, PIECE_CODES, PIECE_PLANES, PLANE_NAMES, PLANES, SUMMARY
from armies.kernels.step import BATTLELESS_LIMIT, FLAG_CAPTURED, GOES_ON, NO_LEGAL_MOVES, PLY_CAP
from armies.kernels.twins import serial_twin
from armies.state import make_rules, make_state
from armies.variants import KIND_NAMES, Variant

__all__ = [
    "BATTLELESS_LIMIT",
    "FLAG_CAPTURED",
    "GOES_ON",
    "HISTORY_PLANES",
    "NO_LEGAL_MOVES",
    "PIECE_CODES",
    "PIECE_PLANES",
    "PLANES",
    "PLANE_NAMES",
    "PLY_CAP",
    "SUMMARY",
    "Games",
    "IllegalActionError",
    "Outcome",
    "SetupError",
    "signatures",
    "warm_up",
]

# A second thread costs some microseconds to wake, on a busy machine milliseconds: as much as this many games.
GAMES_PER_THREAD = 256


class IllegalActionError(ValueError):
    """An action that the rules forbid; the message names game, action and reason."""


class SetupError(ValueError):
    """A set-up that is not a placement of the variant's army, or leaves the first player without a move."""


class Outcome(NamedTuple):
    """What a step brought, one entry per game."""

    ended: NDArray[np.uint8]  # GOES_ON, FLAG_CAPTURED, NO_LEGAL_MOVES, BATTLELESS_LIMIT or PLY_CAP
    reward: NDArray[np.float32]  # of the side that moved: 1 for a win, else 0 (no move loses at once)
    plies: NDArray[np.int32]  # length of the game that finished, 0 where none did


class Games:
    """``count`` games of a variant, played in lockstep.

    Game ``i`` draws its set-ups from a generator that depends on ``seed`` and ``i`` alone, so neither the
    number of threads nor the other games change it. Limits are in plies; None takes the variant's own.
    """

    def __init__(
        self,
        variant: Variant,
        count: int,
        seed: int,
        battleless_limit: int | None = None,
        ply_cap: int | None = None,
    ) -> None:
        if count < 1:
            raise ValueError(f"the number of games is {count}; at least one is needed")
        for name, limit in (("battleless limit", battleless_limit), ("cap on plies", ply_cap)):
            if limit is not None and limit < 1:
                raise ValueError(f"the {name} is {limit}; it must be at least one ply")
        self.variant = variant
        self.count = count
        self.rules = make_rules(variant, battleless_limit, ply_cap)
        self.state = make_state(variant, count, seed)
        self.reset()

    @property
    def acting(self) -> NDArray[np.int8]:
        """The side to move, 0 or 1: int8 [count]."""
        return self.state.acting

    @property
    def plies(self) -> NDArray[np.int32]:
        """Plies played so far: int32 [count]."""
        return self.state.plies

    @property
    def setups(self) -> NDArray[np.uint8]:
        """The set-ups that the games started from: uint8 [count, 2, setup_cells], owners' views."""
        return self.state.setups

    def reset(self, mask: NDArray[np.bool_] | None = None, setups: NDArray[np.uint8] | None = None) -> None:
        """Restart the games where ``mask`` (bool [count], default: all) is true.

        ``setups`` uint8 [count, 2, setup_cells] holds kinds, the cells in the order of the owner's view from
        its back row; without it the games' next set-ups are used if there are some, else random ones.
        Raises SetupError.
        """
        chosen = np.ones(self.count, np.uint8) if mask is None else np.asarray(mask, bool).astype(np.uint8)
        if setups is None:
            self._run(step.reset_games, self.rules, self.state, chosen)
            return
        games = np.flatnonzero(chosen)
        self._check_setups(setups, games)
        self.state.setups[games] = setups[games]
        self._run(step.start_from_setups, self.rules, self.state, chosen)
        stuck = games[self.state.legal_counts[games] == 0]
        if stuck.size:
            raise SetupError(f"game {stuck[0]}: the set-ups leave the first player without a legal move")

    def set_next_setups(self, setups: NDArray[np.uint8] | None) -> None:
        """Set-ups that each game uses at every restart from now on (layout as in :meth:`reset`).

        None returns to random ones. Set-ups that leave the first player without a legal move are replaced by
        random ones; :attr:`setups` always tells what is played. Raises SetupError on a wrong army.
        """
        if setups is not None:
            self._check_setups(setups, np.arange(self.count))
            self.state.next_setups[:] = setups
        self.state.has_next[:] = setups is not None

    def _check_setups(self, setups: NDArray[np.uint8], games: NDArray[np.intp]) -> None:
        """Raise SetupError unless the set-ups of ``games`` are placements of the variant's army."""
        army = self.variant.army
        if setups.shape != self.state.setups.shape or setups.dtype != np.uint8:
            raise SetupError(
                f"set-ups are {setups.dtype} {list(setups.shape)}; expected uint8 {list(self.state.setups.shape)}"
            )
        wrong = (np.sort(setups[games], axis=-1) != army).any(-1)
        if wrong.any():
            index, side = (int(i) for i in np.argwhere(wrong)[0])
            game = int(games[index])
            found = np.bincount(setups[game, side], minlength=len(KIND_NAMES))
            needed = np.bincount(army, minlength=len(KIND_NAMES))
            kind = next(k for k in range(found.size) if k >= needed.size or found[k] != needed[k])
            name = KIND_NAMES[kind] if kind < len(KIND_NAMES) else f"unknown kind {kind}"
            expected = needed[kind] if kind < needed.size else 0
            raise SetupError(
                f"game {game}, side {side}: the set-up has {found[kind]} × {name}; {self.variant.name} has {expected}"
            )

    def observe(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """What the side to move sees, cell by cell in its view: uint8 [count, PLANES, cells], 0 or 1.

        The planes are listed in :mod:`armies.kernels.observe`; :meth:`summary` tells the rest.
        """
        out = self._buffer(out, (self.count, PLANES, self.variant.cells))
        self._run(observe.write_planes, self.state, out)
        return out

    def tokens(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """The planes as two codes per cell: uint8 [count, cells, 2] (:mod:`armies.kernels.observe`)."""
        out = self._buffer(out, (self.count, self.variant.cells, 2))
        self._run(observe.write_codes, self.state, out)
        return out

    def summary(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """Hidden enemy pieces by kind, and the battleless clock: uint8 [count, SUMMARY].

        The entries are listed in :mod:`armies.kernels.observe`.
        """
        out = self._buffer(out, (self.count, SUMMARY))
        self._run(observe.write_summaries, self.rules, self.state, out)
        return out

    def legal_mask(self, out: NDArray[np.uint8] | None = None) -> NDArray[np.uint8]:
        """1 for each legal action of the side to move, else 0: uint8 (or bool) [count, actions]."""
        if out is not None and out.dtype == np.bool_:
            self.legal_mask(out.view(np.uint8))
            return out
        out = self._buffer(out, (self.count, self.variant.actions))
        self._run(step.write_legal_mask, self.state, out)
        return out

    def legal_list(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Legal actions, compact: (offsets int32 [count + 1], actions int32 [total]).

        Those of game ``i`` are ``actions[offsets[i]:offsets[i + 1]]``, in ascending order.
        """
        offsets = np.zeros(self.count + 1, np.int32)
        np.cumsum(self.state.legal_counts, out=offsets[1:])
        actions = np.empty(offsets[-1], np.int32)
        self._run(step.write_legal_list, self.state, offsets, actions)
        return offsets, actions

    def random_actions(self, out: NDArray[np.int32] | None = None) -> NDArray[np.int32]:
        """A uniformly random legal action per game: int32 [count], from generators of its own."""
        out = np.empty(self.count, np.int32) if out is None else out
        self._run(step.write_random_actions, self.state, out)
        return out

    def step(self, actions: NDArray[np.int32]) -> Outcome:
        """Play one action in every game (int32 [count]); finished games are restarted.

        Raises IllegalActionError, with all games unchanged, if an action is not legal.
        """
        if actions.shape != (self.count,) or actions.dtype != np.int32:
            raise ValueError(f"actions are {actions.dtype} {list(actions.shape)}; expected int32 [{self.count}]")
        outcome = Outcome(
            np.empty(self.count, np.uint8), np.empty(self.count, np.float32), np.empty(self.count, np.int32)
        )
        if self._run(step.step_games, self.rules, self.state, actions, *outcome):
            raise IllegalActionError(self._why_illegal(actions))
        return outcome

    def _why_illegal(self, actions: NDArray[np.int32]) -> str:
        """One sentence on the first illegal action."""
        for game, action in enumerate(int(a) for a in actions):
            if not step.is_legal(self.state, game, action):
                side = int(self.acting[game])
                reason = explain_illegal(self.variant, self.state.boards[game], side, action)
                return f"game {game}: action {action} is illegal: {reason}"
        raise AssertionError("every action is legal")

    def state_dict(self) -> dict[str, NDArray]:
        """Copies of all arrays of the games, generators included: enough to continue exactly."""
        return {name: array.copy() for name, array in self.state._asdict().items()}

    def load_state_dict(self, arrays: Mapping[str, NDArray]) -> None:
        """Take over what :meth:`state_dict` of games of the same variant and count returned."""
        for name, array in self.state._asdict().items():
            found = arrays.get(name)
            if found is None or found.shape != array.shape or found.dtype != array.dtype:
                what = "missing" if found is None else f"{found.dtype} {list(found.shape)}"
                raise ValueError(f"games' array {name!r} is {what}; expected {array.dtype} {list(array.shape)}")
        for name, array in self.state._asdict().items():
            array[...] = arrays[name]

    def _run(self, kernel: Callable[..., Any], *arguments: Any) -> Any:
        """Run a kernel on no more threads than the batch is worth; the result does not depend on them."""
        worth = self.count // GAMES_PER_THREAD
        if worth <= 1 or numba.get_num_threads() == 1:
            return serial_twin(kernel)(*arguments)
        allowed = numba.get_num_threads()
        numba.set_num_threads(min(allowed, worth))
        try:
            return kernel(*arguments)
        finally:
            numba.set_num_threads(allowed)

    def _buffer(self, out: NDArray[np.uint8] | None, shape: tuple[int, ...]) -> NDArray[np.uint8]:
        """``out`` if it has the right type and shape (else ValueError), or a new array."""
        if out is None:
            return np.empty(shape, np.uint8)
        if out.shape != shape or out.dtype != np.uint8 or not out.flags.c_contiguous:
            raise ValueError(f"the output is {out.dtype} {list(out.shape)}; expected contiguous uint8 {list(shape)}")
        return out


_KERNEL_MODULES = (random_setups, moves, step, observe)


def _kernels() -> dict[str, Any]:
    """Every kernel of the engine by its name (none without compilation)."""
    return {
        f"{module.__name__}.{name}": kernel
        for module in _KERNEL_MODULES
        for name, kernel in vars(module).items()
        if hasattr(kernel, "signatures") and kernel.__module__ == module.__name__
    }


def _twins() -> dict[str, tuple[Any, Any]]:
    """The kernels that are compiled for several threads and for one."""
    return {
        name: (kernel, serial_twin(kernel))
        for name, kernel in _kernels().items()
        if kernel.targetoptions.get("parallel")
    }


def signatures() -> dict[str, int]:
    """Number of compiled signatures of every kernel (empty without compilation).

    A timed bracket must leave it unchanged: a new signature means that it contained a compilation.
    """
    counts = {name: len(kernel.signatures) for name, kernel in _kernels().items()}
    return counts | {f"{name} serial": len(twin.signatures) for name, (_, twin) in _twins().items()}


def warm_up(variant: Variant) -> None:
    """Compile or load every kernel, so that no timed bracket contains a compilation."""
    games = Games(variant, 2, seed=0)
    games.set_next_setups(games.setups.copy())
    games.reset(np.array([True, False]), games.setups.copy())
    games.observe()
    games.tokens()
    games.summary()
    games.legal_mask()
    games.legal_list()
    games.step(games.random_actions())
    step.is_legal(games.state, 0, 0)
    step.target_of(variant.size, 0)
    for kernel, twin in _twins().values():  # two games are worth one thread only
        for signature in twin.signatures:
            kernel.compile(signature)
