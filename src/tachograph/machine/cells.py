"""The cells of a machine study: every combination of settings, place and arm, each of which is one process."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tachograph.errors import TachographError
from tachograph.models.base import ID_PATTERN, Scalar
from tachograph.models.cells import CellGroup, Environment, MachineChecks
from tachograph.models.checker import Checker, Fault
from tachograph.models.machine import MachineStudy
from tachograph.models.sentences import meant

PROBE = "probe"  # the cell that says what is in the machine; it stands before all others


@dataclass(frozen=True)
class Cell:
    """One process. ``environment`` is that of its arm and of the fault planted in it; ``seconds`` its time limit."""

    name: str
    kind: str
    operation: str
    settings: dict[str, Scalar]
    place: str
    arm: str
    fault: str | None
    environment: dict[str, str]
    seconds: float


NORM = "as-installed"  # the arm of cells that no study gives an environment


def expand(
    groups: Sequence[CellGroup], arms: Mapping[str, Environment], norm: str, faults: Mapping[str, Fault], seconds: float
) -> list[Cell]:
    """All cells in registered order, without the probe. ``seconds`` is the time limit where a group names none.

    Settings and arms are taken in the order of their names (the arm ``norm`` first): a registration, which is
    canonical JSON, keeps no other.
    """
    ordered = {name: arms[name] for name in [norm, *sorted(arms.keys() - {norm})]}
    return [cell for group in groups for cell in _of_group(group, ordered, faults, group.seconds or seconds)]


def study_cells(study: MachineStudy, checker: Checker) -> list[Cell]:
    """The cells of a machine study, the probe first."""
    probe = Cell(PROBE, PROBE, PROBE, {}, "device", study.norm, None, {}, study.cell_seconds)
    return [probe, *expand(study.cells, study.arms, study.norm, checker.faults, study.cell_seconds)]


def preflight_cells(checks: MachineChecks) -> list[Cell]:
    """What a training study asks of the machine before it compares anything; nothing is planted there."""
    return expand(checks.cells, {NORM: Environment(title="as installed")}, NORM, {}, checks.cell_seconds)


def check_groups(groups: Sequence[CellGroup], checker: Checker, file: str) -> None:
    """Raise TachographError naming ``file`` and place for what the checker cannot measure."""
    for index, group in enumerate(groups):
        _check(group, checker, f"{file}: cells[{index}]")


def check_formats(formats: Mapping[str, Iterable[str]], checker: Checker, file: str) -> None:
    """Raise TachographError for a number format that no operation of the checker has: what is given for it would do
    nothing. ``formats`` are those named at each place.
    """
    known = checker.settings["dtype"].choices if "dtype" in checker.settings else None
    for place, names in formats.items():
        for name in names:
            if known is not None and name not in known:
                expected = f"{', '.join(known)}{meant(name, known)}"
                raise TachographError(f"{file}: {place}.{name}: unknown number format, expected one of: {expected}")


def check_arms(study: MachineStudy, checker: Checker, file: str) -> None:
    """Raise TachographError for an arm that no cell uses, and for one that plants a fault behind the self-test."""
    used = {cell.arm for cell in study_cells(study, checker)}
    variables = {variable for fault in checker.faults.values() for variable in fault.environment}
    for name, arm in study.arms.items():
        if name not in used:
            raise TachographError(f"{file}: arms.{name}: no cell uses it, expected it in `arms` of a cell")
        for variable in arm.environment.keys() & variables:
            raise TachographError(
                f"{file}: arms.{name}.environment.{variable}: found a variable by which {checker.name} plants faults, "
                "expected those in `faults` of a cell"
            )


def check_names(cells: Sequence[Cell], file: str) -> None:
    """Raise TachographError for a name that is too long for a file, or that stands twice."""
    for cell in cells:
        if not re.fullmatch(ID_PATTERN, cell.name):
            raise TachographError(f"{file}: cells: the name {cell.name!r} is longer than 64 characters; shorten `name`")
    names = [cell.name for cell in cells]
    doubled = next((name for name in names if names.count(name) > 1), None)
    if doubled:
        raise TachographError(f"{file}: cells: found two cells called {doubled!r}, expected different names")


def _check(group: CellGroup, checker: Checker, place: str) -> None:
    operations = checker.operations.get(group.kind, {})
    if group.operation not in operations:
        known = ", ".join(operations) or "none"
        raise TachographError(f"{place}: operation: found {group.operation!r}, expected one of: {known}")
    for setting, given in group.settings.items():
        if setting not in operations[group.operation]:
            known = ", ".join(operations[group.operation])
            raise TachographError(f"{place}: settings.{setting}: unknown setting, {group.operation} has: {known}")
        quantity = checker.quantity(group.kind, group.operation, setting)
        for value in given if isinstance(given, list) else [given]:
            wrong = quantity.wrong(value) if quantity else None
            if wrong:
                raise TachographError(f"{place}: settings.{setting}: {wrong}")
    for fault in group.faults:
        if fault not in checker.faults:
            raise TachographError(f"{place}: faults: found {fault!r}, expected one of: {', '.join(checker.faults)}")


def _of_group(
    group: CellGroup, arms: Mapping[str, Environment], faults: Mapping[str, Fault], seconds: float
) -> Iterator[Cell]:
    norm = next(iter(arms))
    chosen = group.arms or ([norm] if group.faults else list(arms))
    given = dict(sorted(group.settings.items()))
    lists = [value if isinstance(value, list) else [value] for value in given.values()]
    varying = [name for name, value in given.items() if isinstance(value, list)]
    for values in itertools.product(*lists):
        settings = dict(zip(given, values, strict=True))
        planted: list[str | None] = [*group.faults] or [None]
        for place, arm, fault in itertools.product(group.on, chosen, planted):
            parts = [group.name, *(_word(name, settings[name]) for name in varying)]
            parts += [place] if len(group.on) > 1 else []
            parts += [arm] if arm != norm else []
            parts += [_slug(fault)] if fault else []
            environment = dict(arms[arm].environment)
            if fault:
                environment |= faults[fault].environment
            yield Cell("-".join(parts), group.kind, group.operation, settings, place, arm, fault, environment, seconds)


def _word(name: str, value: Scalar) -> str:
    if isinstance(value, bool):
        return _slug(name if value else f"no-{name}")
    return _slug(str(value))


def _slug(text: str) -> str:
    """Letters, digits, underscore and hyphen: ``A@A.T`` becomes ``AxAt``."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text.replace("@", "x").replace(".T", "t"))
