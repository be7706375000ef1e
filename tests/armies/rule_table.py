"""Prints the table of rule checks: every rule of the game, how it was checked just now, and the result.

``make rules`` runs it. The checks are those of the tests: drawn examples, played by the engine and by the slow
twin; random play of the engine beside the twin, compared at every position; trees of all sequences of moves;
whole games kept as text. The exit code is 1 if anything disagrees.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable

from beside_twin import play_at_length
from perft import count_by_engine, read_trees
from playthrough import FOLDER, GAMES, write_playthrough
from rule_examples import EngineTable, TwinTable, play_example, read_examples
from rules_met import RULES
from tabulate import tabulate

from armies.variants import VARIANTS

AGREE = "agree"


def check(what: Callable[[], object]) -> str:
    """AGREE, or the first line of what is wrong."""
    try:
        what()
    except AssertionError as error:
        return f"WRONG: {str(error).splitlines()[0] if str(error) else 'an assertion failed'}"
    return AGREE


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--positions", type=int, default=20_000, help="of random play per variant (default: 20000)")
    positions = parser.parse_args().positions

    met: Counter[str] = Counter()
    games = []
    for name in VARIANTS:
        result = check(lambda name=name: met.update(play_at_length(name, positions)))  # type: ignore[misc]
        games.append((f"random play beside the twin: {name}", f"{positions:,} positions", result))
    for tree in read_trees():
        counted = count_by_engine(tree.position, len(tree.counts))
        result = AGREE if counted == tree.counts else f"WRONG: found {counted}, expected {tree.counts}"
        sequences = sum(row[0] for row in tree.counts)
        games.append((f"all sequences of moves: {tree.position.name}", f"{sequences:,} sequences", result))
    for file in GAMES:
        text = (FOLDER / f"{file}.txt").read_text()
        same = all(write_playthrough(file, table) == text for table in (EngineTable, TwinTable))
        plies = text.count("played: ")
        games.append((f"game kept as text: {file}", f"{plies} plies", AGREE if same else "WRONG: the text differs"))

    examples = read_examples("rules") + read_examples("once_wrong")
    rules = []
    for rule in RULES:
        of_rule = [example for example in examples if example.rule == rule]
        results = [
            check(lambda example=example, table=table: play_example(example, table(example)))  # type: ignore[misc]
            for example in of_rule
            for table in (EngineTable, TwinTable)
        ]
        wrong = [result for result in results if result != AGREE]
        result = wrong[0] if wrong else AGREE if of_rule else "WRONG: no example"
        rules.append((rule, len(of_rule), f"{met[rule]:,}", result))

    print(tabulate(rules, ("rule", "drawn examples", "plies that met it", "engine and twin"), tablefmt="github"))
    print()
    print(tabulate(games, ("check of whole games", "compared", "engine and twin"), tablefmt="github"))
    return int(any(row[-1] != AGREE for row in [*rules, *games]))


if __name__ == "__main__":
    sys.exit(main())
