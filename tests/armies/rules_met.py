"""The rules by name, and which of them a ply of a game exercises: says what random play has covered."""

from __future__ import annotations

from slow_twin import Leg, Move, SlowGame

# moving
ONE_SQUARE = "one square along a row or column"
NEVER_MOVE = "bombs and flags never move"
IN_THE_WAY = "lakes, own pieces and the edge are in the way"
FAR = "a scout moves any number of empty squares"
FAR_REVEALS = "a far move reveals the scout"
STRIKES = "a scout strikes from afar"
# battles
HIGHER_WINS = "the higher rank wins and takes the square"
DEFENDER_STAYS = "a winning defender stays, revealed"
BOTH_FALL = "equal ranks both fall"
SPY_AND_MARSHAL = "spy and marshal, whichever attacks"
MINER_AND_BOMB = "a miner takes a bomb"
BOMB_STAYS = "a bomb stops any other attacker and stays"
# the two-square rule
FOURTH_CROSSING = "two squares: no fourth crossing in a row"
INTERVALS = "two squares: a scout crosses every border on its way"
ANEW = "two squares: what starts the count anew"
ATTACKS_BOUND = "two squares: attacks are bound, survivors keep their count"
# endings
FLAG_CAPTURED = "a captured flag wins"
NO_LEGAL_MOVES = "a side without a legal move loses"
BATTLELESS = "the battleless limit: a draw"
PLY_CAP = "the cap on plies: a draw"
ORDER = "which of two endings counts"

EVERYWHERE = (NEVER_MOVE, IN_THE_WAY)  # every comparison of legal moves looks at these
RULES = (
    ONE_SQUARE, *EVERYWHERE, FAR, FAR_REVEALS, STRIKES,
    HIGHER_WINS, DEFENDER_STAYS, BOTH_FALL, SPY_AND_MARSHAL, MINER_AND_BOMB, BOMB_STAYS,
    FOURTH_CROSSING, INTERVALS, ANEW, ATTACKS_BOUND,
    FLAG_CAPTURED, NO_LEGAL_MOVES, BATTLELESS, PLY_CAP, ORDER,
)  # fmt: skip
ENDINGS = {
    "flag captured": FLAG_CAPTURED,
    "no legal moves": NO_LEGAL_MOVES,
    "battleless limit": BATTLELESS,
    "ply cap": PLY_CAP,
}


def worn(legs: list[Leg]) -> bool:
    """Whether some border was crossed on each of the side's last three moves by one piece."""
    last = legs[-3:]
    one_piece = len(last) == 3 and all(leg.piece is last[0].piece for leg in last)
    return one_piece and bool(last[0].borders & last[1].borders & last[2].borders)


def rules_of_position(game: SlowGame) -> set[str]:
    """The rules that decide which moves are legal now."""
    met = set(EVERYWHERE)
    for source, target in game.reachable_moves():
        if game.breaks_two_square_rule(source, target):
            met.add(INTERVALS if game.pieces[source].name == "scout" else FOURTH_CROSSING)
            if target in game.pieces:
                met.add(ATTACKS_BOUND)
    return met


def rules_of_move(game: SlowGame, move: Move) -> set[str]:
    """The rules that decide what a legal move does to the board, asked before it is played."""
    source, target = move
    piece, defender = game.pieces[source], game.pieces.get(target)
    far = len(game.borders(source, target)) > 1
    met = {FAR, FAR_REVEALS} if far else {ONE_SQUARE}
    legs = game.legs[game.side]
    if worn(legs) and (legs[-1].piece is not piece or legs[-1].along_row != (source[0] == target[0])):
        met.add(ANEW)
    if defender is None:
        return met
    if far:
        met.add(STRIKES)
    if {piece.name, defender.name} == {"spy", "marshal"}:
        met.add(SPY_AND_MARSHAL)
    elif defender.name == "bomb":
        met.add(MINER_AND_BOMB if piece.name == "miner" else BOMB_STAYS)
    elif defender.name != "flag":
        stays = game.attack(piece, defender)
        met.add({"attacker": HIGHER_WINS, "defender": DEFENDER_STAYS, "nobody": BOTH_FALL}[stays])
        defenders_legs = game.legs[defender.side]
        if stays == "defender" and worn(defenders_legs) and defenders_legs[-1].piece is defender:
            met.add(ATTACKS_BOUND)
    return met


def rules_of_ending(game: SlowGame) -> set[str]:
    """The rules that decide whether and how the game has ended, asked after a move."""
    if game.ending is None:
        return set()
    at_once = [
        game.ending == "flag captured",
        not game.legal_moves(),
        game.plies_without_battle >= game.battleless_limit,
        game.plies >= game.ply_cap,
    ]
    return {ENDINGS[game.ending]} | ({ORDER} if sum(at_once) > 1 else set())
