"""Plans: which cells to run, with which settings, in which arms, and for how long.

A plan is a TOML file. ``settings`` of a ``[[cells]]`` table may hold lists: every combination is a cell. An
arm is an environment (a preloaded library, a thread limit); each cell runs in each arm unless it names some.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from machinecheck import METHOD_VERSION
from machinecheck.errors import MachineCheckError
from machinecheck.files import to_json

DEFAULT_ARM = "as installed"
CELL_SECONDS = 120.0
KEYS = {"cell_seconds", "total_seconds", "arms", "cells"}
CELL_KEYS = {"kind", "operation", "settings", "arms", "seconds"}


@dataclass(frozen=True)
class Cell:
    """One process to run. ``seconds`` is its time limit; ``environment`` is set over the inherited one."""

    name: str
    kind: str
    operation: str
    settings: dict[str, Any]
    arm: str
    environment: dict[str, str]
    seconds: float

    def digest(self) -> str:
        """Tells whether a result on disk is of this very cell, measured by this method."""
        return hashlib.sha256(to_json([METHOD_VERSION, asdict(self)]).encode()).hexdigest()


@dataclass(frozen=True)
class Plan:
    """All cells in order, and the time for all of them together."""

    cells: list[Cell]
    total_seconds: float | None


def _slug(text: str) -> str:
    """Letters, digits, dot, underscore and hyphen alone, so that a name is a file name everywhere."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text.replace("@", "x").replace(".T", "t"))


def cell_name(kind: str, operation: str, settings: Mapping[str, Any], arm: str) -> str:
    """``correctness-matmul-size_512-form_AxAt``, with the arm's name where it is not the default one."""
    parts = [kind, operation, *(f"{key}_{value}" for key, value in settings.items())]
    if arm != DEFAULT_ARM:
        parts.append(f"arm_{arm}")
    return _slug("-".join(parts))


def _checked(table: Any, allowed: set[str], place: str) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise MachineCheckError(f"{place}: found {table!r}, expected a table")
    unknown = sorted(set(table) - allowed)
    if unknown:
        raise MachineCheckError(f"{place}: found {', '.join(unknown)}, expected {', '.join(sorted(allowed))}")
    return table


def _positive(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise MachineCheckError(f"{place}: found {value!r}, expected a number of seconds above 0")
    return float(value)


def _arms(data: dict[str, Any], place: str) -> dict[str, dict[str, str]]:
    tables = _checked(data.get("arms", {DEFAULT_ARM: {}}), set(data.get("arms", {DEFAULT_ARM: {}})), place)
    arms = {}
    for name, table in tables.items():
        environment = _checked(table, {"environment"}, f"{place}, arm {name!r}").get("environment", {})
        arms[name] = {key: str(value) for key, value in environment.items()}
    return arms


def combinations(settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every combination of the settings whose value is a list; the last one varies fastest."""
    lists = [value if isinstance(value, list) else [value] for value in settings.values()]
    return [dict(zip(settings, chosen, strict=True)) for chosen in itertools.product(*lists)]


def expand(data: dict[str, Any], source: str) -> Plan:
    """A plan's tables as cells; MachineCheckError naming ``source``, the place, found and expected."""
    _checked(data, KEYS, source)
    arms = _arms(data, source)
    limit = _positive(data.get("cell_seconds", CELL_SECONDS), f"{source}, cell_seconds")
    total = data.get("total_seconds")
    cells: list[Cell] = []
    for index, table in enumerate(data.get("cells", []), 1):
        place = f"{source}, cell {index}"
        _checked(table, CELL_KEYS, place)
        for key in ("kind", "operation"):
            if not isinstance(table.get(key), str):
                raise MachineCheckError(f"{place}: found {table.get(key)!r} as {key}, expected a name")
        chosen = table.get("arms", list(arms))
        for arm in chosen:
            if arm not in arms:
                raise MachineCheckError(f"{place}: found arm {arm!r}, expected one of {', '.join(arms)}")
        seconds = _positive(table.get("seconds", limit), f"{place}, seconds")
        for settings, arm in itertools.product(combinations(table.get("settings", {})), chosen):
            name = cell_name(table["kind"], table["operation"], settings, arm)
            cells.append(Cell(name, table["kind"], table["operation"], settings, arm, arms[arm], seconds))
    if not cells:
        raise MachineCheckError(f"{source}: found no cells, expected at least one [[cells]] table")
    names = [cell.name for cell in cells]
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise MachineCheckError(f"{source}: found two cells called {doubled[0]}, expected different ones")
    return Plan(cells, None if total is None else _positive(total, f"{source}, total_seconds"))


def shipped() -> list[str]:
    """Names of the plans that come with this package."""
    folder = files("machinecheck") / "plans"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def read_plan(name: str) -> Plan:
    """The plan in the file ``name``, or the shipped plan of that name."""
    if name in shipped():
        text = (files("machinecheck") / "plans" / f"{name}.toml").read_text(encoding="utf-8")
    else:
        try:
            text = Path(name).read_text(encoding="utf-8")
        except OSError as error:
            expected = f"expected a file or one of {', '.join(shipped())}"
            raise MachineCheckError(f"plan: found {name!r} ({error.strerror}), {expected}") from None
    try:
        return expand(tomllib.loads(text), name)
    except tomllib.TOMLDecodeError as error:
        raise MachineCheckError(f"{name}: expected TOML, found an error: {error}") from None
