"""What all models share: strictness, identifiers, numbers."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from tachograph.files import PLAIN_PATH

ID_PATTERN = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
ENVIRONMENT_NAME = r"[A-Za-z_][A-Za-z0-9_]{0,127}"


def _identifier(value: str) -> str:
    if not re.fullmatch(ID_PATTERN, value):
        raise ValueError("expected letters, digits, '_' or '-', at most 64, beginning with a letter or digit")
    return value


def _environment_name(value: str) -> str:
    if not re.fullmatch(ENVIRONMENT_NAME, value):
        raise ValueError("expected the name of an environment variable")
    return value


def _relative_path(value: str) -> str:
    if not PLAIN_PATH.fullmatch(value):
        raise ValueError(f"found {value!r}, expected a relative path of letters, digits and . _ - /")
    return value


Identifier = Annotated[str, AfterValidator(_identifier)]
EnvironmentName = Annotated[str, AfterValidator(_environment_name)]
RelativePath = Annotated[str, AfterValidator(_relative_path)]
Text = Annotated[str, Field(min_length=1, max_length=4000)]
Scalar = str | int | float | bool


def _as_float(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, int):
        return value
    return float(value) if abs(value) < 2**1023 else math.inf  # no number of 1024 bits: refused


# TOML tells 30 from 30.0; where a number with a fraction is meant, both may be written.
Number = Annotated[float, BeforeValidator(_as_float)]
PositiveNumber = Annotated[Number, Field(gt=0)]
Seconds = Annotated[Number, Field(gt=0, le=30 * 86_400)]  # a time limit: a month, so that its end is a date


class Model(BaseModel):
    """Common strictness: unknown keys are errors, values are immutable, numbers are finite, no coercion."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
