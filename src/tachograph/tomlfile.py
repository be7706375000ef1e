"""A TOML file that a person has written: what TOML rules out, and what no command could hold, is refused."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.files import read_bounded

MAX_TOML_BYTES = 1024 * 1024
WHAT = {"studies": "a study", "trainers": "a trainer", "checkers": "a checker"}  # by folder, for an empty file


def read_toml(path: Path) -> dict[str, Any]:
    """A TOML file as a dictionary. Raises TachographError if it is missing, too large or not TOML.

    Whole numbers have 64 bits (TOML 1.0), and no text holds a NUL, at which a command or a variable would end.
    """
    try:
        text = read_bounded(path, MAX_TOML_BYTES).decode()
        if not text.strip():
            raise TachographError(f"{path}: the file is empty, expected {WHAT.get(path.parent.name, 'a TOML file')}")
        found = tomllib.loads(text)
        for place, value in _leaves(found, ""):
            if isinstance(value, str) and "\0" in value:
                raise TachographError(
                    f"{path}: {place}: found {value[:60]!r}, expected a text without the character NUL"
                )
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise TachographError(
                    f"{path}: {place}: found a whole number of more than 64 bits, expected a smaller one"
                )
    except FileNotFoundError:
        raise TachographError(f"{path}: the file is not there") from None
    except RecursionError:
        raise TachographError(f"{path}: cannot be read as TOML: nested too deeply") from None
    except (OSError, ValueError) as error:  # also what is no UTF-8, no TOML, or a number of too many digits
        raise TachographError(f"{path}: cannot be read as TOML: {error}") from None
    return found


def _leaves(value: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Every key and every value that is no table or list, with its place."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield place or "the whole file", key
            yield from _leaves(inner, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _leaves(inner, f"{place}[{index}]")
    else:
        yield place, value
