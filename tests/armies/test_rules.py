"""The table of rule checks: every drawn example on the engine and on the slow twin.

``python -m pytest tests/armies/test_rules.py -v`` prints it, one line per rule example and player.
"""

from __future__ import annotations

import pytest
from rule_examples import EngineTable, Example, TwinTable, play_example, read_examples

EXAMPLES = read_examples("rules") + read_examples("once_wrong")


@pytest.mark.parametrize("table", [EngineTable, TwinTable], ids=["engine", "slow twin"])
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.source}: {example.name}")
def test_rule(example: Example, table: type[EngineTable | TwinTable]) -> None:
    """The example's moves are legal and lead to what it says."""
    play_example(example, table(example))
