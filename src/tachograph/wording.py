"""Parts of the sentences that a page or a terminal shows: counts with their nouns, and what an exception says."""

from __future__ import annotations

SIBILANTS = ("s", "x", "z", "ch", "sh")


def counted(number: int, one: str, many: str = "") -> str:
    """``1 iteration``, ``2 iterations``; ``many`` where the plural takes more than an ending, as of a verb."""
    if number == 1:
        return f"{number} {one}"
    return f"{number} {many or one + ('es' if one.endswith(SIBILANTS) else 's')}"


def verb(number: int, one: str, many: str) -> str:
    """The form of a verb that ``number`` things take."""
    return one if number == 1 else many


def share(part: int, whole: int, noun: str, one: str, many: str) -> str:
    """``1 of 3 runs counts``, ``0 of 1 run count``: the noun goes by ``whole``, the verb by ``part``."""
    return f"{part} of {counted(whole, noun)} {verb(part, one, many)}"


def fault(error: BaseException) -> str:
    """What went wrong, for a reader who knows no class of exceptions."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or "the program failed there and gave no reason"
