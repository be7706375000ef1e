"""Markdown that says what it is given and nothing else: escaped cells, tables, numbers in the style of the field."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from tabulate import tabulate

UNKNOWN = "unknown"
NOT_SHOWN = "–"  # of a cell in which there is nothing to tell
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~#$])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]+")


def text(value: Any) -> str:
    """``value`` as plain text: one line, nothing in it is read as Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", _CONTROL.sub(" ", str(value)))


def code(value: Any) -> str:
    """``value`` verbatim as inline code: ids, hashes, commands. Escaped instead where a table would break it."""
    line = _CONTROL.sub(" ", str(value)).strip()
    return text(line) if not line or "|" in line or "`" in line else f"`{line}`"


def bold(value: str) -> str:
    return f"**{value}**"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A Markdown table; cells are text that was escaped already, columns in ``right`` hold numbers."""
    align = ["right" if place in right else "left" for place in range(len(headers))]
    return tabulate(rows, headers=headers, tablefmt="pipe", colalign=align if rows else None, disable_numparse=True)


def number(value: float | int | None, digits: int = 0) -> str:
    """With thousands separators and ``digits`` decimals; a number that is not there is said to be unknown."""
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def significant(value: float | None, digits: int = 3) -> str:
    """To ``digits`` significant digits, never in exponential form where that would be longer to read."""
    if value is None:
        return UNKNOWN
    if value == 0:
        return "0"
    if 1e-4 <= abs(value) < 10**digits:
        return f"{value:#.{digits}g}".rstrip(".")
    return f"{value:,.0f}" if 1 <= abs(value) < 1e15 else f"{value:.{digits - 1}e}"


def percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share:.1%}"


def ahead(one: dict[str, Any], unit: str) -> str:
    """After how many of ``unit`` something has paid, ``at once``, or why that is not known; brackets as in a factor."""
    if one["iterations"] is None:
        return text(one["reason"])
    if one["iterations"] == 0:
        return "at once"
    if (one["iterations"] if one["high"] is None else one["high"]) < 1:
        return f"within the first of the {text(unit)}"
    interval = " (no interval)" if one["low"] is None else f" [{significant(one['low'])}, {significant(one['high'])}]"
    return f"{significant(one['iterations'])}{interval} {text(unit)}"


def factor(value: float | None, low: float | None = None, high: float | None = None) -> str:
    """``2.37x [1.79, 3.14]``; without brackets where there is no interval."""
    if value is None:
        return UNKNOWN
    interval = "" if low is None or high is None else f" [{low:.2f}, {high:.2f}]"
    return f"{value:.2f}x{interval}"


def figure(name: str, caption: str) -> str:
    """The figure called ``name`` of the record, with its caption as the text in its place."""
    return f"![{text(caption)}](figures/{name}.svg)"
