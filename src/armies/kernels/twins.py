"""Kernels over a batch of games, compiled a second time for one thread.

Handing work to numba's threads costs 20 to 60 µs a call even if there is one thread only: more than most of the
engine's kernels take for 64 games. Games do not depend on each other, so both twins compute the same.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

from numba import njit


@cache
def serial_twin(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """The ``parallel`` kernel compiled without threads; where numba does not compile, the kernel itself.

    It gets a name of its own, as numba's cache tells kernels apart by name and place, not by options.
    """
    function = getattr(kernel, "py_func", None)
    if function is None:
        return kernel
    twin = FunctionType(function.__code__, function.__globals__, f"{function.__name__}_serial")
    twin.__qualname__ = twin.__name__
    twin.__module__ = function.__module__
    return njit(cache=True, nogil=True, fastmath=False)(twin)
