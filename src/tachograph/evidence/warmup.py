"""Whether a run was steady after its warm-up, with known error rates.

Every statistic is free of scale and judged against the same statistic of stationary noise: autoregressive
of order one with correlation 0.6, as iterations of training loops show it, simulated once per length with a
fixed seed. Against independent noise this is conservative. The runs of a study, and the mean series of each
arm (which sees a slow ramp that single runs hide), share the error rate ``alpha``, so that at most that many stationary
studies have any run that is not called steady; ``benchmarks/laboratory.py`` shows it, with all else that can cap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tachograph.evidence.throughput import MIN_RETAINED, MIN_RETAINED_SHARE
from tachograph.wording import counted

Floats = NDArray[np.float64]

RELEVANT = 0.02  # a change of less than 2 % is never called, however certain it is
GROSS = 1.5  # a change by this factor between the halves leaves no headline
CORRELATION = 0.6
SIMULATED = 20_000
SEED = 20_260_918
LONGEST = 40  # longer series are averaged in that many batches


class Outcome(StrEnum):
    """The first that applies, in this order."""

    INSUFFICIENT = "INSUFFICIENT"
    SLOWDOWN = "slowdown"
    NO_STEADY_STATE = "no steady state"
    LONGER_WARMUP = "warm-up longer than registered"
    STEADY = "steady"


@dataclass(frozen=True)
class Steadiness:
    """One run. ``flags``: every outcome that applies, the first one is ``outcome``.

    ``mser``: iterations that the MSER rule would drop. ``change``: relative change of the duration over the
    retained rows by the Theil-Sen slope, ``halves`` the same between the medians of their halves (0.05: the
    later ones are 5 % slower). ``mann_kendall_p`` for independent noise, as a description.
    ``p_trend`` and ``p_warmup`` against correlated noise, not corrected for the number of runs.
    """

    flags: tuple[Outcome, ...]
    rows: int
    retained: int
    mser: int
    change: float
    halves: float
    mann_kendall_p: float
    p_trend: float
    p_warmup: float

    @property
    def outcome(self) -> Outcome:
        return self.flags[0]

    @property
    def headline(self) -> bool:
        """Whether a factor may stand at the top at all."""
        return self.no_headline is None

    @property
    def no_headline(self) -> str | None:
        """Why no factor may stand at the top, None where one may."""
        if self.outcome is Outcome.INSUFFICIENT:
            return f"only {self.retained} of {counted(self.rows, 'iteration')} can give a rate after the warm-up"
        if max(self.halves, 1 / (1 + self.halves) - 1) >= GROSS - 1:
            return f"its later half changed by {self.halves:+.1%} at equal work, which is {GROSS:g} times or more"
        return None

    @property
    def capped(self) -> bool:
        """Whether the speed verdict becomes PROVISIONAL."""
        return self.outcome in {Outcome.SLOWDOWN, Outcome.NO_STEADY_STATE}


@dataclass(frozen=True)
class StudySteadiness:
    """``runs`` by name; ``arms`` hold the mean series of arms with several runs of equal length."""

    runs: Mapping[str, Steadiness]
    arms: Mapping[str, Steadiness]

    @property
    def capped(self) -> bool:
        return any(found.capped for found in (*self.runs.values(), *self.arms.values()))

    @property
    def headline(self) -> bool:
        return all(run.headline for run in self.runs.values())


def assess_study(
    durations: Mapping[str, Floats], arms: Mapping[str, str], warmup: int | Mapping[str, int], alpha: float = 0.05
) -> StudySteadiness:
    """Judge all runs of a study together.

    ``durations``: run -> seconds of its iterations in order, shape (n,), warm-up included, without
    evaluations, compilations and invalid rows. ``arms``: run -> arm. ``warmup``: how many of these rows come before
    the retained ones, the same for all runs or by run. ``alpha``: error rate of the whole study.
    Raises ValueError for a duration that is not positive and finite.
    """
    series = {run: _logs(seconds) for run, seconds in durations.items()}
    early = {run: warmup if isinstance(warmup, int) else warmup[run] for run in series}
    means: dict[str, tuple[Floats, int]] = {}
    for arm in dict.fromkeys(arms.values()):
        members = [run for run in series if arms[run] == arm]
        if len(members) > 1 and len({(len(series[run]), early[run]) for run in members}) == 1:
            means[arm] = np.mean([series[run] for run in members], axis=0), early[members[0]]
    each = alpha / (len(series) + len(means)) if series else alpha
    return StudySteadiness(
        {run: _assess(y, early[run], each) for run, y in series.items()},
        {arm: _assess(y, dropped, each) for arm, (y, dropped) in means.items()},
    )


def _logs(durations: Floats) -> Floats:
    seconds = np.asarray(durations, dtype=np.float64)
    if not (np.isfinite(seconds).all() and (seconds > 0).all()):
        raise ValueError("durations must be positive and finite; leave invalid rows out first")
    return np.log(seconds)


def mser(y: Floats) -> int:
    """argmin over 0 <= d <= n/2 of Σ_{i>d} (y_i - mean)² / (n-d)²: the MSER truncation point."""
    n = len(y)
    if n < 2:
        return 0
    d = np.arange(n // 2 + 1)
    centred = y - y.mean()
    tail = np.cumsum(centred[::-1])[::-1][d]
    tail_squares = np.cumsum((centred**2)[::-1])[::-1][d]
    left = n - d
    return int(np.argmin((tail_squares - tail**2 / left) / left**2))


def _assess(y: Floats, warmup: int, alpha: float) -> Steadiness:
    n, kept = len(y), y[warmup:]
    m = len(kept)
    truncation = mser(y)
    halves = float(np.exp(np.median(kept[m // 2 :]) - np.median(kept[: m // 2])) - 1) if m >= 2 else 0.0
    if m < 3:
        return Steadiness((Outcome.INSUFFICIENT,), n, m, truncation, 0.0, halves, 1.0, 1.0, 1.0)
    batches = _batches(kept)
    log_change, kendall = _trend(batches)
    change = float(np.expm1(log_change))
    p_trend, p_warmup, excess = _p_values(batches)
    flags = []
    if m < MIN_RETAINED or m < MIN_RETAINED_SHARE * n:
        flags.append(Outcome.INSUFFICIENT)
        if max(halves, 1 / (1 + halves) - 1) >= GROSS - 1:
            flags.append(Outcome.NO_STEADY_STATE)
    else:
        if p_trend <= alpha / 2 and max(abs(log_change), abs(np.log1p(halves))) > RELEVANT:
            flags.append(Outcome.SLOWDOWN if log_change > 0 else Outcome.NO_STEADY_STATE)
        if p_warmup <= alpha / 2 and excess > RELEVANT:
            flags.append(Outcome.NO_STEADY_STATE if truncation >= n // 2 else Outcome.LONGER_WARMUP)
    order = list(Outcome)
    flags = sorted(set(flags), key=order.index) or [Outcome.STEADY]
    return Steadiness(tuple(flags), n, m, truncation, change, halves, kendall, p_trend, p_warmup)


def _batches(y: Floats) -> Floats:
    if len(y) <= LONGEST:
        return y
    return np.array([part.mean() for part in np.array_split(y, LONGEST)])


def _trend(y: Floats) -> tuple[float, float]:
    """Total change by the Theil-Sen slope (median of pairwise slopes), and the p of Mann and Kendall.

    The p is the two-sided normal approximation with continuity correction (Kendall 1975), for independent
    noise without ties.
    """
    n = len(y)
    i, j = np.triu_indices(n, 1)
    rises = y[j] - y[i]
    score = abs(float(np.sign(rises).sum()))
    z = max(0.0, score - 1) / np.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return float(np.median(rises / (j - i))) * (n - 1), float(2 * ndtr(-z))


def _p_values(y: Floats) -> tuple[float, float, float]:
    """p of a trend, p of a longer warm-up, and by how much (in ln) the early rows exceed the later ones."""
    found = _statistics(y[None])
    null = _null(len(y))
    p = []
    for simulated, value in zip(null, found[:3], strict=True):
        below = int(np.searchsorted(simulated, value[0] * (1 - 1e-9)))
        p.append((1 + SIMULATED - below) / (SIMULATED + 1))
    return min(1.0, 2 * min(p[0], p[1])), p[2], float(found[3][0])


@lru_cache(maxsize=64)
def _null(n: int) -> tuple[Floats, Floats, Floats]:
    """The three statistics of ``SIMULATED`` stationary series of length ``n``, each sorted."""
    rng = np.random.Generator(np.random.PCG64(SEED))
    noise = rng.standard_normal((SIMULATED, n))
    y = noise.copy()
    for i in range(1, n):
        y[:, i] = CORRELATION * y[:, i - 1] + np.sqrt(1 - CORRELATION**2) * noise[:, i]
    tau, drift, excess, _ = _statistics(y)
    return np.sort(tau), np.sort(drift), np.sort(excess)


def _statistics(y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """For series (R, n): |Kendall's tau|, |total drift| / noise, largest early excess / noise, that excess.

    Noise of the drift: SD of successive differences about their mean, over √2. Noise of the excess: the same
    over the later half only, where no warm-up is left. A vanishing noise gives infinity, or 0 without effect.
    """
    runs, n = y.shape
    concordance = np.zeros(runs)
    for lag in range(1, n):
        concordance += np.sign(y[:, lag:] - y[:, :-lag]).sum(axis=1)
    x = np.arange(n) - (n - 1) / 2
    drift = np.abs(y @ x) / (x @ x) * (n - 1)
    steps = np.diff(y, axis=1)
    late = steps[:, (n - 1) // 2 :]
    best, amount = np.zeros(runs), np.zeros(runs)
    for d in range(1, n // 2 + 1):
        above = y[:, :d].mean(axis=1) - y[:, d:].mean(axis=1)
        scaled = above / np.sqrt(1 / d + 1 / (n - d))
        amount = np.where(scaled > best, above, amount)
        best = np.maximum(best, scaled)
    return (
        np.abs(concordance) / (n * (n - 1) / 2),
        _over(drift, steps.std(axis=1) / np.sqrt(2)),
        _over(best, late.std(axis=1) / np.sqrt(2)),
        amount,
    )


def _over(effect: Floats, noise: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(effect <= 1e-12, 0.0, effect / noise)
