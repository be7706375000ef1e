"""The configuration file of the workflow."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from tachograph.models.base import Identifier, Model, Number, Text


class Configuration(Model):
    """``config/config.yaml``: which studies, on which device, and how long to wait for it."""

    studies: Annotated[list[Identifier], Field(min_length=1)]
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda:[0-9]+)$", examples=["auto", "cpu", "cuda:0"])] = "auto"
    lease_folder: Text | None = Field(default=None, description="where lock files lie; null = the default")
    max_wait_minutes: Annotated[Number, Field(ge=0)] = Field(
        default=60.0, description="how long a job waits for a device that somebody else holds"
    )
