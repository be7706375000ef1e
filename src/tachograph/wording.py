"""Parts of the sentences that a page or a terminal shows: counts with their nouns, and what an exception says."""

from __future__ import annotations

SIBILANTS = ("s", "x", "z", "ch", "sh")


def counted(number: int, one: str, many: str = "") -> str:
    """``1 iteration``, ``2 iterations``; ``many`` where the plural takes more than an ending, as of a verb."""
    if number == 1:
        return f"{number:,} {one}"
    return f"{number:,} {many or one + ('es' if one.endswith(SIBILANTS) else 's')}"


def fault(error: BaseException) -> str:
    """What went wrong, for a reader who knows no class of exceptions."""
    if isinstance(error, KeyError):
        return f"{error} is missing"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or "the program failed there and gave no reason"
