"""A simulated laboratory: studies whose truth is known, judged by the code that judges real ones.

    python benchmarks/laboratory.py [--studies 2000]

prints, with fixed seeds, how often the method is right: coverage of the factor's interval, false differences
between identical arms, powers of the curve tests, how often a stationary study loses its verdict, and what
whole studies decide. The exit code is 1 if a promise at the foot of a table is not kept, that is, if a
binomial test contradicts it at p < 0.001.

How the simulated runs are made stands in ``simulation/noise.py``; a shift moves the whole curve of the fast arm. Whole
studies go through the code that writes the reliability section of a record (``simulation/studies.py``), so that every
reservation which could cap their verdict is counted: steadiness, drift, A/A placebo, clocks.

How the warm-up thresholds were set. The thresholds one would write down at first (a change of 2 % between the
halves, a trend with p < 0.05, an MSER point beyond the warm-up) call at least one of the eight runs of most
stationary studies unsteady, as each run is tested on its own, three times, and as if its noise were
independent. Here each statistic keeps its meaning and is compared with its own distribution under stationary
noise of correlation 0.6; the runs of a study and the mean series of its arms share one error rate of 2.5 %,
half of it for trends and half for late warm-ups; changes below 2 % are never called. The other 2.5 % belong to
the drift over the session, divided among the arms. Nothing was fitted to the tables below: they only show what
follows.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest
from simulation.noise import ITERATION_CORRELATION, Floats, simulate_curves, simulate_seconds
from simulation.studies import Row, caps, simulate_study
from tabulate import tabulate

from tachograph.analysis.conditions import no_headline, reservations
from tachograph.analysis.factors import headline_factor
from tachograph.evidence.curves import Curves, Window, default_windows
from tachograph.evidence.decision import curve_verdict, decide, speed_verdict
from tachograph.evidence.difference import difference_test
from tachograph.evidence.equivalence import equivalence_test
from tachograph.evidence.interval import paired_log_t
from tachograph.evidence.judging import Judged, judged
from tachograph.evidence.randomness import generator
from tachograph.evidence.verdicts import CurveVerdict, ParityVerdict, SpeedVerdict
from tachograph.evidence.warmup import Outcome

FACTOR = 2.4
MINIMUM_EFFECT = 1.05


@dataclass
class Table:
    """``kept`` False where the ``promise`` was broken."""

    title: str
    headers: list[str]
    rows: list[list[object]]
    promise: str
    kept: bool


def within(hits: int, count: int, limit: float) -> bool:
    """Whether ``hits`` of ``count`` do not contradict a rate of at most ``limit`` (binomial test, p < 0.001).

    There are some sixty rows; a milder test would call chance a broken promise.
    """
    return float(binomtest(hits, count, limit, alternative="greater").pvalue) >= 0.001


def coverage(studies: int) -> Table:
    """How often the interval of the factor holds the truth; runs of 20 iterations, one of them warm-up."""
    rows: list[list[object]] = []
    shares = []
    for n in (2, 3, 4, 6, 10):
        rng = generator("laboratory", f"coverage {n}")
        inside, widths = 0, []
        count = 5 * studies  # cheap, and the promise is narrow
        for _ in range(count):
            rates = 1 / simulate_seconds(rng, n, 20, FACTOR)[..., 1:].mean(axis=-1)
            found = paired_log_t(rates[0].tolist(), rates[1].tolist())
            assert found.low is not None and found.high is not None  # noqa: PT018
            inside += found.low <= FACTOR <= found.high
            widths.append(np.log(found.high / found.low) / 2)
        shares.append(inside / count)
        rows.append([n, f"{shares[-1]:.1%}", f"{np.expm1(np.mean(widths)):.1%}"])
    return Table(
        f"Interval of the factor (true factor {FACTOR})",
        ["blocks", "covered", "mean half-width"],
        rows,
        "95 % ± 1.5 for every number of blocks",
        all(abs(share - 0.95) <= 0.015 for share in shares),
    )


def false_differences(studies: int) -> Table:
    """How often identical arms are called different: in speed, in curves."""
    rows: list[list[object]] = []
    kept = True
    for n in (2, 4, 6):
        rng = generator("laboratory", f"A/A speed {n}")
        gains = excludes = 0
        count = 5 * studies
        for _ in range(count):
            rates = 1 / simulate_seconds(rng, n, 10, 1.0)[..., 1:].mean(axis=-1)
            factor = paired_log_t(rates[0].tolist(), rates[1].tolist())
            gains += speed_verdict(Judged(factor, None), MINIMUM_EFFECT).verdict is SpeedVerdict.GAIN
            excludes += not (factor.low or 0.0) <= 1 <= (factor.high or 0.0)
        for call, found in ((f"GAIN of {MINIMUM_EFFECT}", gains), ("interval excludes 1", excludes)):
            kept &= within(found, count, 0.05)
            rows.append([f"speed, {n} blocks", call, f"{found / count:.2%}"])
    for k, m, metrics in ((4, 3, 1), (4, 4, 1), (4, 4, 5), (5, 2, 3), (6, 2, 5), (8, 8, 2)):
        rng = generator("laboratory", f"A/A curves {k} {m} {metrics}")
        count = studies if k + m < 12 else studies // 10
        called = sum(difference_test(simulate_curves(rng, k, m, 0.0, metrics), rng).rejects(0.05) for _ in range(count))
        kept &= within(called, count, 0.05)
        rows.append([f"curves, {k} + {m} runs, {metrics} metrics", "test D rejects", f"{called / count:.2%}"])
    return Table("Identical arms (A/A)", ["compared", "false call", "share"], rows, "at most 5 %", kept)


# Power of test D at shifts of 1, 2, 3 SD, as published with the method.
POWERS = {
    (4, 3): (0.14, 0.39, 0.73), (4, 4): (0.15, 0.58, 0.90), (5, 5): (0.28, 0.86, 0.99),
    (6, 2): (0.18, 0.58, 0.91), (8, 8): (0.50, 0.99, 1.00), (10, 3): (0.36, 0.88, 0.99),
    (19, 1): (0.20, 0.50, 0.85),
}  # fmt: skip


def difference_power(studies: int) -> Table:
    """Power of test D at α = 0.05 with ten iterations and a uniform shift."""
    rows: list[list[object]] = []
    kept = True
    for (k, m), expected in POWERS.items():
        row: list[object] = [f"{k} + {m}"]
        count = max(50, studies // 10)
        for shift, target in zip((1, 2, 3), expected, strict=True):
            rng = generator("laboratory", f"D {k} {m} {shift}")
            hits = sum(difference_test(simulate_curves(rng, k, m, shift), rng).rejects(0.05) for _ in range(count))
            kept &= within(count - hits, count, 1 - target)
            row.append(f"{hits / count:.2f} ({target:.2f})")
        rows.append(row)
    return Table(
        "Power of test D: measured (published)",
        ["runs", "shift 1 SD", "2 SD", "3 SD"],
        rows,
        "not below the published power",
        kept,
    )


# Seeds per arm for 80 % power of test E, as published with the method: by margin in SD between seeds, for each of
# DESIGNS (metrics, windows, correlation of the arms over seeds; None: unpaired).
DESIGNS = [(1, 1, None), (1, 3, None), (5, 3, None), (5, 3, 0.5), (5, 3, 0.9)]
SEEDS = {1.0: (18, 24, 32, 18, 5), 1.5: (9, 11, 15, 9, 4), 2.0: (6, 7, 9, 6, 3), 3.0: (3, 4, 5, 4, 3)}
UNEQUAL = [(10, 3, 2.0, 0.77), (10, 3, 3.0, 0.99)]  # runs of the arms, margin, published power of one scalar
USELESS = [(2, 1, margin, 0.31) for margin in (1.0, 2.0, 3.0, 4.0)]  # at most the power that is published (.03 to .30)


def equivalence_power(studies: int) -> Table:
    """Power of test E when the arms are equal, for every published number of seeds and for unequal arms."""
    rows: list[list[object]] = []
    kept = True
    for margin, sizes in SEEDS.items():
        for design, n in zip(DESIGNS, sizes, strict=True):
            passed = _equivalences(studies, n, n, margin, *design)
            kept &= within(studies - passed, studies, 0.20)
            rows.append(_power_row(margin, *design, f"{n} + {n}", passed / studies, "≥ 0.80"))
    for k, m, margin, power in UNEQUAL:
        passed = _equivalences(studies, k, m, margin, 1, 1, None)
        kept &= within(studies - passed, studies, 1 - power)
        rows.append(_power_row(margin, 1, 1, None, f"{k} + {m}", passed / studies, f"{power:.2f}"))
    for k, m, margin, power in USELESS:
        passed = _equivalences(studies, k, m, margin, 1, 1, None)
        kept &= within(passed, studies, power)
        rows.append(_power_row(margin, 1, 1, None, f"{k} + {m}", passed / studies, f"≤ {power:.2f}"))
    return Table(
        "Power of test E for equal arms",
        ["margin", "metrics × windows", "design", "runs", "power", "published"],
        rows,
        "80 % at every published number of seeds, the published power of 10 + 3 runs; 2 + 1 runs are useless",
        kept,
    )


def _power_row(
    margin: float, metrics: int, windows: int, correlation: float | None, runs: str, power: float, published: str
) -> list[object]:
    pairs = "unpaired" if correlation is None else f"paired, ρ = {correlation}"
    return [f"{margin:g} σ", f"{metrics} × {windows}", pairs, runs, f"{power:.3f}", published]


def _equivalences(
    studies: int, k: int, m: int, margin: float, metrics: int, windows: int, correlation: float | None
) -> int:
    """How many of ``studies`` with equal arms pass; one window is one iteration, three are the thirds of a curve."""
    rng = generator("laboratory", f"E {k} {m} {margin} {metrics} {windows} {correlation}")
    passed = 0
    for _ in range(studies):
        curves = simulate_curves(rng, k, m, 0.0, metrics)
        fast = curves.fast
        if correlation is not None:
            fast = correlation * curves.reference + np.sqrt(1 - correlation**2) * fast
        curves = Curves(curves.metrics, curves.iteration, curves.reference, fast, correlation is not None)
        spans = default_windows(curves.iteration) if windows == 3 else [Window("first", 1, 1)]
        passed += equivalence_test(curves, dict.fromkeys(curves.metrics, margin), spans).passes
    return passed


# Blocks, arms, iterations of stationary studies, and the factor of their fast arms.
STATIONARY = [
    (2, 2, 10, FACTOR), (3, 2, 10, FACTOR), (4, 2, 10, FACTOR), (4, 2, 20, FACTOR), (6, 2, 10, FACTOR),
    (6, 2, 20, FACTOR), (10, 2, 10, FACTOR), (3, 3, 10, FACTOR), (4, 3, 10, FACTOR), (6, 3, 20, FACTOR),
    (6, 2, 10, 1.5),
]  # fmt: skip


def false_caps(studies: int) -> Table:
    """How often a stationary study on a quiet host is capped as PROVISIONAL, by everything that can cap it."""
    rows: list[list[object]] = []
    kept = True
    for blocks, arms, iterations, factor in STATIONARY:
        rng = generator("laboratory", f"caps {blocks} {arms} {iterations} {factor}")
        found: Counter[str] = Counter()
        for _ in range(studies):
            study = simulate_study(rng, blocks, iterations, factor, MINIMUM_EFFECT, arms=arms)
            found.update(kind for kind, capped in caps(study).items() if capped)
        kept &= within(found["any"], studies, 0.05)
        shares = [f"{found[kind] / studies:.2%}" for kind in ("steadiness", "drift", "placebo", "clocks", "any")]
        rows.append([blocks, arms, iterations, factor, *shares])
    return Table(
        "Stationary studies that are capped as PROVISIONAL, and by what",
        ["blocks", "arms", "iterations", "factor", "steadiness", "drift", "A/A placebo", "clocks", "any"],
        rows,
        "at most 5 % of stationary studies are capped by anything",
        kept,
    )


def _shapes(n: int) -> Iterator[tuple[str, Floats, bool]]:
    """Name, ln seconds added to each iteration, and whether the study is stationary after one iteration."""
    x = np.arange(n)
    yield "stationary", np.zeros(n), True
    yield "slow first iteration", np.where(x == 0, 1.0, 0.0), True
    yield "slow first two iterations", np.where(x < 2, 0.5, 0.0), False
    yield "ramp of 30 %, τ = 3", 0.3 * np.exp(-x / 3), False
    yield "slowdown by 15 %", 0.15 * x / (n - 1), False
    yield "slowdown by 5 %", 0.05 * x / (n - 1), False


def steadiness(studies: int) -> Table:
    """How often studies of four blocks are capped as PROVISIONAL or told to have a longer warm-up."""
    rows: list[list[object]] = []
    kept = True
    count = max(50, studies // 4)
    for n in (10, 20):
        for name, shape, stationary in _shapes(n):
            for correlation in (0.0, ITERATION_CORRELATION):
                rng = generator("laboratory", f"warm-up {n} {name} {correlation}")
                capped = told = 0
                for _ in range(count):
                    study = simulate_study(rng, 4, n, FACTOR, MINIMUM_EFFECT, correlation=correlation, shape=shape)
                    capped += caps(study)["steadiness"]
                    told += _unsteady(study)
                if stationary:
                    kept &= within(capped, count, 0.05)
                rows.append([n, name, correlation, f"{capped / count:.1%}", f"{told / count:.1%}"])
    return Table(
        "Steadiness of studies with 4 blocks, warm-up 1, 2 % noise",
        ["iterations", "truth", "correlation", "capped", "not steady"],
        rows,
        "stationary studies are capped in at most 5 %",
        kept,
    )


def _unsteady(study: Row) -> bool:
    """Whether any run or the mean series of any arm is not called steady, capped or not."""
    section = study["steadiness"]
    return any(one["outcome"] != Outcome.STEADY for one in (*section["runs"], *section["arms"].values()))


def whole_studies(studies: int) -> Table:
    """What whole studies of six blocks decide: minimum effect 1.05, one metric with a margin of 3 σ."""
    rows: list[list[object]] = []
    count = max(50, studies // 4)
    truths = [
        ("identical arms", 1.0, 0.0, "ADOPT"),
        ("2.4x, same curves", 2.4, 0.0, "REJECT"),
        ("2.4x, curves shifted by 8 σ", 2.4, 8.0, "ADOPT"),
    ]
    kept = True
    for name, factor, shift, wrong in truths:
        rng = generator("laboratory", f"study {name}")
        decisions: Counter[str] = Counter()
        curves: Counter[CurveVerdict] = Counter()
        for _ in range(count):
            decision, verdict = _decide(rng, factor, shift)
            decisions[decision] += 1
            curves[verdict] += 1
        kept &= within(decisions[wrong], count, 0.05)
        shares = [f"{decisions[word] / count:.1%}" for word in ("ADOPT", "HOLD", "REJECT")]
        rows.append([name, *shares, curves.most_common(1)[0][0]])
    return Table(
        "Decisions of whole studies with 6 blocks",
        ["truth", "ADOPT", "HOLD", "REJECT", "most frequent curve verdict"],
        rows,
        "the wrong decision (ADOPT, REJECT, ADOPT) in at most 5 %",
        kept,
    )


def _decide(rng: np.random.Generator, factor: float, shift: float) -> tuple[str, CurveVerdict]:
    study = simulate_study(rng, 6, 10, factor, MINIMUM_EFFECT)
    speed = speed_verdict(
        Judged(headline_factor(study["factors"], "arm 1"), None),
        MINIMUM_EFFECT,
        caps=[one["sentence"] for one in reservations(study)],
        unsteady=no_headline(study["steadiness"]),
    )
    curves = simulate_curves(rng, 6, 6, shift)
    margins = dict.fromkeys(curves.metrics, 3.0)
    curve = curve_verdict(
        False,
        judged("test D", lambda: difference_test(curves, rng)),
        judged("test E", lambda: equivalence_test(curves, margins, default_windows(curves.iteration))),
    )
    return decide(speed.verdict, curve.verdict, ParityVerdict.PASS).decision, curve.verdict


TABLES = (coverage, false_differences, difference_power, equivalence_power, false_caps, steadiness, whole_studies)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--studies", type=int, default=2000, help="simulated studies per row (default 2000)")
    studies = parser.parse_args().studies
    kept = True
    for make in TABLES:
        began = time.process_time()
        table = make(studies)
        kept &= table.kept
        print(f"## {table.title}\n")
        print(tabulate(table.rows, table.headers, tablefmt="github", disable_numparse=True))
        word = "kept" if table.kept else "NOT KEPT"
        print(f"\nPromise: {table.promise}: {word}. ({time.process_time() - began:.0f} s)\n", flush=True)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
