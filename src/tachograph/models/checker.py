"""The checker file: the program that measures one thing about a machine per process."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from tachograph.models.base import EnvironmentName, Identifier, Model, Text
from tachograph.models.cells import CellKind
from tachograph.models.quantity import Quantity
from tachograph.models.trainer import PLACEHOLDER, Code

CELL_PLACEHOLDERS = frozenset({"python", "kind", "operation", "device", "out"})
PROBE_PLACEHOLDERS = frozenset({"python", "out"})


class Fault(Model):
    """A fault that the checker can plant into itself, and what must become of a cell that holds it."""

    environment: dict[EnvironmentName, str] = Field(min_length=1)
    about: Text | None = Field(default=None, description="what is planted, and what of it is simulated")
    caught: Literal["FAIL", "crashed", "time limit", "kernel failure"] = Field(
        description="the verdict of the cell, or how its process ends"
    )


class Checker(Model):
    """``config/checkers/NAME.toml``: commands, what they can measure, and the code that determines it."""

    schema_: Literal["checker/1"] = Field(alias="schema")
    name: Identifier
    title: Text
    about: Text
    cell: list[Text] = Field(min_length=1, description="measures one cell; its settings follow as --name=value")
    probe: list[Text] = Field(min_length=1, description="writes what is in this machine to {out}, as JSON")
    clear_environment: list[Text] = []
    code: Code
    operations: dict[CellKind, dict[Identifier, list[Identifier]]] = Field(
        description="settings of each operation, by kind of cell"
    )
    settings: dict[Text, Quantity] = Field(
        default={}, description="what a setting may be, by its name, or as KIND.OPERATION.NAME for one operation"
    )
    faults: dict[Text, Fault] = {}

    def quantity(self, kind: CellKind, operation: str, setting: str) -> Quantity | None:
        """What a setting of an operation may be; None where the file does not say."""
        return self.settings.get(f"{kind}.{operation}.{setting}", self.settings.get(setting))

    @model_validator(mode="after")
    def _known_settings(self) -> Checker:
        names = {
            word
            for kind, operations in self.operations.items()
            for operation, settings in operations.items()
            for setting in settings
            for word in (setting, f"{kind}.{operation}.{setting}")
        }
        unknown = next((name for name in self.settings if name not in names), None)
        if unknown is not None:
            raise ValueError(f"settings.{unknown}: expected the name of a setting that an operation lists")
        return self

    @model_validator(mode="after")
    def _commands(self) -> Checker:
        for name, command, known in (
            ("cell", self.cell, CELL_PLACEHOLDERS),
            ("probe", self.probe, PROBE_PLACEHOLDERS),
        ):
            used = {match for part in command for match in PLACEHOLDER.findall(part)}
            if used != known:
                raise ValueError(f"{name}: found the placeholders {sorted(used)}, expected all of {sorted(known)}")
        return self
