"""Reads drawn examples of rules (``rules/README.md``) and plays them on the engine and on the slow twin."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from slow_twin import NAMES, Board, Move, Piece, SlowGame, Square

from armies.engine import PLANE_NAMES, Games
from armies.kernels.step import find_legal_moves
from armies.variants import FLAG, SCOUT, Variant

HERE = Path(__file__).parent
LETTERS = dict(zip(".psmtlcjkgxbf", NAMES, strict=True))
NO_LIMIT = 1000


@dataclass(frozen=True)
class Example:
    """One ``[[example]]``; the fields are those of ``rules/README.md``."""

    source: str
    rule: str  # one of rules_met.RULES
    name: str
    board: str
    to_move: int = 0
    battleless_limit: int = NO_LIMIT
    ply_cap: int = NO_LIMIT
    moves: list[str] = field(default_factory=list)
    legal: list[str] = field(default_factory=list)
    illegal: list[str] = field(default_factory=list)
    exactly: list[str] | None = None
    after: str | None = None
    ending: str | None = None
    winner: int | None = None


def read_examples(folder: str) -> list[Example]:
    """All examples of the ``*.toml`` files of a folder beside this file."""
    return [
        Example(source=path.stem, **example)
        for path in sorted((HERE / folder).glob("*.toml"))
        for example in tomllib.loads(path.read_text())["example"]
    ]


def read_board(drawing: str) -> tuple[int, set[Square], dict[Square, Piece]]:
    """Size, lakes and pieces of a drawing."""
    rows = [line.split() for line in reversed(drawing.strip().splitlines())]
    lakes, pieces = set(), {}
    for row, cells in enumerate(rows):
        assert len(cells) == len(rows), f"row {row + 1} has {len(cells)} cells of {len(rows)}"
        for column, cell in enumerate(cells):
            letter, revealed = cell[0], cell[1:] == "!"
            if letter == "#":
                lakes.add((row, column))
            elif letter != ".":
                name, side = LETTERS[letter.lower()], int(letter.islower())
                pieces[row, column] = Piece(name, side, revealed)
    return len(rows), lakes, pieces


def read_move(text: str) -> Move:
    """``c2-c3`` as two squares."""
    source, target = ((int(word[1:]) - 1, ord(word[0]) - ord("a")) for word in text.split("-"))
    return source, target


class Table(Protocol):
    """What an example is played on."""

    def legal_moves(self) -> set[Move]: ...

    def play(self, move: Move) -> tuple[str | None, int | None]:
        """Returns ending and winner, both None while the game goes on."""

    def pieces(self) -> dict[Square, tuple[str, int, bool]]:
        """Name, side and whether it is revealed."""


def twin_at(example: Example) -> SlowGame:
    """The slow twin at the drawn position."""
    size, lakes, pieces = read_board(example.board)
    game = SlowGame(Board(size, frozenset(lakes), {}, 1), [[], []], example.battleless_limit, example.ply_cap)
    game.pieces = pieces
    game.side = example.to_move
    return game


def engine_at(example: Example) -> Games:
    """The engine with one game at the drawn position."""
    size, lakes, pieces = read_board(example.board)
    army = ((SCOUT, size - 1), (FLAG, 1))  # leaves room for the moves of any drawing
    variant = Variant("drawn", size, tuple(lakes), army, 1, 1, 1)
    games = Games(variant, 1, 0, example.battleless_limit, example.ply_cap)
    games.state.boards[0] = games.rules.empty_board
    for (row, column), piece in pieces.items():
        byte = NAMES.index(piece.name) | piece.side << 4 | piece.revealed << 5
        games.state.boards[0, row * size + column] = byte
    games.state.acting[0] = example.to_move
    find_legal_moves(games.rules, games.state, 0)
    return games


class TwinTable:
    """The slow twin at a drawn position."""

    def __init__(self, example: Example) -> None:
        self.game = twin_at(example)

    def legal_moves(self) -> set[Move]:
        return self.game.legal_moves()

    def play(self, move: Move) -> tuple[str | None, int | None]:
        self.game.play(*move)
        return self.game.ending, self.game.winner

    def pieces(self) -> dict[Square, tuple[str, int, bool]]:
        return {square: (p.name, p.side, p.revealed) for square, p in self.game.pieces.items()}

    def seen(self) -> dict[Square, tuple[str, int, bool]]:
        return pieces_seen(self.game.observation(), self.game.side, self.game.turned)


def pieces_seen(
    observation: set[tuple[str, Square]], side: int, turned: Callable[[Square, int], Square]
) -> dict[Square, tuple[str, int, bool]]:
    """The pieces in an observation: (name of a plane, square in the mover's view) pairs."""
    found = {}
    for plane, square in observation:
        whose, _, name = plane.partition(" ")
        if whose in ("own", "enemy") and name not in ("moved", "revealed"):
            revealed = ("own revealed", square) in observation if whose == "own" else name != "hidden"
            found[turned(square, side)] = (name, side if whose == "own" else 1 - side, revealed)
    return found


class EngineTable:
    """The engine at a drawn position; squares and actions are converted here, by the documents alone."""

    ENDINGS = (None, "flag captured", "no legal moves", "battleless limit", "ply cap")

    def __init__(self, example: Example) -> None:
        self.games = engine_at(example)
        self.size = self.games.variant.size

    def square(self, cell: int) -> Square:
        """A cell of the mover's view as a square of side 0's."""
        return self.turned(divmod(cell, self.size), int(self.games.acting[0]))

    def turned(self, square: Square, side: int) -> Square:
        """The square as ``side`` counts it, or back again."""
        row, column = square
        return square if side == 0 else (self.size - 1 - row, self.size - 1 - column)

    def moves(self) -> dict[Move, int]:
        """Legal moves and their actions."""
        moves = {}
        for action in self.games.legal_list()[1].tolist():
            source, k = divmod(action, 2 * (self.size - 1))
            row, column = divmod(source, self.size)
            line = [row * self.size + c for c in range(self.size) if c != column]
            line += [r * self.size + column for r in range(self.size) if r != row]
            moves[self.square(source), self.square(line[k])] = action
        return moves

    def legal_moves(self) -> set[Move]:
        return set(self.moves())

    def play(self, move: Move) -> tuple[str | None, int | None]:
        mover = int(self.games.acting[0])
        outcome = self.games.step(np.array([self.moves()[move]], np.int32))
        return self.ENDINGS[outcome.ended[0]], mover if outcome.reward[0] == 1 else None

    def pieces(self) -> dict[Square, tuple[str, int, bool]]:
        found = {}
        for cell, byte in enumerate(self.games.state.boards[0].tolist()):
            if byte & 15:
                name = NAMES[byte & 15]
                found[divmod(cell, self.size)] = (name, byte >> 4 & 1, bool(byte & 32))
        return found

    def seen(self) -> dict[Square, tuple[str, int, bool]]:
        planes = np.argwhere(self.games.observe()[0]).tolist()
        observation = {(PLANE_NAMES[plane], divmod(cell, self.size)) for plane, cell in planes}
        return pieces_seen(observation, int(self.games.acting[0]), self.turned)


def play_example(example: Example, table: Table) -> None:
    """Play the example and assert all that it says."""
    ending = winner = None
    for number, text in enumerate(example.moves):
        assert ending is None, f"the game ended before {text}: {ending}"
        move = read_move(text)
        assert move in table.legal_moves(), f"move {number + 1}, {text}, is not legal"
        ending, winner = table.play(move)
    assert (ending, winner) == (example.ending, example.winner)
    if ending is None:
        legal = table.legal_moves()
        assert legal >= {read_move(text) for text in example.legal}
        assert not legal & {read_move(text) for text in example.illegal}
        if example.exactly is not None:
            assert legal == {read_move(text) for text in example.exactly}
    if example.after is not None:
        expected = read_board(example.after)[2]
        assert table.pieces() == {s: (p.name, p.side, p.revealed) for s, p in expected.items()}
