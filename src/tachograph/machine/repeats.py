"""Does an operation give the same bytes again, and is each of its results right? Judged from hashes and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tachograph.machine.cellrecord import Repeats, Row
from tachograph.machine.correctness import NOTHING
from tachograph.machine.verdict import Judged, Verdict, judged
from tachograph.models.bounds import Bounds
from tachograph.wording import counted


def judge_repeats(measured: Repeats, dtype: str, bounds: Bounds) -> Judged:
    """Verdict over rows of one operation.

    FAIL: a result that is not finite, or wrong beyond its bound, or, where no bound is known, repeats that
    differ by more than the format's tolerance. WARN: repeats that differ within rounding. Different thread
    counts may give different bytes: they sum in another order.
    """
    if measured.reference is not None and not measured.reference.usable:
        return Judged(Verdict.INCOMPLETE, [measured.reference.reason + NOTHING])
    if not measured.rows:
        return Judged(Verdict.INCOMPLETE, [measured.lost or "no repeat was measured"])
    miscounted = next((row for row in measured.rows if sum(row.hashes.values()) != row.repeats), None)
    if miscounted is not None:
        seen = counted(sum(miscounted.hashes.values()), "result is", "results are")
        reason = f"{seen} counted of {miscounted.repeats} {_state(miscounted)}"
        return Judged(Verdict.INCOMPLETE, [reason])
    found = _judge_rows(measured.rows, dtype, bounds)
    lacking = _never_repeated(measured.rows) if measured.lost is None else [measured.lost]
    if not lacking or found.verdict is Verdict.FAIL:
        return found
    return Judged(Verdict.INCOMPLETE, [*lacking, *found.reasons], found.derived)


def _never_repeated(rows: Sequence[Row]) -> list[str]:
    """One call in one process is always like itself, which shows nothing."""
    calls: Counter[int | None] = Counter()
    for row in rows:
        calls[row.threads] += row.repeats
    once = [_place(threads) for threads, count in calls.items() if count < 2]
    return [f"one call {', '.join(once)}: nothing was repeated"] if once else []


def _judge_rows(rows: Sequence[Row], dtype: str, bounds: Bounds) -> Judged:
    failures: list[str] = []
    warnings: list[str] = []
    by_threads: dict[int | None, set[str]] = {}
    for row in rows:
        by_threads.setdefault(row.threads, set()).update(row.hashes)
        if row.nonfinite_calls:
            failures.append(f"{row.nonfinite_calls} of {counted(row.repeats, 'result')} not finite {_state(row)}")
        if row.corrupted_calls:
            failures.append(
                f"{row.corrupted_calls} of {counted(row.repeats, 'result')} wrong {_state(row)}{_how_wrong(row)}"
            )
        elif len(row.hashes) > 1:
            reason = (
                f"does not repeat {_state(row)}: {len(row.hashes)} different results in {row.repeats}, "
                f"{row.fraction_differing:.4g} of the elements, by up to {row.max_abs_difference:.3g}"
            )
            gate = bounds.gates.get(dtype)
            within = gate is not None and row.max_abs_difference <= gate.tolerance * row.max_magnitude
            (failures if row.corrupted_calls is None and not within else warnings).append(reason)
    repeats_within = all(len(row.hashes) == 1 for row in rows)
    repeats_across = all(len(found) == 1 for found in by_threads.values())
    if repeats_within and not repeats_across:
        different = [_place(threads) for threads, found in by_threads.items() if len(found) > 1]
        warnings.append(f"two processes give different bytes {', '.join(different)}")
    return judged(
        failures,
        warnings,
        {
            "repeats_in_process": repeats_within,
            "repeats_across_processes": repeats_across if len({row.process for row in rows}) > 1 else None,
            "alike_over_threads": len({one for found in by_threads.values() for one in found}) == 1
            if len(by_threads) > 1
            else None,
            "by_threads": [
                _count([row for row in rows if row.threads == threads], len(found))
                for threads, found in by_threads.items()
            ],
        },
    )


def _place(threads: int | None) -> str:
    return "on the device" if threads is None else f"at {counted(threads, 'thread')}"


def _state(row: Row) -> str:
    return f"{_place(row.threads)} (process {row.process})"


def _how_wrong(row: Row) -> str:
    if row.corrupted_fraction is None or row.max_abs_error is None:
        return ""
    return f": {row.corrupted_fraction:.2g} of the elements, by up to {row.max_abs_error:.3g}"


def upper_bound(calls: int) -> float:
    """95 % upper bound on a rate of which none was seen in ``calls``: 3/n (rule of three, Hanley 1983)."""
    return min(1.0, 3.0 / calls)


def _count(rows: Sequence[Row], distinct: int) -> dict[str, Any]:
    """Calls at one thread count over all processes; the bound is what seeing none still allows."""
    calls = sum(row.repeats for row in rows)
    corrupted = [row.corrupted_calls for row in rows if row.corrupted_calls is not None]
    wrong = sum(corrupted) + sum(row.nonfinite_calls for row in rows) if len(corrupted) == len(rows) else None
    return {
        "threads": rows[0].threads,
        "oversubscribed": rows[0].oversubscribed,
        "fraction_differing": max(row.fraction_differing for row in rows),
        "max_abs_difference": max(row.max_abs_difference for row in rows),
        "calls": calls,
        "distinct_results": distinct,
        "differing_rate_upper_bound": upper_bound(calls) if distinct == 1 else None,
        "wrong_calls": wrong,
        "wrong_rate_upper_bound": upper_bound(calls) if wrong == 0 else None,
    }
