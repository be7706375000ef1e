"""Handlers for worker processes in tests. It imports no torch, so that a worker starts in no time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn


def complaining(complaint: Exception) -> Callable[[Any], NoReturn]:
    """A handler that raises ``complaint`` whatever the job."""

    def handle(job: Any) -> NoReturn:
        raise complaint

    return handle
