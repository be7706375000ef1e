"""Drawn examples of every rule, and every battle, on the engine and on the slow twin.

``make rules`` prints the table of rule checks.
"""

from __future__ import annotations

import pytest
from rule_examples import LETTERS, EngineTable, Example, TwinTable, play_example, read_examples
from rules_met import RULES
from slow_twin import NAMES, RANKS

EXAMPLES = read_examples("rules") + read_examples("once_wrong")
LETTER_OF = {name: letter for letter, name in LETTERS.items()}


@pytest.mark.parametrize("table", [EngineTable, TwinTable], ids=["engine", "slow twin"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.source}: {example.name}")
def test_rule(example: Example, table: type[EngineTable | TwinTable]) -> None:
    """The example's moves are legal and lead to what it says."""
    play_example(example, table(example))


def test_every_rule_has_an_example() -> None:
    """No rule is without an example of its own, and no example is of an unknown rule."""
    assert {example.rule for example in EXAMPLES} == set(RULES)


@pytest.mark.parametrize("defender", NAMES[1:])
@pytest.mark.parametrize("attacker", RANKS)
def test_every_battle(attacker: str, defender: str) -> None:
    """Each of the 120 attacks leaves the same pieces, and ends the game or not, on engine and twin."""
    board = f"""
. . . . . {"." if defender == "flag" else "f"}
. . . . . t
. . {LETTER_OF[defender]} . . .
. . {LETTER_OF[attacker].upper()} . . .
. . . . . T
F . . . . .
"""
    example = Example(source="", rule="", name="", board=board)
    engine, twin = EngineTable(example), TwinTable(example)
    ending = twin.play(((2, 2), (3, 2)))
    assert engine.play(((2, 2), (3, 2))) == ending == (("flag captured", 0) if defender == "flag" else (None, None))
    if defender != "flag":  # the engine has started the next game by now
        assert engine.pieces() == twin.pieces()
