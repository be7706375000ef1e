"""The table of the fault suite: one row per fault, with what became of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tabulate import tabulate


@dataclass
class Row:
    """One fault, as its test describes it. ``outcome`` is what the test saw."""

    fault: str = ""
    how: str = ""
    outcome: str = ""

    def as_properties(self) -> list[tuple[str, object]]:
        """For the report of a test, which may come from another process."""
        return [("fault", self.fault), ("how", self.how), ("outcome", self.outcome)]


@dataclass(frozen=True)
class Result:
    """A row after its test: ``state`` is ``passed``, ``failed`` or ``skipped`` with its reason."""

    row: Row
    state: str
    reason: str = ""


def table(results: Iterable[Result]) -> str:
    """One line per fault; the tries of a repeated one are counted together."""
    groups: dict[tuple[str, str], list[Result]] = {}
    for one in results:
        groups.setdefault((one.row.fault, one.row.how), []).append(one)
    lines = []
    for (fault, how), tries in groups.items():
        survived = sum(one.state == "passed" for one in tries)
        skipped = [one for one in tries if one.state == "skipped"]
        outcomes = list(dict.fromkeys(one.row.outcome for one in tries if one.state == "passed"))
        if skipped:
            lines.append([fault, how, f"NOT RUN: {skipped[0].reason}", "", "not run"])
            continue
        outcome = "; ".join(outcomes) if survived == len(tries) else "the test failed, see above"
        lines.append([fault, how, outcome, f"{survived} of {len(tries)}", "yes" if survived == len(tries) else "NO"])
    headers = ["fault", "injected how", "outcome", "survived", "nothing lost"]
    return tabulate(lines, headers=headers, tablefmt="github", disable_numparse=True)
