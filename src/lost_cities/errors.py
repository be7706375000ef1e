"""Errors of the trainer that a user can act upon."""

from __future__ import annotations

import re

# torch's words; an illegal access to memory is another matter
MEMORY_IS_SHORT = re.compile("out of memory|not enough memory|can(?:'t|not) allocate memory", re.IGNORECASE)


class LostCitiesError(Exception):
    """Bad input or an impossible request, said in one sentence; the command line prints it and exits with 2."""


def is_memory_error(error: BaseException) -> bool:
    """Whether ``error`` says that memory is short; torch has no kind of its own for it."""
    return isinstance(error, MemoryError) or bool(MEMORY_IS_SHORT.search(str(error)))


def not_enough_memory(error: BaseException) -> str:
    first = str(error).splitlines()
    return f"not enough memory for this configuration: {first[0] if first else 'no more could be had'}"


class NonFiniteTrainingError(Exception):
    """A NaN or an infinity appeared while training; the command line prints it and exits with 3."""


class WorkerLostError(Exception):
    """A worker process ended on its own; the command line prints it and exits with 4."""
