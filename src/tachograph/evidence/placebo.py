"""The A/A placebo: the reference against itself, which shows what a factor of nothing looks like here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import erfc, log, sqrt

from tachograph.evidence.interval import Factor, paired_log_t

LEAST_EFFECT = 1.05  # the effect of the method's own designs, where no decision rule registers one


@dataclass(frozen=True)
class Placebo:
    """``factor`` of the repeated reference over the reference; ``largest`` |relative| deviation of a pair."""

    factor: Factor
    largest: float


def judge_placebo(reference: Sequence[float], repeat: Sequence[float]) -> Placebo:
    """The factor of pairs of identical runs. Raises StatisticsError as :func:`paired_log_t` does."""
    factor = paired_log_t(reference, repeat)
    return Placebo(factor, max(abs(b / a - 1) for a, b in zip(reference, repeat, strict=True)))


def placebo_cap(placebo: float, claimed: Factor | None, least: float | None) -> str | None:
    """Why a ``placebo`` factor forbids to rely on a speed, in a sentence; None where it is small enough.

    It is too large beyond half of the claimed effect, in logarithms (statistics.md, 3.4). A factor that is not there
    claims no effect, nor does one near 1 whose interval holds 1: then half of the ``least`` effect that is worth having
    counts, as a host that hides such an effect cannot show that it is absent.
    """
    least = least if least is not None and least > 1 else LEAST_EFFECT
    effect, words = least, "the least effect worth having,"
    if claimed is not None and (not _holds_one(claimed) or abs(log(claimed.factor)) > log(least)):
        effect, words = claimed.factor, "the claimed"
    if abs(log(placebo)) <= abs(log(effect)) / 2:
        return None
    return f"identical runs differ by {placebo:.3f}x, over half of {words} {effect:.3f}x"


def false_cap_rate(effect: float, sd_log: float) -> float:
    """How often a pair of identical runs exceeds half of ``effect``, were its log factor normal with mean 0.

    ``sd_log``: its standard deviation, that of a log factor between blocks. P(|Z| > ln(effect) / 2 / sd_log): the rule
    has no error rate of its own, as it compares a single pair with a fixed bound.
    """
    return erfc(abs(log(effect)) / 2 / sd_log / sqrt(2))


def _holds_one(factor: Factor) -> bool:
    """Whether the interval of a factor leaves open that there is no effect."""
    return factor.low is not None and factor.high is not None and factor.low <= 1 <= factor.high
