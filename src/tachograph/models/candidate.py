"""A candidate: an idea that a study measures beside its arms, and keeps or rejects."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from tachograph.models.base import EnvironmentName, Identifier, Model, Number, Scalar, Text
from tachograph.wording import counted

RUN_KEYS = ("environment", "settings", "arguments", "shared_arguments", "iterations", "quantity", "requires", "parity")


class Candidate(Model):
    """What is changed in which arm, and how the change is measured.

    ``component``: the trainer's own candidate command measures base and candidate in one process, on real batches.
    ``run``: the engine runs the training command of the arm and the changed one in turn, ABBA, in one job.
    """

    title: Text
    why: Text = Field(description="what is expected of it")
    measure: Literal["component", "run"]
    against: Identifier | None = Field(
        default=None, description="the arm that is changed; the one beside the reference unless there are more"
    )
    pairs: Annotated[int, Field(ge=2, le=1000)] = Field(
        default=6, description="interleaved measurements of base and candidate, from which the interval comes"
    )
    minimum_effect: Annotated[Number, Field(ge=1, le=1000)] | None = Field(
        default=None, description="smallest factor worth keeping; that of the decision rule unless given"
    )
    rivals: list[Identifier] = Field(
        default=[], description="candidates that exclude this one: of those that could be kept the fastest is"
    )
    steps: Annotated[int, Field(ge=1)] | None = Field(default=None, description="component: real batches in all")
    iterations: Annotated[int, Field(ge=2)] | None = Field(
        default=None, description="run: iterations of each run; the first is dropped and told as one-off cost"
    )
    quantity: Text | Annotated[list[Text], Field(min_length=1)] | None = Field(
        default=None,
        description="run: what is compared: iteration (the default), stage (the study's), or a phase of the trainer; "
        "of several phases the seconds are added up",
    )
    environment: dict[EnvironmentName, str] = Field(default={}, description="run: on top of the arm's")
    settings: dict[Identifier, Scalar] = Field(default={}, description="run: on top of the arm's")
    arguments: list[Text] = Field(default=[], description="run: appended to the arm's command")
    shared_arguments: list[Text] = Field(
        default=[], description="run: appended to both commands, such as evaluations that come more often"
    )
    requires: Literal["cuda", "rocm"] | None = Field(
        default=None, description="run: the kind of device without which nothing is run, and the record says so"
    )
    parity: Annotated[Text, Field(pattern="^[^,]+$")] | None = Field(
        default=None,
        exclude_if=lambda value: value is None,  # so that a study without it is registered as it always was
        description="run: the name, in place of an arm's, by which the trainer's parity command knows the candidate",
    )

    @property
    def quantities(self) -> list[str]:
        """What is compared, by name: ``iteration``, ``stage`` or phases."""
        if self.quantity is None:
            return ["iteration"]
        return [self.quantity] if isinstance(self.quantity, str) else self.quantity

    @model_validator(mode="after")
    def _fits_its_measure(self) -> Candidate:
        if self.measure == "component":
            if self.steps is None:
                raise ValueError("steps: the key is missing, expected the number of real batches")
            given = [key for key in RUN_KEYS if key in self.model_fields_set and getattr(self, key)]
            if given:
                raise ValueError(f"{given[0]}: found it with measure = 'component', expected it with 'run' only")
            if self.steps < self.pairs:
                raise ValueError(
                    f"steps: found {self.steps}, expected at least one for each of {counted(self.pairs, 'pair')}"
                )
        else:
            if self.steps is not None:
                raise ValueError("steps: found it with measure = 'run', expected it with 'component' only")
            if self.iterations is None:
                raise ValueError("iterations: the key is missing, expected the iterations of each run")
            if not (self.environment or self.settings or self.arguments):
                raise ValueError("found no environment, settings or arguments, expected what the candidate changes")
        return self
