"""The game of armies a second time: slow, plain, one game at a time.

Written from the text of the rules alone, without numba or numpy; it shares nothing with the engine, not even
the table of variants. Squares are (row, column) in the view of side 0; row 0 is the back row of side 0.
"""

from __future__ import annotations

from dataclasses import dataclass

Square = tuple[int, int]
Move = tuple[Square, Square]

RANKS = {
    "spy": 1,
    "scout": 2,
    "miner": 3,
    "sergeant": 4,
    "lieutenant": 5,
    "captain": 6,
    "major": 7,
    "colonel": 8,
    "general": 9,
    "marshal": 10,
}
NAMES = ["empty", *RANKS, "bomb", "flag"]

TEN_BY_TEN_LAKES = {(4, 2), (4, 3), (5, 2), (5, 3), (4, 6), (4, 7), (5, 6), (5, 7)}
SMALL_ARMY = {"marshal": 1, "general": 1, "miner": 1, "scout": 2, "spy": 1, "bomb": 1, "flag": 1}
CLASSIC_ARMY = {
    "marshal": 1,
    "general": 1,
    "colonel": 2,
    "major": 3,
    "captain": 4,
    "lieutenant": 4,
    "sergeant": 4,
    "miner": 5,
    "scout": 8,
    "spy": 1,
    "bomb": 6,
    "flag": 1,
}


@dataclass(frozen=True)
class Board:
    """A variant: side length, lakes, army, rows of a set-up."""

    size: int
    lakes: frozenset[Square]
    army: dict[str, int]
    setup_rows: int


BOARDS = {
    "classic": Board(10, frozenset(TEN_BY_TEN_LAKES), CLASSIC_ARMY, 4),
    "barrage": Board(10, frozenset(TEN_BY_TEN_LAKES), SMALL_ARMY, 4),
    "octa": Board(8, frozenset({(3, 2), (4, 2), (3, 5), (4, 5)}), SMALL_ARMY, 3),
    "hexa": Board(6, frozenset({(2, 1), (3, 4)}), SMALL_ARMY, 2),
    "quad": Board(4, frozenset(), {"marshal": 1, "scout": 1, "spy": 1, "flag": 1}, 1),
}


@dataclass(eq=False)  # two pieces of one kind are two pieces
class Piece:
    """A piece; ``revealed`` and ``moved`` are what the other side has seen."""

    name: str
    side: int
    revealed: bool = False
    moved: bool = False


@dataclass(frozen=True)
class Leg:
    """A move as the two-square rule sees it: who moved, along what, over which borders of squares."""

    piece: Piece
    along_row: bool
    borders: frozenset[frozenset[Square]]


class SlowGame:
    """One game. ``winner`` is 0, 1 or None; ``ending`` is None while the game goes on."""

    def __init__(self, board: Board, setups: list[list[str]], battleless_limit: int, ply_cap: int) -> None:
        """``setups[side]`` names what stands on the owner's squares, from its back row, in its view."""
        self.board = board
        self.battleless_limit = battleless_limit
        self.ply_cap = ply_cap
        self.pieces: dict[Square, Piece] = {}
        for side, setup in enumerate(setups):
            for place, name in enumerate(setup):
                if name != "empty":
                    square = (place // board.size, place % board.size)
                    self.pieces[self.turned(square, side)] = Piece(name, side)
        self.side = 0
        self.plies = 0
        self.plies_without_battle = 0
        self.legs: dict[int, list[Leg]] = {0: [], 1: []}
        self.moves: list[Move] = []
        self.ending: str | None = None
        self.winner: int | None = None

    def turned(self, square: Square, side: int) -> Square:
        """The square as ``side`` counts it, or back again."""
        if side == 0:
            return square
        last = self.board.size - 1
        return last - square[0], last - square[1]

    def borders(self, source: Square, target: Square) -> frozenset[frozenset[Square]]:
        """The borders between neighbouring squares that a straight move crosses."""
        row_step = (target[0] > source[0]) - (target[0] < source[0])
        column_step = (target[1] > source[1]) - (target[1] < source[1])
        crossed = set()
        here = source
        while here != target:
            ahead = (here[0] + row_step, here[1] + column_step)
            crossed.add(frozenset({here, ahead}))
            here = ahead
        return frozenset(crossed)

    def breaks_two_square_rule(self, source: Square, target: Square) -> bool:
        """Whether the move would cross a border that the piece crossed on each of its last three moves."""
        piece = self.pieces[source]
        legs = self.legs[piece.side]
        last_three = legs[-3:]
        if len(last_three) < 3:
            return False
        along_row = source[0] == target[0]
        if any(leg.piece is not piece or leg.along_row != along_row for leg in last_three):
            return False
        worn = last_three[0].borders & last_three[1].borders & last_three[2].borders
        return bool(worn & self.borders(source, target))

    def reachable_moves(self) -> set[Move]:
        """All moves of the side to move but for the two-square rule; squares in the view of side 0."""
        moves = set()
        for source, piece in self.pieces.items():
            if piece.side != self.side or piece.name in ("bomb", "flag"):
                continue
            for row_step, column_step in ((0, 1), (0, -1), (1, 0), (-1, 0)):
                target = source
                while True:
                    target = (target[0] + row_step, target[1] + column_step)
                    if not (0 <= target[0] < self.board.size and 0 <= target[1] < self.board.size):
                        break
                    if target in self.board.lakes:
                        break
                    other = self.pieces.get(target)
                    if other is not None and other.side == self.side:
                        break
                    moves.add((source, target))
                    if other is not None or piece.name != "scout":
                        break
        return moves

    def legal_moves(self) -> set[Move]:
        """All legal moves of the side to move; squares in the view of side 0."""
        return {move for move in self.reachable_moves() if not self.breaks_two_square_rule(*move)}

    def attack(self, attacker: Piece, defender: Piece) -> str:
        """Who stays: "attacker", "defender" or "nobody"."""
        if defender.name == "flag":
            return "attacker"
        if defender.name == "bomb":
            return "attacker" if attacker.name == "miner" else "defender"
        if attacker.name == "spy" and defender.name == "marshal":
            return "attacker"
        difference = RANKS[attacker.name] - RANKS[defender.name]
        if difference == 0:
            return "nobody"
        return "attacker" if difference > 0 else "defender"

    def play(self, source: Square, target: Square) -> None:
        """Make a move, one of ``legal_moves()``, and judge whether the game has ended."""
        piece = self.pieces.pop(source)
        piece.moved = True
        if abs(source[0] - target[0]) + abs(source[1] - target[1]) > 1:
            piece.revealed = True
        along_row = source[0] == target[0]
        self.legs[self.side].append(Leg(piece, along_row, self.borders(source, target)))
        self.moves.append((source, target))
        self.plies += 1
        self.plies_without_battle += 1
        defender = self.pieces.get(target)
        if defender is None:
            self.pieces[target] = piece
        else:
            self.plies_without_battle = 0
            piece.revealed = defender.revealed = True
            stays = self.attack(piece, defender)
            if stays == "attacker":
                self.pieces[target] = piece
            elif stays == "nobody":
                del self.pieces[target]
        self.side = 1 - self.side
        if defender is not None and defender.name == "flag":
            self.ending, self.winner = "flag captured", piece.side
        elif not self.legal_moves():
            self.ending, self.winner = "no legal moves", piece.side
        elif self.plies_without_battle >= self.battleless_limit:
            self.ending = "battleless limit"
        elif self.plies >= self.ply_cap:
            self.ending = "ply cap"

    def action(self, move: Move) -> int:
        """The number of a move of the side to move: source × 2(S − 1) + place among its lines' cells."""
        source, target = (self.turned(square, self.side) for square in move)
        size = self.board.size
        row = [(source[0], column) for column in range(size) if column != source[1]]
        column = [(row_, source[1]) for row_ in range(size) if row_ != source[0]]
        return (source[0] * size + source[1]) * 2 * (size - 1) + (row + column).index(target)

    def observation(self) -> set[tuple[str, Square]]:
        """What the side to move sees: (name of a plane, square in its own view)."""
        seen = set()
        for square, piece in self.pieces.items():
            here = self.turned(square, self.side)
            if piece.side == self.side:
                seen.add((f"own {piece.name}", here))
                if piece.revealed:
                    seen.add(("own revealed", here))
            elif piece.revealed:
                seen.add((f"enemy {piece.name}", here))
            else:
                seen.add(("enemy hidden", here))
            if piece.moved:
                seen.add(("own moved" if piece.side == self.side else "enemy moved", here))
        for ago, (source, target) in enumerate(reversed(self.moves[-4:]), start=1):
            seen.add((f"source {ago} plies ago", self.turned(source, self.side)))
            seen.add((f"target {ago} plies ago", self.turned(target, self.side)))
        return seen

    def hidden_counts(self) -> list[int]:
        """Numbers of the other side's hidden pieces, spy first, flag last."""
        hidden = [p.name for p in self.pieces.values() if p.side != self.side and not p.revealed]
        return [hidden.count(name) for name in NAMES[1:]]
