"""What the numbers of a cell are held to. Registered, so that nobody chooses a bound after the numbers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, model_validator

from tachograph.models.base import Identifier, Model, Number, PositiveNumber

Share = Annotated[Number, Field(ge=0, le=1)]


class Gate(Model):
    """RMSE(result) ≤ ``factor`` · RMSE(baseline) + ``tolerance``/10 · RMS(reference), all against float64.

    The rule by which PyTorch accepts a compiled model (torch._dynamo.utils.same); here its tolerance is relative to
    the reference's size, so that small gradients are held to it too.
    """

    factor: PositiveNumber
    tolerance: PositiveNumber


GATES = {
    "fp64": Gate(factor=2.0, tolerance=1e-12),
    "fp32": Gate(factor=2.0, tolerance=1e-4),
    "tf32": Gate(factor=3.0, tolerance=1e-3),
    "fp16": Gate(factor=3.0, tolerance=1e-3),
    "bf16": Gate(factor=3.0, tolerance=1e-2),
}


class Bounds(Model):
    """Defaults are those of the method; shares are fractions.

    That an element is wrong beyond rounding needs no number here: the cell counts |C − R| > T, and none is allowed.
    """

    widespread: Share = Field(
        default=0.05,
        description="share of elements from which an excess that sums in half precision explain is a warning: it is "
        "the kernel's rounding. A race touches fewer (document 003: up to 1 %)",
    )
    gates: dict[Identifier, Gate] = Field(
        default=GATES, description="by number format, for results that have no bound of their own; those not given stay"
    )
    block_seconds: PositiveNumber = Field(default=0.05, description="a rate timed in shorter blocks is none")
    clock_share: Share = Field(
        default=0.97, description="a burst block counts if its lowest clock is at least this share of the highest"
    )
    drift: Share = Field(default=0.01, description="how much slower the second half of a steady window may be")
    spread: Share = Field(default=0.10, description="fastest to slowest part of a steady window, over its rate")
    soak_speed: Share = Field(
        default=0.90, description="a soak whose last quarter has less of its first one's speed is a warning"
    )

    def named_formats(self) -> dict[str, list[str]]:
        """The number formats of gates that are not the method's, by the place of the gates."""
        return {"bounds.gates": [name for name, gate in self.gates.items() if gate != GATES.get(name)]}

    @model_validator(mode="before")
    @classmethod
    def _method_for_the_rest(cls, value: Any) -> Any:
        """A gate for one format leaves those of the other formats as the method has them."""
        if isinstance(value, dict) and isinstance(value.get("gates"), dict):
            return {**value, "gates": {**GATES, **value["gates"]}}
        return value
