"""Best-of-N under contention: a lower bound of a throughput, never a factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class BestOf:
    """``value`` is at most the uncontended throughput: to be printed as ``label`` with N and exposure.

    ``exposure``: seconds measured in all. Values of unequal N or exposure must not be compared, as the best
    of more draws is higher by itself.
    """

    value: float
    n: int
    exposure: float
    load_low: float | None
    load_high: float | None

    @property
    def label(self) -> str:
        return f"≥ {self.value:,.4g}"

    def comparable(self, other: BestOf, tolerance: float = 0.05) -> bool:
        """Whether N is equal and exposure within ``tolerance``."""
        larger = max(self.exposure, other.exposure)
        return self.n == other.n and abs(self.exposure - other.exposure) <= tolerance * larger


def best_of(work: Sequence[float], seconds: Sequence[float], loads: Sequence[float] = ()) -> BestOf:
    """The best of N repeats; ``loads`` are host load averages sampled meanwhile.

    Raises ValueError without repeats.
    """
    rates = [w / s for w, s in zip(work, seconds, strict=True)]
    if not rates:
        raise ValueError("no repeats, no best one")
    return BestOf(max(rates), len(rates), sum(seconds), min(loads, default=None), max(loads, default=None))


def ratio_is_lower_bound(
    reference: BestOf, fast: BestOf, clock_reference: float | None, clock_fast: float | None
) -> bool:
    """Whether fast/reference may be called a lower bound of the true factor.

    Only with equal exposure and clocks that show the fast arm disturbed at least as much (its mean clock is
    not the higher one). Unknown clocks show nothing.
    """
    if clock_reference is None or clock_fast is None:
        return False
    return reference.comparable(fast) and clock_fast <= clock_reference
