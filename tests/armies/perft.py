"""Counts of all legal sequences of moves from a position: what chess programmers call perft.

One missing or surplus move anywhere in the tree changes the counts, so they compare move generation, battles
and endings at once. Everything is counted at each depth: the sequences (a game that has ended has no
successors), the attacks among their last moves, and the games that end there.
"""

from __future__ import annotations

import copy
import tomllib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rule_examples import Example, engine_at, twin_at
from slow_twin import SlowGame

from armies.engine import Games
from armies.variants import action_cells

FILE = Path(__file__).parent / "perft.toml"


@dataclass
class Counts:
    """What is at one depth of the tree."""

    sequences: int = 0
    attacks: int = 0
    endings: int = 0

    def add(self, attack: bool, ending: bool) -> None:
        self.sequences += 1
        self.attacks += attack
        self.endings += ending


@dataclass(frozen=True)
class Tree:
    """A position and its counts: ``counts[d]`` = (sequences, attacks, endings) at depth ``d + 1``."""

    position: Example
    counts: list[list[int]]


def read_trees() -> list[Tree]:
    """All trees of ``perft.toml``; a position's fields are those of ``rules/README.md``."""
    return [
        Tree(Example(source="perft", rule="", **fields), counts)
        for fields in tomllib.loads(FILE.read_text())["tree"]
        for counts in [fields.pop("counts")]
    ]


def count_by_twin(position: Example, depth: int) -> list[list[int]]:
    """Depth first, one copied game per move."""
    levels = [Counts() for _ in range(depth)]

    def visit(game: SlowGame, level: int) -> None:
        for source, target in game.legal_moves():
            after = copy.deepcopy(game)
            after.play(source, target)
            levels[level].add(target in game.pieces, after.ending is not None)
            if after.ending is None and level + 1 < depth:
                visit(after, level + 1)

    visit(twin_at(position), 0)
    return [[level.sequences, level.attacks, level.endings] for level in levels]


def count_by_engine(position: Example, depth: int) -> list[list[int]]:
    """Breadth first, all positions of a level as one batch of games."""
    games = engine_at(position)
    target = action_cells(games.variant)[:, 1]
    levels = []
    for _ in range(depth):
        offsets, actions = games.legal_list()
        games = selected(games, np.repeat(np.arange(games.count), np.diff(offsets)), position)
        cell = np.where(games.acting == 0, target[actions], games.variant.cells - 1 - target[actions])
        attacks = (games.state.boards[np.arange(games.count), cell] > 0).sum()
        ended = games.step(actions).ended > 0
        levels.append([len(actions), int(attacks), int(ended.sum())])
        if ended.all():
            break
        games = selected(games, np.flatnonzero(~ended), position)
    return levels + [[0, 0, 0]] * (depth - len(levels))


def selected(games: Games, rows: np.ndarray, position: Example) -> Games:
    """A batch that consists of copies of the games ``rows``."""
    chosen = Games(games.variant, len(rows), 0, position.battleless_limit, position.ply_cap)
    chosen.load_state_dict({name: array[rows] for name, array in games.state_dict().items()})
    return chosen


def main() -> None:
    """Count every tree again, by engine and twin, and print both beside the table."""
    for tree in read_trees():
        depth = len(tree.counts)
        print(tree.position.name)
        print("  table ", tree.counts)
        print("  engine", count_by_engine(tree.position, depth))
        print("  twin  ", count_by_twin(tree.position, depth), flush=True)


if __name__ == "__main__":
    main()
