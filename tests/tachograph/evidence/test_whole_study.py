"""A whole study, from files on disk to the decision, as the record composes it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tachograph.evidence.curves import RunCurve, align, default_windows
from tachograph.evidence.decision import (
    Prediction,
    curve_verdict,
    decide,
    judge_prediction,
    speed_verdict,
)
from tachograph.evidence.difference import difference_test
from tachograph.evidence.equivalence import equivalence_test
from tachograph.evidence.gates import Ended, Expected, judge
from tachograph.evidence.history import Counter, History, HistorySpec, read_history
from tachograph.evidence.interval import Factor, RunRate, factor_of_runs
from tachograph.evidence.judging import judged
from tachograph.evidence.randomness import generator
from tachograph.evidence.throughput import rate, retained
from tachograph.evidence.verdicts import (
    CurveVerdict,
    Decision,
    ParityVerdict,
    PredictionVerdict,
    SpeedVerdict,
)
from tachograph.evidence.warmup import assess_study
from tachograph.study.planning import block_order

ITERATIONS, BLOCKS, WORK = 12, 6, 3200
SPEC = HistorySpec(
    work=Counter("steps"),
    work_unit="environment steps",
    durations={"iteration": Counter("iteration_seconds"), "collection": Counter("collection_seconds")},
    metrics=("entropy",),
    zero_work=("kept",),
    monotonic="monotonic",
    wall="wall",
)
EXPECTED = Expected(ITERATIONS, "environment steps", ("entropy",), first_iteration=1)


def write_study(folder: Path, factor: float, shift: float) -> dict[tuple[str, int], Path]:
    """Histories of two arms over the blocks, in ABBA order on one clock, with 1 % noise."""
    rng, clock, paths = np.random.default_rng(7), 1000.0, {}
    for block in range(BLOCKS):
        for arm in block_order(["reference", "fast"], block):
            speed, lower = (factor, shift) if arm == "fast" else (1.0, 0.0)
            offset, rows = 0.05 * rng.normal(), []
            for i in range(1, ITERATIONS + 1):
                seconds = 10 * np.exp(0.01 * rng.normal()) / speed + (5 if i == 1 else 0)
                clock += seconds + 0.01
                rows.append(
                    {
                        "iteration": i, "steps": WORK, "iteration_seconds": seconds, "kept": 800,
                        "collection_seconds": 0.7 * seconds, "monotonic": clock, "wall": 1e9 + clock,
                        "entropy": 3 - 0.05 * i + offset - lower + 0.02 * rng.normal(),
                    }
                )  # fmt: skip
            path = folder / f"{arm}{block}.jsonl"
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
            paths[arm, block] = path
    return paths


def factor_of(histories: dict[tuple[str, int], History], duration: str) -> Factor:
    arms: dict[str, list[RunRate]] = {"reference": [], "fast": []}
    for (arm, block), history in histories.items():
        value = rate(history, duration, retained(history, duration, 1).rows, "after 1").value
        arms[arm].append(RunRate(value, str(block), block))
    return factor_of_runs(arms["reference"], arms["fast"])


@pytest.mark.parametrize(
    ("factor", "shift", "speed", "curves", "decision"),
    [
        (2.0, 0.0, SpeedVerdict.GAIN, CurveVerdict.MATCHED, Decision.ADOPT),
        (1.0, 0.0, SpeedVerdict.NO_GAIN, CurveVerdict.MATCHED, Decision.REJECT),
        (2.0, 0.9, SpeedVerdict.GAIN, CurveVerdict.NOT_MATCHED, Decision.REJECT),
    ],
)
def test_study_from_files_to_decision(
    tmp_path: Path,
    factor: float,
    shift: float,
    speed: SpeedVerdict,
    curves: CurveVerdict,
    decision: Decision,
) -> None:
    """Known truths come out of twelve history files: the factor, the curve verdict, the decision."""
    paths = write_study(tmp_path, factor, shift)
    histories = {key: read_history(path, SPEC) for key, path in paths.items()}
    assert all(judge(history, Ended(0), EXPECTED).valid for history in histories.values())

    steadiness = assess_study(
        {f"{arm}{b}": h.durations["iteration"] for (arm, b), h in histories.items()},
        {f"{arm}{b}": arm for arm, b in histories},
        warmup=1,
    )
    assert not steadiness.capped
    found = judged("the factor", lambda: factor_of(histories, "iteration"))
    assert found.result is not None
    assert found.result.paired
    assert found.result.low is not None
    assert found.result.high is not None
    assert found.result.low < factor < found.result.high
    spoken = speed_verdict(found, 1.05, unsteady=None if steadiness.headline else "not steady")
    assert spoken.verdict is speed

    runs: dict[str, list[RunCurve]] = {"reference": [], "fast": []}
    for (arm, block), history in histories.items():
        values = {"entropy": history.curve("entropy")}
        runs[arm].append(RunCurve(f"{arm}{block}", block, history.iteration[history.curve_rows], values))
    aligned = align(runs["reference"], runs["fast"], ["entropy"], paired=True)
    windows = default_windows(aligned.iteration)
    verdict = curve_verdict(
        False,
        judged("test D", lambda: difference_test(aligned, generator("ab" * 32, "difference"))),
        judged("test E", lambda: equivalence_test(aligned, {"entropy": 0.2}, windows)),
    )
    assert verdict.verdict is curves, verdict.sentence
    assert decide(spoken.verdict, verdict.verdict, ParityVerdict.PASS).decision is decision

    guess = judge_prediction(Prediction(1.8, 2.2), found.result.factor, found.result.low, found.result.high)
    expected = PredictionVerdict.CONFIRMED if factor == 2.0 else PredictionVerdict.REFUTED
    assert guess.verdict is expected


def test_one_invalid_run_leaves_its_block_out(tmp_path: Path) -> None:
    """A run that trained on nothing is invalid; its block gives no ratio, the others still do."""
    paths = write_study(tmp_path, 2.0, 0.0)
    bad = paths["fast", 2]
    bad.write_text(bad.read_text().replace('"kept": 800', '"kept": 0'))
    histories = {key: read_history(path, SPEC) for key, path in paths.items()}
    invalid = {key: judge(h, Ended(0), EXPECTED).reason for key, h in histories.items()}
    assert {key for key, reason in invalid.items() if reason is not None} == {("fast", 2)}
    counted = {key: h for key, h in histories.items() if invalid[key] is None}
    factor = factor_of(counted, "iteration")
    assert (factor.n_reference, factor.n_fast) == (BLOCKS - 1, BLOCKS - 1)
    assert factor.factor == pytest.approx(2.0, rel=0.02)
