"""What Amdahl's law allows: the ceiling of each stage, and whether measured factors can be true."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

GAP = 0.05
NO_PAY = 1.05
ROUNDING = 1e-9  # a sum of shares this near to 1 is 1: no limit, rather than one of 9e15


def ceiling(share: float) -> float:
    """The factor of the whole if a stage of this ``share`` took no time at all: 1 / (1 - share)."""
    if not 0 <= share <= 1:
        raise ValueError(f"a share lies between 0 and 1, found {share}")
    return float("inf") if share == 1 else 1 / (1 - share)


@dataclass(frozen=True)
class Ceiling:
    """``ceiling``: the whole would become this many times faster; ``pays`` where that exceeds 5 %."""

    name: str
    share: float
    ceiling: float
    pays: bool


def rank(shares: Mapping[str, float]) -> list[Ceiling]:
    """Stages by what could still be won on each, the largest first."""
    rows = [
        Ceiling(name, share, ceiling(max(share, 0.0)), ceiling(max(share, 0.0)) >= NO_PAY)
        for name, share in shares.items()
    ]
    return sorted(rows, key=lambda row: -row.share)


def whole(share: float, factor: float) -> float:
    """The factor of the whole where a part of this ``share`` becomes ``factor`` times as fast: 1 / (1 - s + s / f)."""
    if not 0 <= share <= 1 or not factor > 0:
        raise ValueError(f"a share lies between 0 and 1 and a factor above 0, found {share} and {factor}")
    return 1 / (1 - share + share / factor)


@dataclass(frozen=True)
class AmdahlCheck:
    """The factor of the whole predicted from its parts against the measured one; flagged over 5 %."""

    predicted: float
    measured: float
    gap: float
    flagged: bool


def check(shares: Mapping[str, float], factors: Mapping[str, float], measured: float) -> AmdahlCheck:
    """Predict the factor from ``shares`` of the reference's time and the ``factors`` of its parts.

    Time outside of ``shares`` and parts without a factor are taken as unchanged.
    """
    known = sum(shares.values())
    remaining = sum(share / factors.get(name, 1.0) for name, share in shares.items()) + (1 - known)
    return compare(1 / remaining, measured)


def compare(predicted: float, measured: float) -> AmdahlCheck:
    """A factor that the parts predict beside the measured one (statistics.md, 3.5)."""
    gap = measured / predicted - 1
    return AmdahlCheck(predicted, measured, gap, abs(gap) > GAP)


@dataclass(frozen=True)
class Bound:
    """``factor``: the whole cannot become faster than this by making ``parts``, of this ``share``, take no time."""

    parts: tuple[str, ...]
    share: float
    factor: float


def bound(shares: Mapping[str, float], faster: Collection[str]) -> Bound:
    """The ceiling of a change that made the parts ``faster``; the largest part counts among them in any case.

    ``shares`` are those of the reference's parts, one at least.
    """
    largest = max(shares, key=lambda name: shares[name])
    parts = tuple(name for name in shares if name == largest or name in faster)
    share = sum(shares[name] for name in parts)
    share = 1.0 if share > 1 - ROUNDING else share
    return Bound(parts, share, ceiling(share))


def too_good(factor: float, limit: float, origin: str = "registered") -> str | None:
    """A sentence where ``factor`` exceeds a registered or Amdahl ``limit``: INVALID until parity is shown.

    ``origin`` says where the limit comes from.
    Cached outputs, side streams and patched timers look like this (ScalingIntelligence/KernelBench#82).
    """
    if factor <= limit:
        return None
    return f"{factor:,.4g}x exceeds the ceiling of {limit:,.4g}x ({origin}): too good to be true until parity is shown"
