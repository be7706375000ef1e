"""Forcing an attention backend, and finding out which one really ran."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode

from armies.errors import ArmiesError

BACKENDS = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
UNFORCED = "unforced"  # torch chooses among them


@contextmanager
def forced_attention(backend: str) -> Iterator[None]:
    """Inside, ``scaled_dot_product_attention`` uses ``backend`` or raises; it never falls back silently.

    ``UNFORCED`` leaves the choice to torch.
    """
    with nullcontext() if backend == UNFORCED else sdpa_kernel(BACKENDS[backend]):
        yield


class _KernelNames(TorchDispatchMode):
    """Collects the names of the attention operators that reach the dispatcher.

    Attention by products is the only user of ``exp2``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def __torch_dispatch__(
        self, function: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        for name in ("flash", "efficient", "cudnn"):
            if f"{name}_attention" in str(function):
                self.seen.add(name)
        if "exp2" in str(function):
            self.seen.add("products")
        return function(*args, **(kwargs or {}))


def attention_that_runs(backend: str, forward: Callable[[], object]) -> str:
    """Run ``forward`` with ``backend`` forced and name the backend that ran.

    :class:`ArmiesError` when the device has no such kernel for the shapes and number format of ``forward``.
    """
    try:
        with forced_attention(backend), torch.no_grad(), _KernelNames() as kernels:
            forward()
    except RuntimeError as error:
        if not re.search("No available kernel|No viable backend", str(error)):
            raise
        raise ArmiesError(
            f"{backend} attention is not available for this network on this device, "
            "expected a device with it or ARMIES_COLLECT_PATH=reference"
        ) from None
    # The math backend is made of ordinary operators, so it shows none of these names.
    return "+".join(sorted(kernels.seen)) or "math"
