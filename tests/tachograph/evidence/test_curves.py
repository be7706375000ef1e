"""Curve tests: what they can tell, what they cannot, and the words for it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
import pytest
from scipy import stats

from tachograph.evidence.curves import (
    CurveError,
    Curves,
    RunCurve,
    Window,
    align,
    default_windows,
    identical,
    repeatability,
    seed_correlation,
)
from tachograph.evidence.decision import curve_verdict
from tachograph.evidence.difference import difference_test, p_min_paired, p_min_unpaired
from tachograph.evidence.envelope import describe
from tachograph.evidence.equivalence import equivalence_test
from tachograph.evidence.judging import Judged, judged
from tachograph.evidence.randomness import generator
from tachograph.evidence.verdicts import CurveVerdict

RNG = generator("0" * 64, "test")


def run(name: str, values: Sequence[float], seed: int | None = None, first: int = 1) -> RunCurve:
    iteration = np.arange(first, first + len(values))
    return RunCurve(name, seed, iteration, {"loss": np.asarray(values, dtype=np.float64)})


def normal_curves(k: int, m: int, shift: float = 0.0, seed: int = 0, paired: bool = False, j: int = 1) -> Curves:
    rng = np.random.default_rng(seed)
    return Curves(
        tuple(f"metric{i}" for i in range(j)),
        np.arange(1, 11),
        rng.normal(size=(k, j, 10)),
        rng.normal(size=(m, j, 10)) + shift,
        paired,
    )


@pytest.mark.parametrize(
    ("k", "m", "p"),
    [
        (4, 3, 0.029), (4, 4, 0.029), (6, 2, 0.036), (5, 2, 0.048), (19, 1, 0.05),
        (2, 1, 0.333), (3, 1, 0.25), (3, 2, 0.10), (3, 3, 0.10),
    ],
)  # fmt: skip
def test_smallest_p_of_a_design(k: int, m: int, p: float) -> None:
    """The smallest p that a number of runs can give is what test D gives when the arms are far apart."""
    assert p_min_unpaired(k, m) == pytest.approx(p, abs=5e-4)
    found = difference_test(normal_curves(k, m, shift=1e3), RNG)
    assert found.p == pytest.approx(found.p_min) == p_min_unpaired(k, m)


def test_paired_sign_flips_need_six() -> None:
    """Six pairs reach 2/64 by sign flips; four and five are relabelled in full, which still can reject."""
    assert p_min_paired(6) == pytest.approx(0.03125)
    six = difference_test(normal_curves(6, 6, shift=1e3, paired=True), RNG)
    assert (six.p, six.labelings) == (pytest.approx(2 / 64), 64)
    four = difference_test(normal_curves(4, 4, shift=1e3, paired=True), RNG)
    assert (four.p, four.labelings) == (pytest.approx(2 / 70), 70)
    assert "conservative" in four.method


def test_difference_agrees_with_a_slow_enumeration() -> None:
    """The vectorised permutation p equals the one of plain loops over all labelings."""
    curves = normal_curves(4, 3, shift=0.8, seed=3, j=2)
    runs = np.concatenate([curves.reference, curves.fast])
    spread = runs.std(axis=0, ddof=1)

    def largest(fast: tuple[int, ...]) -> float:
        rest = [r for r in range(7) if r not in fast]
        return float((np.abs(runs[list(fast)].mean(axis=0) - runs[rest].mean(axis=0)) / spread).max())

    observed = largest((4, 5, 6))
    all_t = [largest(fast) for fast in combinations(range(7), 3)]
    expected = sum(t >= observed - 1e-12 for t in all_t) / len(all_t)
    found = difference_test(curves, RNG)
    assert found.p == pytest.approx(expected)
    assert found.statistic == pytest.approx(observed)


def test_paired_difference_agrees_with_a_slow_enumeration() -> None:
    """The paired p equals that of plain loops over all signs."""
    curves = normal_curves(6, 6, shift=0.7, seed=4, paired=True)
    differences = (curves.fast - curves.reference)[:, 0]
    scale = np.sqrt((differences**2).mean(axis=0))
    all_t = []
    for code in range(64):
        signs = np.array([1 if code >> r & 1 else -1 for r in range(6)])
        all_t.append(float((np.abs((signs[:, None] * differences).mean(axis=0)) / scale).max()))
    expected = sum(t >= all_t[63] - 1e-12 for t in all_t) / 64
    assert difference_test(curves, RNG).p == pytest.approx(expected)


def test_random_labelings_repeat_from_the_registration() -> None:
    """With over 10,000 labelings random ones are drawn, the same ones for the same registration hash."""
    curves = normal_curves(8, 8, shift=0.6, seed=5)
    assert comb(16, 8) > 10_000
    first = difference_test(curves, generator("ab" * 32, "D"))
    assert first == difference_test(curves, generator("ab" * 32, "D"))
    assert first.labelings == 10_000
    assert 0 < first.p <= 1
    assert difference_test(normal_curves(8, 8, shift=1e3), generator("ab" * 32, "D")).p <= 1e-3
    fixed = generator("ab" * 32, "D").integers(2**32), generator("ab" * 32, "E").integers(2**32)
    assert fixed[0] != fixed[1]


def test_constant_columns_are_no_difference() -> None:
    """Columns equal in every run give p = 1, not a division by zero."""
    same = np.full((4, 1, 5), 3.0)
    found = difference_test(Curves(("x",), np.arange(5), same, same[:3], False), RNG)
    assert found.p == 1.0


def test_resolution_floors_the_spread() -> None:
    """A registered resolution keeps a metric of rounded values from being overrated."""
    reference, fast = np.zeros((4, 1, 1)), np.full((4, 1, 1), 1e-9)
    curves = Curves(("x",), np.arange(1), reference, fast, False)
    assert difference_test(curves, RNG).statistic > 1
    assert difference_test(curves, RNG, resolution=[1e-3]).statistic < 1e-3


def test_equivalence_agrees_with_scipy() -> None:
    """Unpaired: the 90 % interval of scipy's pooled t test; paired: of its one-sample t test."""
    curves = normal_curves(5, 4, seed=6)
    window = [Window("all", 1, 10)]
    cell = equivalence_test(curves, {"metric0": 2.0}, window).cells[0]
    r, f = curves.reference[:, 0].mean(axis=1), curves.fast[:, 0].mean(axis=1)
    low, high = stats.ttest_ind(f, r).confidence_interval(0.90)
    assert (cell.low, cell.high, cell.df) == (pytest.approx(low), pytest.approx(high), 7)
    paired = normal_curves(6, 6, seed=7, paired=True)
    cell = equivalence_test(paired, {"metric0": 2.0}, window).cells[0]
    differences = (paired.fast - paired.reference)[:, 0].mean(axis=1)
    low, high = stats.ttest_1samp(differences, 0).confidence_interval(0.90)
    assert (cell.low, cell.high, cell.df) == (pytest.approx(low), pytest.approx(high), 5)


def test_smallest_passing_margin_passes() -> None:
    """δ* is the multiple of the margins at which the test would just have passed."""
    curves = normal_curves(5, 5, shift=0.3, seed=8, j=2)
    margins = {"metric0": 0.4, "metric1": 0.2}
    windows = default_windows(curves.iteration)
    found = equivalence_test(curves, margins, windows)
    for scale, passes in [(1.0001, True), (0.9999, False)]:
        scaled = {name: value * found.delta_star * scale for name, value in margins.items()}
        assert equivalence_test(curves, scaled, windows).passes is passes


def test_one_failing_cell_fails_the_equivalence() -> None:
    """Every metric and window must pass."""
    curves = normal_curves(6, 6, seed=9, j=2)
    windows = default_windows(curves.iteration)
    assert equivalence_test(curves, {"metric0": 9.0, "metric1": 9.0}, windows).passes
    found = equivalence_test(curves, {"metric0": 9.0, "metric1": 0.01}, windows)
    assert not found.passes
    assert {cell.metric for cell in found.cells if not cell.passes} == {"metric1"}


def test_seeds_needed_formula() -> None:
    """Seeds needed are ⌈n (t se / (δ - |D|))²⌉, and none where the difference exceeds the margin."""
    curves = normal_curves(4, 4, shift=0.2, seed=10)
    cell = equivalence_test(curves, {"metric0": 0.5}, [Window("all", 1, 10)]).cells[0]
    t = stats.t.ppf(0.95, 6)
    expected = int(np.ceil(4 * (t * cell.se / (0.5 - abs(cell.difference))) ** 2))
    assert cell.seeds_needed == max(2, expected)
    shifted = normal_curves(4, 4, shift=5, seed=10)
    assert equivalence_test(shifted, {"metric0": 0.5}, [Window("all", 1, 10)]).seeds_needed is None


@pytest.mark.parametrize("margin", [0.0, -1.0, float("nan"), float("inf")])
def test_margin_must_be_positive(margin: float) -> None:
    """A margin that is no positive number is an error."""
    with pytest.raises(CurveError, match="margin"):
        equivalence_test(normal_curves(3, 3), {"metric0": margin}, [Window("all", 1, 10)])


def test_equivalence_without_spread_is_an_error() -> None:
    """One run of each arm leaves no spread; a window without iterations is refused, too."""
    with pytest.raises(CurveError, match="no spread"):
        equivalence_test(normal_curves(1, 1), {"metric0": 1.0}, [Window("all", 1, 10)])
    with pytest.raises(CurveError, match="holds no iteration"):
        equivalence_test(normal_curves(3, 3), {"metric0": 1.0}, [Window("late", 90, 99)])


def test_alignment_is_strict() -> None:
    """Unequal rows, other iterations, values that are not finite, other seeds: all are refused by name."""
    good = run("a", [1, 2, 3])
    cases = [
        ([good], [run("b", [1, 2])], "b has 2 rows"),
        ([good], [run("b", [1, 2, 3], first=5)], "different iterations"),
        ([good], [run("b", [1, np.nan, 3])], "b: 'loss' is not finite"),
        ([good], [], "nothing to compare"),
    ]
    for reference, fast, message in cases:
        with pytest.raises(CurveError, match=message):
            align(reference, fast, ["loss"])
    with pytest.raises(CurveError, match="no metric 'entropy'"):
        align([good], [good], ["entropy"])
    with pytest.raises(CurveError, match="same seeds"):
        align([run("a", [1, 2], 0)], [run("b", [1, 2], 1)], ["loss"], paired=True)
    with pytest.raises(CurveError, match="distinct seeds"):
        align([run("a", [1, 2])], [run("b", [1, 2])], ["loss"], paired=True)


def test_sparse_metrics_count_where_every_run_has_them() -> None:
    """A metric that some run lacks in an iteration is left out there, in every test, and told by name."""
    reference = [run("a", [1, np.nan, 3, 4]), run("b", [1, 2, 3, 4.5]), run("c", [1.1, 2, 3, 4])]
    fast = [run("d", [1, 2, 3, 9]), run("e", [1, 9, np.nan, 8]), run("f", [1.2, 2, 3, 8.5])]
    curves = align(reference, fast, ["loss"], sparse=["loss"])
    assert list(np.isfinite(curves.fast[0, 0])) == [True, False, False, True]
    found = difference_test(curves, RNG)
    assert (found.iteration, found.p) == (4, found.p_min)
    cell = equivalence_test(curves, {"loss": 1.0}, [Window("all", 1, 4)]).cells[0]
    assert cell.difference == pytest.approx((9 + 8 + 8.5 + 3.2) / 6 - (3.1 + 12.5) / 6)
    row = describe(curves)[0]
    assert (row.fast_max, row.fast_iteration) == (5.0, 4)
    with pytest.raises(CurveError, match="no window holds an iteration of 'loss'"):
        equivalence_test(curves, {"loss": 1.0}, [Window("mid", 2, 3)])
    with pytest.raises(CurveError, match="in no iteration"):
        align([run("a", [np.nan, 1])], [run("b", [1, np.nan])], ["loss"], sparse=["loss"])


def test_evaluated_iterations_are_judged_in_the_windows_that_hold_them() -> None:
    """Of scores in iterations 4 and 8 of eight alone, the early third has none: mid and late are judged by them."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(6, 8))
    rows[:, [0, 1, 2, 4, 5, 6]] = np.nan
    names = "abcdef"
    curves = align([run(names[i], rows[i]) for i in range(3)], [run(names[i], rows[i]) for i in range(3, 6)],
                   ["loss"], sparse=["loss"])  # fmt: skip
    assert curves.evaluated() == {"loss": [4, 8]}
    cells = equivalence_test(curves, {"loss": 1.0}, default_windows(curves.iteration)).cells
    assert [cell.window for cell in cells] == ["mid", "late"]
    for cell, column in zip(cells, (3, 7), strict=True):
        welch = stats.ttest_ind(rows[3:, column], rows[:3, column]).confidence_interval(0.90)
        assert (cell.low, cell.high) == (pytest.approx(welch.low), pytest.approx(welch.high))
    assert difference_test(curves, RNG).iteration in (4, 8)


def test_pairs_are_made_by_seed() -> None:
    """Runs are paired by seed, in whatever order they come, and equal ones are identical (tier 0)."""
    reference = [run("r0", [1, 2], 0), run("r1", [3, 4], 1)]
    fast = [run("f1", [3, 4], 1), run("f0", [1, 2], 0)]
    curves = align(reference, fast, ["loss"], paired=True)
    assert identical(curves)
    assert not identical(align(reference, fast, ["loss"]))
    fast[0] = run("f1", [3, np.nextafter(4, 5)], 1)
    assert not identical(align(reference, fast, ["loss"], paired=True))


def test_reference_that_does_not_repeat() -> None:
    """I25: the reference twice at the same seed differs by 10.96; printed, and pairing is disabled."""
    first = run("a", [1152.62, 460.26, 68.11], 0)
    second = run("aa", [1151.02, 471.22, 66.35], 0)
    alone = repeatability(first, second, [], ["loss"])
    assert alone.repeat_max["loss"] == pytest.approx(10.96)
    assert not alone.usable
    near = run("s1", [1150.0, 465.0, 70.0], 1)
    assert not repeatability(first, second, [near], ["loss"]).usable
    far = run("s1", [1300.0, 600.0, 90.0], 1)
    found = repeatability(first, second, [far], ["loss"])
    assert found.usable
    assert found.repeat_max["loss"] > 0
    assert repeatability(first, first, [], ["loss"]).repeat_max == {"loss": 0}


# ---- document 000 ------------------------------------------------------------------------------------------

DOCUMENT_000 = {  # largest per-iteration difference: fast to reference 0, reference 1 to reference 0
    "policy loss": (0.0088, 0.0103, "0.85", "inside the envelope"),
    "entropy": (0.042, 0.031, "1.35", "outside the envelope"),
    "kept transitions": (13_991, 10_333, "1.35", "outside the envelope"),
    "games finished": (72, 165, "0.44", "inside the envelope"),
    "mean plies": (18.0, 87.9, "0.20", "inside the envelope"),
}


def document_000() -> Curves:
    """Curves of ten iterations whose largest differences are those of document 000."""
    shape = np.array([0.1, 0.3, 1.0, -0.6, 0.2, 0.4, -0.2, 0.1, 0.05, 0.0])
    largest = np.array([row[:2] for row in DOCUMENT_000.values()])
    zero = np.zeros((len(largest), 10))
    return Curves(
        tuple(DOCUMENT_000),
        np.arange(1, 11),
        np.stack([zero, largest[:, 1:] * shape]),
        np.stack([largest[:, :1] * shape[::-1]]),
        False,
    )


def test_document_000_envelope() -> None:
    """Ratios 0.85, 1.35, 1.35, 0.44, 0.20; the same label for 1.354 and 1.355 (D20); false alarm 1/2."""
    rows = describe(document_000())
    for row, (fast_max, reference_max, ratio, label) in zip(rows, DOCUMENT_000.values(), strict=True):
        assert row.fast_max == pytest.approx(fast_max)
        assert row.reference_max == pytest.approx(reference_max)
        assert row.ratio is not None
        assert f"{row.ratio:.2f}" == ratio
        assert row.label == label
        assert row.false_alarm == 0.5
        assert row.fast_iteration == 8
        assert row.hold_out_failures is None


def test_document_000_curves_get_no_verdict() -> None:
    """Two reference runs and one fast run cannot tell arms apart: NO VERDICT, p_min 1/3."""
    curves = document_000()
    margins = {metric: 0.5 * row[1] for metric, row in DOCUMENT_000.items()}
    difference = judged("D", lambda: difference_test(curves, RNG))
    equivalence = judged("E", lambda: equivalence_test(curves, margins, default_windows(curves.iteration)))
    assert difference.result is not None
    assert difference.result.p_min == pytest.approx(1 / 3)
    found = curve_verdict(False, difference, equivalence)
    assert found.verdict is CurveVerdict.NO_VERDICT
    assert "p_min 0.333" in found.sentence


def test_last_iteration_alone_does_not_decide() -> None:
    """D20: equal curves but for the last iteration: the window mean of 0.024 decides, 0.12 is shown."""
    base = np.full(20, 0.5)
    fast = base.copy()
    fast[-1] = 0.62
    curves = align([run("r0", base), run("r1", base + 0.01)], [run("f", fast)], ["loss"])
    single = Curves(curves.metrics, curves.iteration, curves.reference[:1], curves.fast, False)
    assert describe(single)[0].fast_max == pytest.approx(0.12)
    cell = equivalence_test(
        align([run("a", base), run("b", base)], [run("f", fast)], ["loss"]),
        {"loss": 0.1},
        [Window("last five", 16, 20)],
    ).cells[0]
    assert cell.difference == pytest.approx(0.024)
    assert cell.passes


def test_envelope_false_alarm_is_one_over_k() -> None:
    """An identical arm leaves the envelope of k reference runs with the probability 1/k."""
    rng = np.random.default_rng(11)
    k, studies, outside, first_rank = 4, 2000, 0, 0
    for _ in range(studies):
        runs = rng.normal(size=(k + 1, 1, 5))
        row = describe(Curves(("x",), np.arange(5), runs[:k], runs[k:], False))[0]
        outside += row.ratio is not None and row.ratio > 1
        first_rank += row.rank == 1
    assert outside / studies == pytest.approx(1 / k, abs=0.03)
    assert first_rank / studies == pytest.approx(1 / (k + 1), abs=0.03)


def test_hold_out_calibration() -> None:
    """From four reference runs on it is told how many of them their own envelope would call different."""
    reference = np.zeros((5, 1, 3))
    reference[:, 0, 0] = [0.0, 0.1, -0.1, 0.05, 9.0]
    row = describe(Curves(("x",), np.arange(3), reference, reference[:1], False))[0]
    assert row.hold_out_failures is not None
    assert row.hold_out_failures >= 1


# ---- the verdict table -------------------------------------------------------------------------------------

ALL = [Window("all", 1, 10)]


@pytest.mark.parametrize(
    ("k", "m", "shift", "margin", "verdict"),
    [
        (6, 6, 0.0, 5.0, CurveVerdict.MATCHED),
        (6, 6, 3.0, 9.0, CurveVerdict.MATCHED_DIFFERENT),
        (6, 6, 9.0, 1.0, CurveVerdict.NOT_MATCHED),
        (6, 6, 3.0, 3.0, CurveVerdict.SIZE_UNRESOLVED),
        (6, 6, 0.0, 0.05, CurveVerdict.INCONCLUSIVE),
        (2, 1, 0.0, 0.05, CurveVerdict.NO_VERDICT),
        (1, 1, 0.0, 5.0, CurveVerdict.NO_VERDICT),
    ],
)
def test_verdict_table(k: int, m: int, shift: float, margin: float, verdict: CurveVerdict) -> None:
    """Each row of the verdict table is reached by data that deserve it."""
    curves = normal_curves(k, m, shift=shift, seed=12)
    found = curve_verdict(
        False,
        judged("test D", lambda: difference_test(curves, RNG)),
        judged("test E", lambda: equivalence_test(curves, {"metric0": margin}, ALL)),
    )
    assert found.verdict is verdict, found.sentence


def test_verdict_of_gates_identity_and_exceptions() -> None:
    """INVALID and IDENTICAL come first; an exception in a test gives NO VERDICT with its reason."""
    good = judged("D", lambda: difference_test(normal_curves(6, 6), RNG))
    match = judged("E", lambda: equivalence_test(normal_curves(6, 6), {"metric0": 9.0}, ALL))

    def broken() -> float:
        return 1 / 0

    failed = judged("test D", broken)
    assert failed == Judged(
        None, "test D could not be judged, by a fault in the program or its input: division by zero"
    )
    assert curve_verdict(True, good, match, gates_ok=False).verdict is CurveVerdict.INVALID
    assert curve_verdict(True, good, match).verdict is CurveVerdict.IDENTICAL
    for d, e in [(failed, match), (good, failed), (failed, failed)]:
        found = curve_verdict(False, d, e)  # type: ignore[arg-type]
        assert found.verdict is CurveVerdict.NO_VERDICT
        assert "division by zero" in found.sentence


def test_seed_correlation_is_that_of_run_means() -> None:
    """Over five pairs it is scipy's correlation of the runs' means; two pairs, or unpaired runs, show none."""
    curves = normal_curves(5, 5, paired=True)
    means = [arm[:, 0].mean(axis=1) for arm in (curves.reference, curves.fast)]
    assert seed_correlation(curves) == {"metric0": pytest.approx(stats.pearsonr(*means).statistic)}
    assert seed_correlation(normal_curves(2, 2, paired=True)) == {"metric0": None}
    assert seed_correlation(normal_curves(5, 5)) == {"metric0": None}
    level = Curves(("kept",), np.arange(1, 3), np.ones((4, 1, 2)), np.ones((4, 1, 2)), True)
    assert seed_correlation(level) == {"kept": None}
