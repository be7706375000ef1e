"""The study file of a machine study: is this device right, does it repeat, how fast is it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tachograph.models.base import Identifier, Model, PositiveNumber, Seconds, Text
from tachograph.models.bounds import Bounds, Share
from tachograph.models.cells import CellGroup, Environment
from tachograph.models.study import Registration


class Quiet(Model):
    """When the host counts as quiet. A rate that was measured on a busier one is a lower bound, and held back."""

    foreign_share: Share = Field(default=0.05, description="of the processors, used by other programs, mean of a cell")
    stolen_share: Share = Field(default=0.01, description="of the processors, taken by the hypervisor, mean of a cell")


class MachineStudy(Model):
    """``config/studies/NAME.toml`` of a machine study, as it is registered."""

    schema_: Literal["machine/1"] = Field(alias="schema")
    name: Identifier
    title: Text
    checker: Identifier
    device: Literal["cpu", "gpu", "any"] = "any"
    threads: Annotated[int, Field(ge=1, le=1024)] | None = Field(
        default=None, description="CPU threads that a cell starts with; all usable processors unless given"
    )
    cell_seconds: Seconds = Field(default=120.0, description="time limit of a cell")
    total_seconds: Seconds | None = Field(
        default=None, description="time for all cells together; later cells are then recorded as not run"
    )
    registration: Registration
    quiet: Quiet = Quiet()
    bounds: Bounds = Field(default=Bounds(), description="what the numbers of the cells are held to")
    peaks: dict[Text, dict[Identifier, PositiveNumber]] = Field(
        default={},
        description="declared peaks in TFLOP/s by the name of the device and number format; a rate of that device "
        "above it is rejected",
    )
    norm: Identifier = Field(default="as-installed", description="the arm that is the machine as it is used")
    arms: dict[Identifier, Environment] = Field(
        default={"as-installed": Environment(title="as installed")}, min_length=1, description="environments"
    )
    cells: list[CellGroup] = Field(min_length=1)

    def named_formats(self) -> dict[str, list[str]]:
        """The number formats that the file names, by the place where it does."""
        peaks = {f'peaks."{device}"': list(by_format) for device, by_format in self.peaks.items()}
        return {**peaks, **self.bounds.named_formats()}

    @model_validator(mode="after")
    def _known_arms(self) -> MachineStudy:
        if self.norm not in self.arms:
            raise ValueError(f"norm: found {self.norm!r}, expected one of the arms {', '.join(self.arms)}")
        for index, group in enumerate(self.cells):
            for arm in group.arms or []:
                if arm not in self.arms:
                    known = ", ".join(self.arms)
                    raise ValueError(f"cells[{index}].arms: found {arm!r}, expected one of the arms {known}")
        return self
