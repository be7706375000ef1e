"""An operation called again and again: hashes of its raw output, and how far each result is from the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from machinecheck.devices import fetch
from machinecheck.metrics import Array, nonfinite
from machinecheck.reference import digest

Row = dict[str, Any]


@dataclass(frozen=True)
class Truth:
    """A proven float64 result and how far each element of a right one may be from it."""

    reference: Array
    bound: Array


def raw_bytes(values: torch.Tensor) -> np.ndarray[Any, Any]:
    """The tensor's own bytes on the processor, whatever its format."""
    return np.asarray(values.detach().cpu().contiguous().view(torch.uint8).numpy())


@dataclass(frozen=True)
class _Output:
    """What one distinct output was like; equal bytes are judged once."""

    finite: bool
    magnitude: float = 0.0
    fraction_differing: float = 0.0  # from the first finite output
    difference: float = 0.0
    wrong: float | None = None  # fraction of elements beyond their bound
    error: float | None = None


def _look_at(values: Array, first: Array, truth: Truth | None) -> _Output:
    if nonfinite(values):
        return _Output(finite=False)
    difference = np.abs(values - first)
    looked = _Output(
        finite=True,
        magnitude=float(np.max(np.abs(values), initial=0.0)),
        fraction_differing=float(np.mean(difference != 0)),
        difference=float(np.max(difference, initial=0.0)),
    )
    if truth is None:
        return looked
    error = np.abs(values - truth.reference)
    wrong = float(np.mean(error > truth.bound))
    return replace(looked, wrong=wrong, error=float(np.max(error, initial=0.0)))


def watch(run: Callable[[], torch.Tensor], repeats: int, truth: Truth | None) -> Row:
    """Call ``run`` ``repeats`` times on the same input: hashes of raw output, differences, wrong results.

    Without a ``truth`` the numbers about wrong results are ``None``: nobody looked.
    """
    calls: Counter[str] = Counter()
    seen: dict[str, _Output] = {}
    first: Array | None = None
    for _ in range(repeats):
        output = run()
        key = digest(raw_bytes(output))
        calls[key] += 1
        if key in seen:
            continue
        values = fetch(output)
        if first is None and not nonfinite(values):
            first = values
        seen[key] = _look_at(values, values if first is None else first, truth)
    outputs = list(seen.values())
    return {
        "repeats": repeats,
        "hashes": dict(calls),
        "fraction_differing": max(one.fraction_differing for one in outputs),
        "max_abs_difference": max(one.difference for one in outputs),
        "max_magnitude": max(one.magnitude for one in outputs),
        "nonfinite_calls": sum(calls[key] for key, one in seen.items() if not one.finite),
        "corrupted_calls": sum(calls[key] for key, one in seen.items() if one.wrong) if truth else None,
        "corrupted_fraction": max(one.wrong or 0.0 for one in outputs) if truth else None,
        "max_abs_error": max(one.error or 0.0 for one in outputs) if truth else None,
    }
