"""The A/A placebo: the reference against itself, which shows what a factor of nothing looks like here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

from tachograph.evidence.interval import Factor, paired_log_t


@dataclass(frozen=True)
class Placebo:
    """``factor`` of the repeated reference over the reference; ``largest`` |relative| deviation of a pair.

    ``cap``: the sentence that makes the speed verdict PROVISIONAL, None where the placebo is small enough.
    """

    factor: Factor
    largest: float
    cap: str | None


def judge_placebo(reference: Sequence[float], repeat: Sequence[float], claimed: float | None) -> Placebo:
    """Judge pairs of identical runs; ``claimed`` is the speed-up factor of the study, None if it has none.

    A placebo of more than half the claimed effect (in logarithms) caps the verdict.
    """
    factor = paired_log_t(reference, repeat)
    largest = max(abs(b / a - 1) for a, b in zip(reference, repeat, strict=True))
    cap = None
    if claimed is not None and abs(log(factor.factor)) > abs(log(claimed)) / 2:
        cap = f"identical runs differ by {factor.factor:.3f}x, over half of the claimed {claimed:.3f}x"
    return Placebo(factor, largest, cap)
