"""Whether an operation gives the same bytes again, and whether each of its results is right.

``watch`` runs the operation; ``judge`` takes the rows that it made and runs nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from machinecheck.devices import fetch
from machinecheck.metrics import GATE_TOLERANCE, Array, nonfinite
from machinecheck.reference import digest
from machinecheck.verdict import Verdict

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


def upper_bound(calls: int) -> float:
    """95 % upper bound on a rate of which none was seen in ``calls``: 3/n (rule of three, Hanley 1983)."""
    return min(1.0, 3.0 / calls)


def _place(threads: int | None) -> str:
    return "on the device" if threads is None else f"at {threads} thread{'s' if threads > 1 else ''}"


def _state(row: Row) -> str:
    return f"{_place(row['threads'])} (process {row['process']})"


def judge(rows: Sequence[Row], dtype: str) -> tuple[Verdict, list[str], dict[str, Any]]:
    """Verdict over rows of one operation, each with its ``threads`` (or None) and ``process``.

    FAIL: a result that is not finite, or wrong beyond its bound, or, where no bound is known, repeats that
    differ by more than the format's tolerance. WARN: repeats that differ within rounding. Different thread
    counts may give different bytes: they sum in another order.
    """
    if not rows:
        return Verdict.INCOMPLETE, ["no repeat was measured"], {}
    failures: list[str] = []
    warnings: list[str] = []
    by_threads: dict[Any, set[str]] = {}
    for row in rows:
        by_threads.setdefault(row["threads"], set()).update(row["hashes"])
        if row["nonfinite_calls"]:
            failures.append(f"{row['nonfinite_calls']} of {row['repeats']} results not finite {_state(row)}")
        if row["corrupted_calls"]:
            failures.append(
                f"{row['corrupted_calls']} of {row['repeats']} results wrong {_state(row)}: "
                f"{row['corrupted_fraction']:.2g} of the elements, by up to {row['max_abs_error']:.3g}"
            )
        elif len(row["hashes"]) > 1:
            reason = (
                f"does not repeat {_state(row)}: {len(row['hashes'])} different results in {row['repeats']}, "
                f"{row['fraction_differing']:.4g} of the elements, by up to {row['max_abs_difference']:.3g}"
            )
            allowed = GATE_TOLERANCE[dtype] * row["max_magnitude"]
            beyond = row["corrupted_calls"] is None and not row["max_abs_difference"] <= allowed
            (failures if beyond else warnings).append(reason)
    repeats_within = all(len(row["hashes"]) == 1 for row in rows)
    repeats_across = all(len(found) == 1 for found in by_threads.values())
    if repeats_within and not repeats_across:
        different = [_place(threads) for threads, found in by_threads.items() if len(found) > 1]
        warnings.append(f"two processes give different bytes {', '.join(different)}")
    summary = {
        "repeats_in_process": repeats_within,
        "repeats_across_processes": repeats_across if len({row["process"] for row in rows}) > 1 else None,
        "by_threads": [
            _count([row for row in rows if row["threads"] == threads], len(found))
            for threads, found in by_threads.items()
        ],
    }
    verdict = Verdict.FAIL if failures else Verdict.WARN if warnings else Verdict.PASS
    return verdict, failures + warnings, summary


def _count(rows: Sequence[Row], distinct: int) -> Row:
    """Calls at one thread count over all processes; the bound is what seeing none still allows."""
    calls = sum(row["repeats"] for row in rows)
    checked = all(row["corrupted_calls"] is not None for row in rows)
    wrong = sum(row["corrupted_calls"] + row["nonfinite_calls"] for row in rows) if checked else None
    return {
        "threads": rows[0]["threads"],
        "oversubscribed": rows[0]["oversubscribed"],
        "fraction_differing": max(row["fraction_differing"] for row in rows),
        "max_abs_difference": max(row["max_abs_difference"] for row in rows),
        "calls": calls,
        "distinct_results": distinct,
        "differing_rate_upper_bound": upper_bound(calls) if distinct == 1 else None,
        "wrong_calls": wrong,
        "wrong_rate_upper_bound": upper_bound(calls) if wrong == 0 else None,
    }
