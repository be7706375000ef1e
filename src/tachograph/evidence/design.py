"""The design check at registration: which verdicts a plan can reach, and the cheapest that reaches all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import exp, prod, sqrt

import numpy as np
from scipy.special import chdtri, gammaln, ndtr, stdtrit

from tachograph.evidence.difference import p_min_paired, p_min_unpaired, use_sign_flips
from tachograph.evidence.interval import t_quantile
from tachograph.evidence.verdicts import CurveVerdict, SpeedVerdict
from tachograph.wording import counted

MAX_RUNS = 64


@dataclass(frozen=True)
class Design:
    """What the registration says that error rates depend on.

    ``reference_runs`` k and ``fast_runs`` m that give curves, ``blocks`` n of one run each (0: unpaired in
    time). ``margins``: δ / σ_seed of each metric, with σ_seed as assumed. ``sd_log``: assumed SD of the log
    ratio between blocks. ``correlation`` of runs of the same seed, used only where ``paired_curves``.
    ``predicted_high``: largest factor that the prediction allows, None without a prediction.
    """

    reference_runs: int
    fast_runs: int
    blocks: int
    paired_curves: bool
    margins: Mapping[str, float] = field(default_factory=dict)
    windows: int = 3
    alpha: float = 0.05
    sd_log: float = 0.05
    correlation: float = 0.0
    minimum_effect: float = 1.05
    predicted_high: float | None = None
    confidence: float = 0.95


@dataclass(frozen=True)
class DesignCheck:
    """What the plan can say.

    ``p_min`` of test D; ``delta_star`` expected for truly equal arms (below 1: E can pass);
    ``gain_from``: smallest measured factor that counts as GAIN, ``no_gain_below``: largest that counts as
    NO GAIN, both None without an interval. ``matched_below`` and ``not_matched_from``: observed differences,
    in margins, that test E is expected to call inside or outside; None where it cannot.
    ``missing`` are outcomes the plan cannot reach, as sentences.
    """

    p_min: float
    delta_star: float | None
    gain_from: float | None
    no_gain_below: float | None
    speed: tuple[SpeedVerdict, ...]
    curves: tuple[CurveVerdict, ...]
    missing: tuple[str, ...]

    @property
    def matched_below(self) -> float | None:
        return None if self.delta_star is None or self.delta_star >= 1 else 1 - self.delta_star

    @property
    def not_matched_from(self) -> float | None:
        reachable = self.delta_star is not None and CurveVerdict.NOT_MATCHED in self.curves
        return 1 + self.delta_star if reachable and self.delta_star is not None else None

    @property
    def ok(self) -> bool:
        return not self.missing


def lowest_p(design: Design) -> float:
    """p_min of test D as it will be run: sign flips where they can reject, else relabelling."""
    k, m = design.reference_runs, design.fast_runs
    if k == 0 or m == 0:
        return 1.0
    if use_sign_flips(design.paired_curves, k, design.alpha):
        return p_min_paired(k)
    return p_min_unpaired(k, m)


def expected_delta_star(design: Design) -> float | None:
    """δ* that test E is expected to give when the arms are equal and the spread is as assumed.

    max over metrics of t(1-α, df) se / δ; None where no spread can be estimated.
    """
    df, se = _spread(design)
    if df < 1 or not design.margins:
        return None
    t = float(stdtrit(df, 1 - design.alpha))
    return max(t * se / margin for margin in design.margins.values())


def chance_to_match(design: Design) -> float | None:
    """Probability that test E passes in every metric and window when the arms are equal and the spread as assumed.

    A cell passes iff |D| + t(1-α, df) s se < δ, with D normal of SD se and s² a χ² of df over df, both in units of
    σ_seed². Cells are taken as independent: where they rise and fall together the probability is larger. None where
    no spread can be estimated.
    """
    df, se = _spread(design)
    if df < 1 or not design.margins:
        return None
    t = float(stdtrit(df, 1 - design.alpha))

    nodes, weights = np.polynomial.legendre.leggauss(200)

    def cell(margin: float) -> float:
        """Integral over s of its density times P(|D| < δ - t s se)."""
        largest = min(margin / (t * se), sqrt(chdtri(df, 1e-12) / df))
        s = (nodes + 1) * largest / 2
        log_density = np.log(2) + df / 2 * np.log(df / 2) - gammaln(df / 2) + (df - 1) * np.log(s) - df * s**2 / 2
        inside = 2 * ndtr((margin - t * s * se) / se) - 1
        return float(weights @ (np.exp(log_density) * inside) * largest / 2)

    return prod(cell(margin) ** design.windows for margin in design.margins.values())


def _spread(design: Design) -> tuple[int, float]:
    """Degrees of freedom and standard error, in units of σ_seed, of a difference of window means; df < 1: none."""
    k, m = design.reference_runs, design.fast_runs
    if k < 1 or m < 1:
        return 0, 0.0
    if design.paired_curves:
        return k - 1, sqrt(2 * (1 - design.correlation) / k)
    return k + m - 2, sqrt(1 / k + 1 / m)


def half_width(design: Design) -> float | None:
    """Expected half-width of the interval of the log factor, None where there is no interval."""
    n, k, m = design.blocks, design.reference_runs, design.fast_runs
    if n >= 2:
        return t_quantile(n - 1, design.confidence) * design.sd_log / sqrt(n)
    if n == 0 and min(k, m) >= 1 and k + m >= 3:  # SD of a difference of two runs is √2 that of a run
        df = k + m - 2 if min(k, m) > 1 else max(k, m) - 1
        return t_quantile(df, design.confidence) * design.sd_log / sqrt(2) * sqrt(1 / k + 1 / m)
    return None


def check_design(design: Design) -> DesignCheck:
    """Which outcomes are reachable. A plan with ``missing`` ones is refused unless it is exploratory."""
    p_min, delta_star, half = lowest_p(design), expected_delta_star(design), half_width(design)
    missing = []
    gain_from = no_gain = None
    speed = [SpeedVerdict.UNRESOLVED]
    if half is None:
        missing.append("GAIN and NO GAIN: the factor would have no interval")
    else:
        gain_from, no_gain = design.minimum_effect * exp(half), design.minimum_effect * exp(-half)
        speed = [SpeedVerdict.GAIN, SpeedVerdict.NO_GAIN, SpeedVerdict.UNRESOLVED]
        if design.predicted_high is not None and gain_from > design.predicted_high:
            speed.remove(SpeedVerdict.GAIN)
            missing.append(
                f"GAIN: it would take a factor of {gain_from:.2f}, the prediction ends at {design.predicted_high:.2f}"
            )
    can_reject = p_min <= design.alpha
    can_match = delta_star is not None and delta_star < 1
    if not can_reject:
        missing.append(f"NOT MATCHED: p_min {p_min:.3g} exceeds {design.alpha:g}")
    if not can_match:
        why = (
            "no spread between seeds could be estimated"
            if delta_star is None
            else f"equal arms are expected to need {delta_star:.1f} times the registered margins"
        )
        missing.append(f"MATCHED: {why}")
    curves = _curve_verdicts(can_reject, can_match)
    return DesignCheck(
        p_min,
        delta_star,
        gain_from,
        no_gain,
        tuple(speed),
        curves,
        tuple(missing),
    )


def _curve_verdicts(can_reject: bool, can_match: bool) -> tuple[CurveVerdict, ...]:
    verdicts = [CurveVerdict.INVALID, CurveVerdict.IDENTICAL]
    if can_match:
        verdicts.append(CurveVerdict.MATCHED)
    if can_reject and can_match:
        verdicts.append(CurveVerdict.MATCHED_DIFFERENT)
    if can_reject:
        verdicts += [CurveVerdict.NOT_MATCHED, CurveVerdict.SIZE_UNRESOLVED, CurveVerdict.INCONCLUSIVE]
    else:
        verdicts.append(CurveVerdict.NO_VERDICT)
    return tuple(verdicts)


def cheapest(design: Design) -> Design | None:
    """The plan with the fewest runs that reaches every outcome, all else as registered; None beyond 64 runs.

    Plans in blocks stay in blocks (one run of each arm per block); others may have unequal arms.
    """
    for total in range(2, 2 * MAX_RUNS + 1):
        if design.blocks or design.paired_curves:
            sizes = [(total // 2, total // 2)] if total % 2 == 0 else []
        else:
            sizes = [(total - m, m) for m in range(total // 2, 0, -1)]
        for k, m in sizes:
            blocks = k if design.blocks else 0
            plan = replace(design, reference_runs=k, fast_runs=m, blocks=blocks)
            if check_design(plan).ok:
                return plan
    return None


def refusal(design: Design) -> str | None:
    """The sentence that refuses a plan and names the way out; None for a plan that may be registered."""
    found = check_design(design)
    if found.ok:
        return None
    return f"this design cannot reach {'; nor '.join(found.missing)}. {way_out(design)}; or mark the study exploratory"


def way_out(design: Design) -> str:
    """The cheapest design that reaches every outcome, in a sentence without its full stop."""
    way = cheapest(design)
    if way is None:
        return f"No design of up to {MAX_RUNS} runs per arm can; widen the margins"
    if way.blocks:
        least = f"{counted(way.blocks, 'block')} ({counted(way.reference_runs, 'run')} of each arm)"
    else:
        least = f"{way.reference_runs} reference and {counted(way.fast_runs, 'fast run')}"
    return f"The cheapest design that can has {least}"
