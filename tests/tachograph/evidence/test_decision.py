"""Predictions, speed verdicts, decisions, and designs that can or cannot reach them."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import stdtrit

from tachograph.evidence.decision import Prediction, decide, judge_prediction, speed_verdict
from tachograph.evidence.design import (
    Design,
    chance_to_match,
    cheapest,
    check_design,
    expected_delta_star,
    refusal,
)
from tachograph.evidence.interval import paired_log_t, rate_interval, welch_log
from tachograph.evidence.judging import Judged, judged
from tachograph.evidence.verdicts import (
    CurveVerdict,
    Decision,
    ParityVerdict,
    PredictionVerdict,
    SpeedVerdict,
)

FASTER = judged("factor", lambda: paired_log_t([100, 101, 99, 100], [200, 203, 199, 198]))


def test_document_000_prediction() -> None:
    """Predicted 40,000 steps/s, measured 10,150: 0.25, REFUTED, with the spread of the reference runs."""
    measured, low, high = rate_interval([10150], [4231, 4341])
    found = judge_prediction(Prediction(40_000, 40_000), measured, low, high)
    assert found.verdict is PredictionVerdict.REFUTED
    assert f"{found.ratio:.2f}" == "0.25"
    assert "measured/predicted 0.25, REFUTED" in found.sentence


@pytest.mark.parametrize(
    ("prediction", "verdict"),
    [
        ((1.5, 3.5), PredictionVerdict.CONFIRMED),
        ((3.5, 5.0), PredictionVerdict.REFUTED),
        ((1.0, 1.7), PredictionVerdict.REFUTED),
        ((2.0, 5.0), PredictionVerdict.UNRESOLVED),
        ((2.4, 2.4), PredictionVerdict.UNRESOLVED),
    ],
)
def test_prediction_intervals(prediction: tuple[float, float], verdict: PredictionVerdict) -> None:
    """Against 2.37 [1.79, 3.14]: inside is confirmed, apart is refuted, anything else stays open."""
    f = welch_log([4231, 4341], [10150])
    assert judge_prediction(Prediction(*prediction), f.factor, f.low, f.high).verdict is verdict


def test_no_interval_never_refutes() -> None:
    """Without a measured interval even a far prediction stays unresolved."""
    assert judge_prediction(Prediction(9, 9), 1.0, None, None).verdict is PredictionVerdict.UNRESOLVED
    with pytest.raises(ValueError, match="low <= high"):
        judge_prediction(Prediction(2, 1), 1.0, None, None)


def test_speed_verdicts() -> None:
    """The interval's lower bound must reach the minimum effect; a cap turns the verdict PROVISIONAL."""
    assert speed_verdict(FASTER, 1.05).verdict is SpeedVerdict.GAIN
    assert speed_verdict(FASTER, 2.5).verdict is SpeedVerdict.NO_GAIN
    assert speed_verdict(FASTER, 2.0).verdict is SpeedVerdict.UNRESOLVED
    capped = speed_verdict(FASTER, 1.05, ["contended"])
    assert (capped.verdict, capped.uncapped) == (SpeedVerdict.PROVISIONAL, SpeedVerdict.GAIN)
    assert speed_verdict(FASTER, 2.0, ["contended"]).verdict is SpeedVerdict.UNRESOLVED
    assert speed_verdict(FASTER, 1.05, unsteady="only 3 of 9 iterations").verdict is SpeedVerdict.NO_VERDICT
    single = judged("factor", lambda: paired_log_t([100], [200]))
    assert speed_verdict(single, 1.05).verdict is SpeedVerdict.UNRESOLVED
    broken: Judged = judged("factor", lambda: paired_log_t([0], [1]))
    assert speed_verdict(broken, 1.05).verdict is SpeedVerdict.NO_VERDICT


def test_regression_is_not_called_from_two_blocks() -> None:
    """I11: two sequential blocks of the same commit stay unresolved, never a regression."""
    factor = judged("factor", lambda: paired_log_t([1 / 3.855, 1 / 4.183], [1 / 4.523, 1 / 4.261]))
    assert speed_verdict(factor, 1.05).verdict is SpeedVerdict.UNRESOLVED


def test_decision_is_total_and_safe() -> None:
    """Every combination has a decision; ADOPT needs a gain, matched curves and no failed parity."""
    for speed, curve, parity, allowed in product(SpeedVerdict, CurveVerdict, ParityVerdict, [False, True]):
        found = decide(speed, curve, parity, detectable_difference_allowed=allowed)
        assert found.sentence
        good_curve = curve in {CurveVerdict.IDENTICAL, CurveVerdict.MATCHED} or (
            allowed and curve is CurveVerdict.MATCHED_DIFFERENT
        )
        good_parity = parity in {ParityVerdict.PASS, ParityVerdict.NOT_REGISTERED}
        adopt = speed is SpeedVerdict.GAIN and good_curve and good_parity
        reject = (
            speed is SpeedVerdict.NO_GAIN
            or curve in {CurveVerdict.NOT_MATCHED, CurveVerdict.INVALID}
            or parity is ParityVerdict.FAIL
        )
        expected = Decision.ADOPT if adopt else Decision.REJECT if reject else Decision.HOLD
        assert found.decision is expected, (speed, curve, parity)


def test_every_cause_of_a_decision_is_named() -> None:
    """What holds or rejects an arm is told in full, not its first cause alone."""
    capped = speed_verdict(FASTER, 1.05, ["drift of +9 %", "contended", "throttled"])
    held = decide(
        capped.verdict,
        CurveVerdict.NO_VERDICT,
        ParityVerdict.REFERENCE_BROKEN,
        sessions_registered=2,
        speed_told=capped.sentence,
        incomplete="only 3 of 4 planned runs count",
    )
    assert held.decision is Decision.HOLD
    assert held.sentence == (
        "the speed is PROVISIONAL (GAIN but for this: drift of +9 % and 2 more); the curves give NO VERDICT; "
        "the numerics parity is REFERENCE BROKEN; 1 of 2 registered sessions made so far; "
        "only 3 of 4 planned runs count"
    )
    rejected = decide(SpeedVerdict.NO_GAIN, CurveVerdict.NOT_MATCHED, ParityVerdict.FAIL)
    assert rejected.decision is Decision.REJECT
    assert rejected.sentence == (
        "the numerics parity failed; the curves are NOT MATCHED; the gain is below the registered minimum"
    )


def test_registered_sessions() -> None:
    """I13: 1.06x from one session is HOLD where two are registered, ADOPT "in one session" where one is."""
    case = (SpeedVerdict.GAIN, CurveVerdict.MATCHED, ParityVerdict.PASS)
    held = decide(*case, sessions=1, sessions_registered=2)
    assert held.decision is Decision.HOLD
    assert "1 of 2" in held.sentence
    assert decide(*case, sessions=2, sessions_registered=2).decision is Decision.ADOPT
    adopted = decide(*case)
    assert adopted.decision is Decision.ADOPT
    assert "in one session" in adopted.sentence


# ---- the design check --------------------------------------------------------------------------------------

STANDARD = Design(4, 4, 4, True, {"loss": 3.0}, sd_log=0.02)


def test_two_seed_plan_is_refused_with_the_way_out() -> None:
    """A confirmatory plan of two seeds is refused; the message names the cheapest design that could."""
    plan = replace(STANDARD, reference_runs=2, fast_runs=2, blocks=2)
    text = refusal(plan)
    assert text is not None
    assert "p_min 0.333" in text
    assert "4 blocks" in text
    way = cheapest(plan)
    assert way is not None
    assert check_design(way).ok
    assert refusal(way) is None


def test_standard_plan_reaches_every_outcome() -> None:
    """Four blocks at 2 % and margins of 3 σ reach every verdict, and say at which effect."""
    found = check_design(STANDARD)
    assert found.ok
    assert set(found.speed) == {SpeedVerdict.GAIN, SpeedVerdict.NO_GAIN, SpeedVerdict.UNRESOLVED}
    assert found.p_min == pytest.approx(2 / 70)
    assert found.gain_from == pytest.approx(1.05 * 1.0323, abs=1e-3)
    assert CurveVerdict.NO_VERDICT not in found.curves
    assert found.delta_star is not None
    assert found.matched_below == pytest.approx(1 - found.delta_star)
    assert found.not_matched_from == pytest.approx(1 + found.delta_star)


@pytest.mark.parametrize(
    ("change", "missing"),
    [
        ({"blocks": 1, "reference_runs": 1, "fast_runs": 1}, "interval"),
        ({"reference_runs": 3, "fast_runs": 3, "blocks": 3}, "p_min 0.1 exceeds"),
        ({"margins": {"loss": 0.5}}, "times the registered margins"),
        ({"margins": {}}, "no spread"),
        ({"predicted_high": 1.06}, "the prediction ends at 1.06"),
        ({"sd_log": 0.5, "predicted_high": 2.0}, "GAIN: it would take"),
    ],
)
def test_plans_that_cannot_decide(change: dict[str, object], missing: str) -> None:
    """Each way in which a plan cannot reach an outcome of its own rule is found and named."""
    text = refusal(replace(STANDARD, **change))  # type: ignore[arg-type]
    assert text is not None
    assert missing in text


def test_hopeless_margins_are_said_to_be_so() -> None:
    """Where no number of runs helps, the sentence says so instead of naming one."""
    text = refusal(replace(STANDARD, margins={"loss": 0.01}))
    assert text is not None
    assert "widen the margins" in text


@pytest.mark.parametrize(
    ("margin", "scalar", "three_windows", "fifteen_cells"),
    [(1, 18, 24, 32), (1.5, 9, 11, 15), (2, 6, 7, 9), (3, 3, 4, 5)],
)
def test_chance_to_match_is_that_of_the_published_table(
    margin: float, scalar: int, three_windows: int, fifteen_cells: int
) -> None:
    """Seeds per arm for 80 % power of test E (statistics.md, 3.2, simulated): the formula needs as many or a few more.

    It takes cells as independent, which asks for more seeds than windows of one metric that go together.
    """

    def seeds(metrics: int, windows: int) -> int:
        margins = {str(number): margin for number in range(metrics)}
        plan = Design(2, 2, 0, paired_curves=False, margins=margins, windows=windows)
        chances = ((n, chance_to_match(replace(plan, reference_runs=n, fast_runs=n))) for n in range(2, 64))
        return next(n for n, chance in chances if chance is not None and chance >= 0.8)

    assert seeds(1, 1) == scalar
    assert three_windows <= seeds(1, 3) <= three_windows + 1
    assert fifteen_cells <= seeds(5, 3) <= 1.1 * fifteen_cells + 0.5


def test_chance_to_match_is_what_simulated_studies_show() -> None:
    """Paired blocks of equal arms, drawn with a fixed seed: as many pass test E as the formula says."""
    rng = np.random.default_rng(20261130)
    for blocks, margin in ((4, 2.0), (6, 3.0)):
        differences = rng.normal(size=(20_000, blocks)) - rng.normal(size=(20_000, blocks))
        curves_pass = np.abs(differences.mean(1)) + stdtrit(blocks - 1, 0.95) * differences.std(1, ddof=1) / np.sqrt(
            blocks
        )
        plan = Design(blocks, blocks, blocks, paired_curves=True, margins={"loss": margin}, windows=1)
        assert (curves_pass < margin).mean() == pytest.approx(chance_to_match(plan), abs=0.012)  # 3.4 standard errors
    assert chance_to_match(Design(1, 1, 1, paired_curves=True, margins={"loss": 2.0})) is None


def test_unpaired_plans_may_be_unequal() -> None:
    """Without blocks the cheapest plan is 4 + 3 runs at wide margins."""
    plan = Design(2, 1, 0, False, {"loss": 9.0}, sd_log=0.01)
    way = cheapest(plan)
    assert way is not None
    assert (way.reference_runs, way.fast_runs) == (4, 3)


def test_expected_half_width_table() -> None:
    """sd 1 %: ±2.5, 1.6, 1.1 % for n = 3, 4, 6; sd 5 %: ±13, 8.3, 5.4 %."""
    for sd, widths in [(0.01, (2.5, 1.6, 1.1)), (0.02, (5.1, 3.2, 2.1)), (0.05, (13, 8.3, 5.4))]:
        for n, width in zip((3, 4, 6), widths, strict=True):
            found = check_design(replace(STANDARD, blocks=n, reference_runs=n, fast_runs=n, sd_log=sd))
            assert found.gain_from is not None
            assert 100 * (found.gain_from / 1.05 - 1) == pytest.approx(width, rel=0.05)


def test_expected_margin_multiple() -> None:
    """With 18 runs an arm can be shown to lie within 1 σ; with two it cannot, even at 4 σ."""
    many = expected_delta_star(Design(18, 18, 0, False, {"loss": 1.0}))
    few = expected_delta_star(Design(2, 1, 0, False, {"loss": 4.0}))
    assert many is not None
    assert few is not None
    assert many < 1 < few
