"""One rule for everything that judges: an exception is no verdict, never a pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from tachograph.errors import TachographError
from tachograph.wording import fault

T = TypeVar("T")


@dataclass(frozen=True)
class Judged(Generic[T]):
    """A result, or the reason why there is none. Exactly one of the two is None."""

    result: T | None
    reason: str | None


def judged(what: str, compute: Callable[[], T]) -> Judged[T]:
    """Run ``compute``; whatever it raises becomes the reason, so that the caller says NO VERDICT.

    ``what`` names the judgement in that reason.
    """
    try:
        return Judged(compute(), None)
    except TachographError as error:  # a sentence that says all: an input of which nothing can be judged
        return Judged(None, f"{what} could not be judged: {error}")
    except Exception as error:  # a fault in a judgement must never look like its success
        return Judged(None, f"{what} could not be judged, by a fault in the program or its input: {fault(error)}")
