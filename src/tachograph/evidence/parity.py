"""Tier 1: do the arms compute the same function? Judged against double precision, on frozen real batches."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tachograph.errors import TachographError
from tachograph.evidence.verdicts import ParityVerdict
from tachograph.wording import counted, verb

SCHEMA = "parity/1"
MIN_BATCHES = 20
FACTORS = {"float32": 2.0, "bfloat16": 3.0, "float16": 3.0}


class ParityError(TachographError):
    """A parity file that does not say what it must say."""


@dataclass(frozen=True)
class TensorParity:
    """One tensor of one arm. ``rmse`` and ``limit`` in the tensor's unit, against float64.

    ``repeat_max`` is max |Δ| of the same arm run twice on the same batches, 0 where it repeats exactly. Where no number
    of the tensor was finite there is no error and no difference: ``rmse``, ``max_abs_…`` and ``repeat_max`` are None,
    and ``limit`` where that is so of the reference.
    """

    arm: str
    tensor: str
    dtype: str
    rmse: float | None
    limit: float | None
    max_abs_fp64: float | None
    max_abs_reference: float | None
    nonfinite_rows: int
    repeat_max: float | None
    passes: bool


@dataclass(frozen=True)
class Parity:
    """``verdicts`` per arm (the reference's own among them), ``tensors`` behind them, ``reasons`` per arm."""

    batches: int
    rows: int
    tensors: tuple[TensorParity, ...]
    verdicts: Mapping[str, ParityVerdict]
    reasons: Mapping[str, str]


def judge_parity(
    data: Mapping[str, Any],
    source: str,
    reference: str = "reference",
    reference_bounds: Mapping[str, float] | None = None,
) -> Parity:
    """Judge the content of a parity file.

    An arm passes iff for every tensor RMSE(arm, fp64) <= c RMSE(reference, fp64) + tolerance/10, c = 2 for
    float32 and 3 for half precision, and no row is non-finite. ``reference_bounds``: registered largest
    RMSE of the reference by tensor; beyond it, or with non-finite rows, the reference itself is broken.
    A reference that does not repeat within the tolerance cannot be compared to. Fewer than 20 batches give
    no verdict. Raises :class:`ParityError` for another schema, missing keys or an arm that lacks a tensor.
    """
    if data.get("schema") != SCHEMA:
        raise ParityError(f"{source}: schema is {data.get('schema')!r}, expected {SCHEMA!r}")
    try:
        rows = {(str(row["arm"]), str(row["name"])): row for row in data["tensors"]}
        base = {name: row for (arm, name), row in rows.items() if arm == reference}
        tensors = tuple(_tensor(row, base[name]) for (_, name), row in rows.items())
        batches, count = int(data["batches"]), int(data["rows"])
    except KeyError as error:
        raise ParityError(f"{source}: {error} is missing") from None
    except (TypeError, ValueError) as error:
        raise ParityError(f"{source}: {error}; expected the numbers of a parity file") from None
    if not base:
        raise ParityError(f"{source}: no tensor of the arm {reference!r}")
    for arm in {arm for arm, _ in rows}:
        absent = base.keys() - {name for other, name in rows if other == arm}
        if absent:
            raise ParityError(f"{source}: arm {arm!r} lacks the tensors {', '.join(sorted(absent))}")
    tolerance = {name: float(row["tolerance"]) for name, row in base.items()}
    verdicts: dict[str, ParityVerdict] = {}
    reasons: dict[str, str] = {}
    own = [t for t in tensors if t.arm == reference]
    blocked = _reference_fault(own, batches, tolerance, reference_bounds or {})
    for arm in dict.fromkeys(arm for arm, _ in rows):
        verdicts[arm], reasons[arm] = blocked or _arm([t for t in tensors if t.arm == arm])
    return Parity(batches, count, tensors, verdicts, reasons)


def _tensor(row: Mapping[str, Any], base: Mapping[str, Any]) -> TensorParity:
    dtype = str(row["dtype"]).removeprefix("torch.")
    if dtype not in FACTORS:
        raise ValueError(f"dtype {dtype!r} of {row['name']!r} is none of {', '.join(FACTORS)}")
    error, rmse, bad = _error(base), _error(row), int(row["nonfinite_rows"])
    limit = None if error is None else FACTORS[dtype] * error + float(base["tolerance"]) / 10
    largest, from_reference, repeat_max = (
        None if rmse is None else float(row[key]) for key in ("max_abs_fp64", "max_abs_reference", "repeat_max_abs")
    )
    return TensorParity(
        arm=str(row["arm"]),
        tensor=str(row["name"]),
        dtype=dtype,
        rmse=rmse,
        limit=limit,
        max_abs_fp64=largest,
        max_abs_reference=from_reference,
        nonfinite_rows=bad,
        repeat_max=repeat_max,
        passes=bad == 0 and rmse is not None and limit is not None and rmse <= limit,
    )


def _error(row: Mapping[str, Any]) -> float | None:
    """RMSE against float64; None, as null in the file, where no number was finite that could have one."""
    if row["rmse_fp64"] is None and int(row["nonfinite_rows"]) > 0:
        return None
    return float(row["rmse_fp64"])


def _reference_fault(
    own: list[TensorParity], batches: int, tolerance: Mapping[str, float], bounds: Mapping[str, float]
) -> tuple[ParityVerdict, str] | None:
    for tensor in own:
        if tensor.nonfinite_rows or tensor.rmse is None or not math.isfinite(tensor.rmse):
            reason = _not_finite(tensor.nonfinite_rows, f"the reference's {tensor.tensor}")
            return ParityVerdict.REFERENCE_BROKEN, reason
        bound = bounds.get(tensor.tensor, math.inf)
        if tensor.rmse > bound:
            reason = f"the reference's {tensor.tensor} is off by {tensor.rmse:.3g}, registered {bound:.3g}"
            return ParityVerdict.REFERENCE_BROKEN, reason
        if tensor.repeat_max is None or not tensor.repeat_max <= tolerance[tensor.tensor]:
            reason = f"the reference's {tensor.tensor} differs by {tensor.repeat_max:.3g} when run twice"
            return ParityVerdict.REFERENCE_NOT_REPEATABLE, reason
    if batches < MIN_BATCHES:
        return ParityVerdict.NO_VERDICT, f"{counted(batches, 'batch')}, expected at least {MIN_BATCHES}"
    return None


def _not_finite(rows: int, tensor: str) -> str:
    return f"{counted(rows, 'row')} of {tensor} {verb(rows, 'is', 'are')} not finite"


def _arm(tensors: list[TensorParity]) -> tuple[ParityVerdict, str]:
    for tensor in tensors:
        if tensor.nonfinite_rows:
            return ParityVerdict.FAIL, _not_finite(tensor.nonfinite_rows, tensor.tensor)
        if not tensor.passes:
            return (
                ParityVerdict.FAIL,
                f"{tensor.tensor} is off by {tensor.rmse:.3g}, allowed {tensor.limit:.3g}",
            )
    worst = max(tensor.max_abs_reference or 0.0 for tensor in tensors)
    return ParityVerdict.PASS, f"largest difference to the reference {worst:.3g}"
