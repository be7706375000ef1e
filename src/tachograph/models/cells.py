"""Cells as a study file asks for them: what is measured about the machine, one process each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tachograph.models.base import EnvironmentName, Identifier, Model, Scalar, Seconds, Text
from tachograph.models.bounds import Bounds

CellKind = Literal["correctness", "repeatability", "throughput", "soak"]
Place = Literal["device", "host"]


class Environment(Model):
    """An arm of a machine study: the same cells with other environment variables, such as a preloaded library."""

    title: Text
    environment: dict[EnvironmentName, str] = {}


class CellGroup(Model):
    """Cells that differ in the settings given as lists: every combination is one cell, one process."""

    name: Identifier = Field(description="the cells' names begin with this")
    kind: CellKind
    operation: Identifier
    settings: dict[Identifier, Scalar | Annotated[list[Scalar], Field(min_length=1)]] = {}
    on: Annotated[list[Place], Field(min_length=1)] = Field(
        default=["device"], description="device: the study's; host: the processor beside it"
    )
    arms: Annotated[list[Identifier], Field(min_length=1)] | None = Field(default=None, description="all unless named")
    faults: list[Text] = Field(default=[], description="plant these, one cell each; each must be caught")
    seconds: Seconds | None = Field(default=None, description="time limit of a cell; the study's unless given")


class MachineChecks(Model):
    """The part of a training study's preflight that asks the machine: may its results be a reference at all?"""

    checker: Identifier
    cell_seconds: Seconds = 30.0
    bounds: Bounds = Bounds()
    cells: list[CellGroup] = Field(min_length=1)

    @model_validator(mode="after")
    def _sound(self) -> MachineChecks:
        for index, group in enumerate(self.cells):
            if group.faults or group.arms:
                raise ValueError(f"cells[{index}]: found faults or arms, expected them in a machine study only")
        return self
