"""A fact that could not be found out: ``null`` with a reason, never 0 and never a guess."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Unknown:
    """Stands in a tree of facts where the value could not be read."""

    reason: str


def separate(facts: Any, place: str = "") -> tuple[Any, dict[str, str]]:
    """Split a tree of facts into plain data, with ``None`` for unknown ones, and {dotted place: reason}.

    A ``None`` that came from a library gets a reason too, so that every null has one.
    """
    if isinstance(facts, Unknown):
        return None, {place: facts.reason}
    if facts is None:
        return None, {place: "its source gives none"}
    reasons: dict[str, str] = {}
    if isinstance(facts, dict):
        plain: Any = {}
        for key, value in facts.items():
            plain[key], found = separate(value, f"{place}.{key}" if place else str(key))
            reasons |= found
        return plain, reasons
    if isinstance(facts, list):
        plain = []
        for index, value in enumerate(facts):
            item, found = separate(value, f"{place}[{index}]")
            plain.append(item)
            reasons |= found
        return plain, reasons
    return facts, reasons
