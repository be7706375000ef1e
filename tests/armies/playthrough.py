"""Whole games written down ply by ply: what stands, what the mover sees, what is legal, what was played.

``playthroughs/*.txt`` hold one game each. Their moves are drawn here, with a generator of Python's own, so a
file changes only if the rules or the observation do. ``python tests/armies/playthrough.py`` writes all files
anew, from the slow twin; read the difference before you keep it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from rule_examples import LETTERS, EngineTable, Example, TwinTable
from slow_twin import BOARDS, Board, Move, Square

FOLDER = Path(__file__).parent / "playthroughs"
LETTER_OF = {name: letter for letter, name in LETTERS.items()}

GAMES = {  # file: variant, seed, battleless limit, cap on plies
    "quad": ("quad", 1, 30, 100),
    "hexa": ("hexa", 10, 60, 400),
    "hexa-draw": ("hexa", 4, 8, 400),
    "octa": ("octa", 4, 200, 40),
    "barrage": ("barrage", 2, 200, 16),
    "classic": ("classic", 12, 200, 40),
}


def write_playthrough(file: str, table_class: type[EngineTable | TwinTable]) -> str:
    """The game of ``GAMES[file]``, played on the engine or on the twin."""
    name, seed, battleless_limit, ply_cap = GAMES[file]
    board = BOARDS[name]
    generator = random.Random(seed)
    example = Example(
        source=file,
        rule="",
        name=name,
        board=draw_start(board, generator),
        battleless_limit=battleless_limit,
        ply_cap=ply_cap,
    )
    table = table_class(example)
    lines = [f"{name}: battleless limit {battleless_limit}, cap {ply_cap}; moves drawn with seed {seed}"]
    ending, winner, ply = None, None, 0
    while ending is None:
        moves = sorted(table.legal_moves())
        move = draw_move(moves, table.pieces(), generator)
        side = ply % 2
        lines += ["", f"ply {ply + 1}, side {side} to move, who sees the board on the right"]
        lines += beside(draw(board, table.pieces()), draw(board, table.seen()))
        lines += [f"legal: {' '.join(map(spelled, moves))}", f"played: {spelled(move)}"]
        ending, winner = table.play(move)
        ply += 1
    lines += ["", f"after ply {ply}: {ending}, " + ("a draw" if winner is None else f"side {winner} wins")]
    return "\n".join(lines) + "\n"


def draw_start(board: Board, generator: random.Random) -> str:
    """A drawing of the board with both armies in random order."""
    pieces = {}
    for side in range(2):
        army = [name for name, count in board.army.items() for _ in range(count)]
        army += ["empty"] * (board.setup_rows * board.size - len(army))
        generator.shuffle(army)
        for place, name in enumerate(army):
            row, column = divmod(place, board.size)
            if name != "empty":
                pieces[row if side == 0 else board.size - 1 - row, column] = (name, side, False)
    return "\n".join(draw(board, pieces))


def draw_move(moves: list[Move], pieces: dict[Square, tuple[str, int, bool]], generator: random.Random) -> Move:
    """One of the moves, every second time an attack if there is one: so that games come to blows."""
    attacks = [move for move in moves if move[1] in pieces]
    return generator.choice(attacks if attacks and generator.random() < 0.5 else moves)


def draw(board: Board, pieces: dict[Square, tuple[str, int, bool]]) -> list[str]:
    """The board in the letters of ``rules/README.md``, highest row first; ``?`` for a piece of unknown name."""

    def cell(square: Square) -> str:
        if square in board.lakes:
            return "# "
        name, side, revealed = pieces.get(square, ("empty", 1, False))
        letter = LETTER_OF.get(name, "?")
        return (letter.upper() if side == 0 else letter) + ("!" if revealed else " ")

    rows = range(board.size)
    return ["".join(cell((row, column)) for column in rows).rstrip() for row in reversed(rows)]


def beside(left: Iterable[str], right: Iterable[str]) -> list[str]:
    """Two drawings side by side."""
    return [f"  {one:<24}{other}".rstrip() for one, other in zip(left, right, strict=True)]


def spelled(move: Move) -> str:
    """``c2-c3``: from column c, row 2, as :func:`rule_examples.read_move` reads it."""
    return "-".join(f"{'abcdefghijk'[column]}{row + 1}" for row, column in move)


def main() -> None:
    """Write all files anew."""
    FOLDER.mkdir(exist_ok=True)
    for file in GAMES:
        (FOLDER / f"{file}.txt").write_text(write_playthrough(file, TwinTable))


if __name__ == "__main__":
    main()
