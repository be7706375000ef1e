"""What a setting of a checker's cell may be: a kind of value with its range, or words to choose from."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from tachograph.models.base import Model, Number, Scalar, Text


def _expression(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"expected a regular expression: {error}") from None
    return value


class Quantity(Model):
    """A setting of a cell. A text, for which a whole number may be written, must match ``pattern`` as a whole."""

    type: Literal["integer", "number", "boolean", "text"]
    least: Number | None = None
    above: Number | None = Field(default=None, description="the value must be greater")
    multiple_of: Annotated[int, Field(ge=2)] | None = None
    choices: list[Text] | None = None
    pattern: Annotated[Text, AfterValidator(_expression)] | None = None
    expected: Text | None = Field(default=None, description="what the pattern asks for, in words")

    @model_validator(mode="after")
    def _sound(self) -> Quantity:
        numeric, text = self.type in ("integer", "number"), self.type == "text"
        if not numeric and (self.least, self.above, self.multiple_of) != (None, None, None):
            raise ValueError("least, above, multiple_of: expected with an integer or a number only")
        if not text and (self.choices, self.pattern) != (None, None):
            raise ValueError("choices, pattern: expected with a text only")
        if (self.pattern is None) != (self.expected is None):
            raise ValueError("pattern: expected together with `expected`, which says it in words")
        return self

    def wrong(self, value: Scalar) -> str | None:
        """A sentence on what is wrong with ``value``, or None."""
        return None if self._holds(value) else f"found {value!r}, expected {self._words()}"

    def _holds(self, value: Scalar) -> bool:
        if self.type == "boolean" or isinstance(value, bool):
            return self.type == "boolean" and isinstance(value, bool)
        if self.type == "text":
            return self._matches(str(value)) and not isinstance(value, float)
        if isinstance(value, str) or (self.type == "integer" and not isinstance(value, int)):
            return False
        return (
            abs(value) < float("inf")
            and (self.least is None or value >= self.least)
            and (self.above is None or value > self.above)
            and (self.multiple_of is None or value % self.multiple_of == 0)
        )

    def _matches(self, value: str) -> bool:
        if self.choices is not None:
            return value in self.choices
        return self.pattern is None or re.fullmatch(self.pattern, value) is not None

    def _words(self) -> str:
        if self.choices is not None:
            return f"one of: {', '.join(self.choices)}"
        if self.expected is not None:
            return self.expected
        kind = {"integer": "a whole number", "number": "a number", "boolean": "true or false", "text": "a text"}[
            self.type
        ]
        limits = [f"of at least {self.least:g}"] if self.least is not None else []
        limits += [f"greater than {self.above:g}"] if self.above is not None else []
        limits += [f"divisible by {self.multiple_of}"] if self.multiple_of is not None else []
        return " ".join([kind, " and ".join(limits)]).strip()
