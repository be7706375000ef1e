"""The speed-up factor with its interval: a t interval on logarithms over blocks, or over unpaired runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from tachograph.errors import TachographError
from tachograph.wording import counted


class IntervalError(TachographError):
    """Values of which no factor can be taken."""


@dataclass(frozen=True)
class Factor:
    """fast / reference as a geometric-mean factor.

    ``low`` and ``high`` bound the interval at ``confidence``, both None where there is none (``note`` says
    why). ``sd_log`` is the standard deviation of the log ratio per block (paired) or of ln X per run
    (unpaired); ``df`` its degrees of freedom; ``method`` names the formula.
    """

    factor: float
    low: float | None
    high: float | None
    confidence: float
    n_reference: int
    n_fast: int
    df: float
    sd_log: float | None
    method: str
    note: str

    @property
    def paired(self) -> bool:
        return self.method.startswith("paired")


@dataclass(frozen=True)
class RunRate:
    """The throughput ``value`` of one counted run; ``block`` is its registered block, None if it has none."""

    value: float
    block: str | None
    seed: int | None


def paired_log_t(reference: Sequence[float], fast: Sequence[float], confidence: float = 0.95) -> Factor:
    """t interval on the log ratios of n blocks; ``reference[b]`` and ``fast[b]`` ran adjacent in time.

    exp(mean L ± t(n-1) sd(L)/√n) with L = ln fast - ln reference. Raises :class:`IntervalError` for values
    that are not positive and finite, or for unequal numbers.
    """
    if len(reference) != len(fast):
        raise IntervalError(f"{len(reference)} reference and {counted(len(fast), 'fast value')} are no pairs")
    ratio = _logs(fast, "fast") - _logs(reference, "reference")
    n = len(ratio)
    centre = float(ratio.mean())
    if n == 1:
        return Factor(
            float(np.exp(centre)), None, None, confidence, 1, 1, 0, None, "paired log-ratio t",
            "single block, no interval",
        )  # fmt: skip
    sd = float(ratio.std(ddof=1))
    half, t = _half_width(sd / np.sqrt(n), n - 1, confidence)
    note = f"uninformative (n=2, t={t:.1f})" if n == 2 else ""
    return _factor(centre, half, confidence, n, n, n - 1, sd, "paired log-ratio t", note)


def welch_log(reference: Sequence[float], fast: Sequence[float], confidence: float = 0.95) -> Factor:
    """t interval on the difference of mean ln X of unpaired runs, with Satterthwaite's degrees of freedom.

    An arm with a single run borrows the variance of the other arm (equal variances assumed, df = n-1).
    """
    logs = {"reference": _logs(reference, "reference"), "fast": _logs(fast, "fast")}
    k, m = len(logs["reference"]), len(logs["fast"])
    centre = float(logs["fast"].mean() - logs["reference"].mean())
    if k == m == 1:
        return Factor(
            float(np.exp(centre)), None, None, confidence, 1, 1, 0, None, "single runs",
            "one run of each arm, no interval",
        )  # fmt: skip
    if k == 1 or m == 1:
        several = logs["fast" if k == 1 else "reference"]
        sd = float(several.std(ddof=1))
        df = len(several) - 1.0
        se = sd * np.sqrt(1 / k + 1 / m)
        lone = "reference" if k == 1 else "fast"
        half, t = _half_width(se, df, confidence)
        note = f"variance of the single {lone} run borrowed from the other arm"
        if df < 2:
            note += f"; uninformative (t={t:.1f})"
        return _factor(centre, half, confidence, k, m, df, sd, "unpaired log t, borrowed variance", note)
    parts = np.array([logs["reference"].var(ddof=1) / k, logs["fast"].var(ddof=1) / m])
    se = float(np.sqrt(parts.sum()))
    df = float(parts.sum() ** 2 / (parts**2 / [k - 1, m - 1]).sum()) if se > 0 else float(k + m - 2)
    half, _ = _half_width(se, df, confidence)
    pooled = np.concatenate([arm - arm.mean() for arm in logs.values()])
    sd = float(np.sqrt((pooled**2).sum() / (k + m - 2)))
    return _factor(centre, half, confidence, k, m, df, sd, "unpaired log t (Welch)", "")


def factor_of_runs(reference: Sequence[RunRate], fast: Sequence[RunRate], confidence: float = 0.95) -> Factor:
    """The factor from counted runs: paired over the blocks of which both runs count, else unpaired.

    Only a registered block pairs two runs; equal seeds or positions in two files do not.
    """
    ref_blocks = {run.block: run for run in reference if run.block is not None}
    fast_blocks = {run.block: run for run in fast if run.block is not None}
    common = [block for block in ref_blocks if block in fast_blocks]
    alone = len(reference) == len(fast) == len(common) == 1
    if len(common) >= 2 or alone:
        return paired_log_t(
            [ref_blocks[block].value for block in common],
            [fast_blocks[block].value for block in common],
            confidence,
        )
    return welch_log([run.value for run in reference], [run.value for run in fast], confidence)


def rate_interval(
    values: Sequence[float], other_arm: Sequence[float] = (), confidence: float = 0.95
) -> tuple[float, float | None, float | None]:
    """(geometric mean, low, high) of a rate over runs, to hold against the prediction of a rate.

    A single run borrows the variance of ``other_arm``; without any spread low and high are None.
    """
    logs = _logs(values, "measured")
    source = logs if len(logs) > 1 or len(other_arm) < 2 else _logs(other_arm, "other")
    centre = float(logs.mean())
    if len(source) < 2 or np.ptp(source) == 0:
        return float(np.exp(centre)), None, None
    half, _ = _half_width(float(source.std(ddof=1)) / np.sqrt(len(logs)), len(source) - 1, confidence)
    return float(np.exp(centre)), float(np.exp(centre - half)), float(np.exp(centre + half))


def _logs(values: Sequence[float], arm: str) -> NDArray[np.float64]:
    array = np.asarray(values, dtype=np.float64)
    if len(array) == 0:
        raise IntervalError(f"no value of the {arm} arm: no factor")
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise IntervalError(f"values of the {arm} arm must be positive and finite, found {list(values)}")
    return np.log(array)


def _half_width(se: float, df: float, confidence: float) -> tuple[float, float]:
    t = t_quantile(df, confidence)
    return t * float(se), t


def t_quantile(df: float, confidence: float) -> float:
    """Two-sided: of Student's t with ``df`` degrees of freedom the share ``confidence`` lies between -t and t."""
    return float(stdtrit(df, (1 + confidence) / 2))


def _factor(
    centre: float,
    half: float,
    confidence: float,
    k: int,
    m: int,
    df: float,
    sd: float,
    method: str,
    note: str,
) -> Factor:
    factor = float(np.exp(centre))
    if half <= 1e-12:  # equal to the last digits: a coarse clock, not certainty
        return Factor(factor, None, None, confidence, k, m, df, sd, method, "no spread between runs, no interval")
    low, high = float(np.exp(centre - half)), float(np.exp(centre + half))
    return Factor(factor, low, high, confidence, k, m, df, sd, method, note)
