"""Which way the trainer computes: the reference path, the fast path, and each step between them.

Every path computes the same function. They differ in how, so that a study can attribute a factor to each
step. ``ARMIES_COLLECT_PATH`` names the path:

* ``reference``: the loop as it was: math attention, bf16 collection, planes, the head over all actions;
* ``unforced``: ``reference`` with attention as torch chooses it, which is what a flag of torch's can change;
* ``plain``: the same numbers from a straight loop without any choice in it, to prove the one above against;
* ``fast``: all steps of :data:`STEPS`;
* ``fused``: the same, and the collection's forward pass in compiled kernels, on a CPU only;
* some of the steps, joined by ``+``: ``flash``, ``flash+fp32``, ``flash+fp32+legal`` …

Imports no torch: one variable must be set before torch is imported (see :func:`prepare_environment`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass

from armies.errors import ArmiesError

VARIABLE = "ARMIES_COLLECT_PATH"

STEPS = {
    "flash": "flash attention instead of the math one, in collection and update",
    "fp32": "collection in fp32 instead of bf16, on a CPU, where bf16 gains nothing once attention is fast",
    "legal": "policy head, sampling and loss on the legal moves only",
    "table": "cells enter by a table look-up of their code instead of a product with their planes",
    "rows": "the last block computes the value token, legal sources and legal targets only (needs legal)",
    "products": "in fp32 on a CPU, attention as products of matrices and exp2, which beat flash for small heads",
    "lean": "advantages are filtered first; the old policy is kept from a collection in fp32 on lists, else "
    "recomputed for kept transitions only",
}


@dataclass(frozen=True)
class CollectPath:
    """What a path does. ``name`` is canonical: the steps in the order of :data:`STEPS`."""

    name: str
    steps: frozenset[str]
    plain: bool = False
    fused: bool = False
    unforced: bool = False

    @property
    def attention(self) -> str:
        if self.unforced:
            return "unforced"
        return "flash" if "flash" in self.steps else "math"

    def update_attention(self, device: str) -> str:
        """Backend of the update, in float32, on a kind of device; GPUs have flash kernels in half only."""
        return "efficient" if self.attention == "flash" and device != "cpu" else self.attention

    def collection_dtype(self, device: str) -> str:
        """Number format of the network while it collects on a kind of device ("cpu", "cuda")."""
        return "float32" if "fp32" in self.steps and device == "cpu" else "bfloat16"

    def product_attention(self, device: str, dtype: str) -> bool:
        """Whether a network of a number format ("float32") on a kind of device computes attention by products."""
        return "products" in self.steps and device == "cpu" and dtype != "bfloat16"

    def keeps_policy(self, device: str) -> bool:
        """Whether the update takes the old policy from the collection instead of computing it again."""
        return self.lean and self.legal and self.collection_dtype(device) == "float32"

    @property
    def legal(self) -> bool:
        return "legal" in self.steps

    @property
    def table(self) -> bool:
        return "table" in self.steps

    @property
    def rows(self) -> bool:
        return "rows" in self.steps

    @property
    def lean(self) -> bool:
        return "lean" in self.steps


def path_named(name: str) -> CollectPath:
    """The path ``name``; :class:`ArmiesError` when it is not one or its steps do not fit together."""
    if name in ("reference", "plain"):
        return CollectPath(name, frozenset(), plain=name == "plain")
    if name == "unforced":
        return CollectPath(name, frozenset(), unforced=True)
    if name in ("fast", "fused"):
        return CollectPath(name, frozenset(STEPS), fused=name == "fused")
    steps = name.split("+")
    for step in steps:
        if step not in STEPS:
            raise ArmiesError(
                f"path is {name!r}, expected reference, unforced, plain, fast, fused "
                f"or steps joined by '+' out of {', '.join(STEPS)}"
            )
    if len(set(steps)) < len(steps):
        raise ArmiesError(f"path {name!r} names a step twice, expected each once")
    if "rows" in steps and "legal" not in steps:
        raise ArmiesError(f"path {name!r} has rows without legal, expected legal+rows")
    return CollectPath("+".join(step for step in STEPS if step in steps), frozenset(steps))


def path_from_environment(default: str = "fast") -> CollectPath:
    """The path that ``ARMIES_COLLECT_PATH`` names, else ``default``."""
    name = os.environ.get(VARIABLE) or default
    try:
        return path_named(name)
    except ArmiesError as error:
        if VARIABLE in os.environ:
            raise ArmiesError(f"environment variable {VARIABLE}: {error}") from None
        raise


def prepare_environment(path: CollectPath) -> None:
    """Set what torch reads once, at its import. Call it before the first import of torch.

    The path ``unforced`` takes the environment as it is: there the variable is what a study changes.
    """
    if path.attention == "flash":
        allow_experimental_attention()


def allow_experimental_attention() -> None:
    """Make flash and memory-efficient attention available where they hide behind a flag, before torch is imported.

    On ROCm those of the gfx11 family hide behind ``TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL``. CUDA and CPU builds
    ignore the variable; a value that is there already stays.
    """
    os.environ.setdefault("TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "1")
