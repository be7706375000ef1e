"""May the factor be relied on: were the runs steady, was there drift, what does the same arm give twice?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachograph.analysis.disturbance import busy, gpu_programs, loaded
from tachograph.analysis.factors import factor_of, headline_factor
from tachograph.analysis.rates import ITERATION, RETAINED
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.evidence.cost import OneOff, break_even, one_off
from tachograph.evidence.drift import drift_model
from tachograph.evidence.placebo import judge_placebo, placebo_cap
from tachograph.evidence.randomness import generator
from tachograph.evidence.throughput import ThroughputError, retained
from tachograph.evidence.warmup import RELEVANT, Outcome, Steadiness, assess_study
from tachograph.evidence.withinrun import within_run
from tachograph.study.registration import current

Floats = NDArray[np.float64]
Row = dict[str, Any]

# At most this share of stationary studies may lose their verdict to a test of these (statistics.md, 3.1): one half is
# that of the steadiness of all runs and arms together, the other that of the drift, divided among the arms.
FALSE_CAPS = 0.05


def steadiness(sealed: SealedStudy) -> dict[str, Any]:
    """Outcome of the warm-up rule for every run of the blocks and for the mean series of each arm.

    ``runs`` also hold the precision within the run, a secondary line: runs differ by more than it says.
    ``longer_warmup``: how many iterations the MSER rule drops where a warm-up longer than the registered one was found
    (the most of any run or mean series, the same for all arms), else None.
    """
    stage, warmup = sealed.trainer.history.stage.name, sealed.study.design.warmup
    durations: dict[str, Floats] = {}
    arms: dict[str, str] = {}
    rows: dict[str, NDArray[np.int64]] = {}
    for run in sealed.of_role("run"):
        key, (usable, seconds, work) = run.planned.key, _usable(run, stage)
        told = seconds > 0  # the rule compares logarithms; a coarse clock shows 0 s
        if told.any():
            durations[key] = (seconds / work)[told] * work[told].mean()  # at equal work per iteration
            arms[key], rows[key] = run.planned.arm, usable[told]
    found = judge_steadiness(durations, arms, {key: _early(usable, warmup) for key, usable in rows.items()})
    for one in found["runs"]:
        one["within_run"] = _precision(sealed, one["run"], stage)
    return {**found, "longer_warmup": _longer_warmup(found, rows, arms, warmup)}


def _longer_warmup(found: Row, rows: dict[str, NDArray[np.int64]], arms: dict[str, str], warmup: int) -> int | None:
    of_runs = [(one, rows[one["run"]]) for one in found["runs"]]
    of_arms = [(one, next(rows[key] for key in rows if arms[key] == arm)) for arm, one in found["arms"].items()]
    flagged = [(one, usable) for one, usable in (*of_runs, *of_arms) if Outcome.LONGER_WARMUP in one["flags"]]
    dropped = [int(usable[one["mser"]]) for one, usable in flagged]
    return max((number for number in dropped if number > warmup), default=None)


def judge_steadiness(durations: dict[str, Floats], arms: dict[str, str], early: dict[str, int]) -> Row:
    """The section, but for the precision within the runs; the arguments are those of :func:`assess_study`."""
    found = assess_study(durations, arms, early, FALSE_CAPS / 2)
    return {
        "runs": [{"run": key, "arm": arms[key], **_outcome(one)} for key, one in found.runs.items()],
        "arms": {arm: _outcome(one) for arm, one in found.arms.items()},
        "headline": found.headline,
        "no_headline": [f"{key}: {why}" for key, one in found.runs.items() if (why := one.no_headline)],
        "capped": found.capped,
    }


def _usable(run: SealedRun, duration: str) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Which rows of the history can give a rate, with the seconds and the work of each."""
    assert run.history is not None
    try:
        rows = retained(run.history, duration, 0).rows
    except ThroughputError:
        rows = np.zeros(0, dtype=np.int64)
    return rows, run.history.durations[duration][rows], run.history.work[rows]


def _early(usable: NDArray[np.int64], warmup: int) -> int:
    """How many usable rows are warm-up: fewer than registered where an evaluation or a compilation lies in it."""
    return int((usable < warmup).sum())


def _outcome(one: Steadiness) -> Row:
    values = asdict(one)
    return {**values, "flags": [str(flag) for flag in one.flags], "outcome": str(one.outcome)}


def _precision(sealed: SealedStudy, key: str, stage: str) -> Row | None:
    usable, seconds, work = _usable(sealed.runs[key], stage)
    dropped = _early(usable, sealed.study.design.warmup)
    rng = generator(current(sealed.registration)["sha256"], f"within run {key}")
    found = within_run(work[dropped:], seconds[dropped:], rng, sealed.trainer.history.period)
    return None if found is None else asdict(found)


def no_headline(section: Row) -> str | None:
    """Why there is no headline factor, from the section of the steadiness; None where there is one."""
    if section["headline"]:
        return None
    return f"no headline factor, as {'; '.join(section['no_headline'])}"


def drift(arm_order: list[str], runs: list[Row], realised: list[str]) -> list[Row]:
    """Sensitivity to a drift over the session, for each arm over the reference; ``factor`` is without the drift.

    ``arm_order``: the reference first. ``realised``: the keys of ``runs`` in the order in which they were made.
    """
    reference, *others = arm_order
    found = []
    for arm in others:
        rated = {
            run["run"]: run
            for run in runs
            if run["role"] == "run" and run["arm"] in (reference, arm) and run["rates"]["stage"][RETAINED]["value"]
        }
        placed = [rated[key] for key in realised if key in rated]
        model = drift_model(
            [run["rates"]["stage"][RETAINED]["value"] for run in placed],
            [run["arm"] == arm for run in placed],
            [str(run["block"]) for run in placed],
            FALSE_CAPS / 2 / len(others),
        )
        if model is None:
            found.append({"arm": arm, "factor": None, "reason": "too few blocks to tell drift, block and arm apart"})
        else:
            found.append({"arm": arm, **asdict(model)})
    return found


def placebo(sealed: SealedStudy, runs: list[Row], factors: list[Row]) -> dict[str, Any]:
    """A/A: the reference arm's first seed run twice; its factor is 1 but for the noise of this host."""
    reference, seed = sealed.study.design.reference, sealed.study.design.seeds[0]
    if not sealed.study.design.repeat_reference:
        return {"registered": False, "reason": "no repeat of the reference (A/A) is registered"}
    named = {run["run"]: run for run in runs}
    first, second = named.get(f"run-{reference}-seed{seed}"), named.get(f"aa-{reference}-seed{seed}")
    if first is None or second is None:
        return {"registered": True, "factor": None, "reason": "a run of the pair does not count"}
    rates = [run["rates"]["stage"][RETAINED]["value"] for run in (first, second)]
    if not all(rates):
        return {"registered": True, "factor": None, "reason": "a run of the pair gives no rate"}
    found = judge_placebo(rates[:1], rates[1:])
    rule = sealed.study.decision
    least = None if rule is None else rule.minimum_effect
    caps = {arm: placebo_cap(found.factor.factor, headline_factor(factors, arm), least) for arm in sealed.other_arms}
    return {
        "registered": True,
        "label": f"{sealed.trainer.history.stage.name} throughput",
        "unit": f"{sealed.trainer.history.work.unit}/s",
        "window": first["rates"]["stage"][RETAINED]["window"],
        "numerator": second["run"],
        "denominator": first["run"],
        "values": rates[::-1],
        "factor": found.factor.factor,
        "largest": found.largest,
        "caps": [{"arm": arm, "sentence": sentence} for arm, sentence in caps.items() if sentence],
    }


def costs(sealed: SealedStudy, factors: list[Row]) -> list[Row]:
    """What warm-up costs once, block by block, and after how many iterations the arm is ahead, start included.

    ``ahead`` is a :class:`~tachograph.evidence.cost.BreakEven` by the arm's factor of the iteration over all blocks.
    Where iterations differ in work, what the first ones cost beyond others is not known: then the seconds and
    ``ahead`` are None and ``reason`` says why.
    """
    reference = sealed.study.design.reference
    found = []
    for arm in sealed.other_arms:
        factor = factor_of(factors, arm, ITERATION, RETAINED)
        for run in sealed.of_arm(arm):
            other = sealed.runs.get(f"run-{reference}-seed{run.planned.seed}")
            if other is None:
                continue
            row: Row = {"arm": arm, "seed": run.planned.seed, "once_seconds": None, "reference_once_seconds": None}
            uneven = _uneven_work(sealed, [other, run])
            mine, theirs = _one_off(sealed, run), _one_off(sealed, other)
            if uneven is not None:
                found.append({**row, "ahead": None, "reason": uneven})
            elif mine is not None and theirs is not None:
                ahead = break_even(mine.seconds - theirs.seconds, theirs.typical, factor)
                seconds = {"once_seconds": mine.seconds, "reference_once_seconds": theirs.seconds}
                found.append({**row, **seconds, "ahead": asdict(ahead), "reason": None})
    return found


def _uneven_work(sealed: SealedStudy, runs: list[SealedRun]) -> str | None:
    """A sentence where the iterations of a block differ in work, so that a longer one may have done more."""
    histories = [run.history for run in runs if run.history is not None]
    work = np.concatenate([history.work[history.curve_rows] for history in histories])
    work = work[np.isfinite(work) & (work > 0)]
    if not len(work) or work.max() <= (1 + RELEVANT) * work.min():
        return None
    unit = sealed.trainer.history.work.unit
    return f"an iteration did {work.min():,.0f} to {work.max():,.0f} {unit}"


def _one_off(sealed: SealedStudy, run: SealedRun) -> OneOff | None:
    """The one-off cost of the warm-up iterations and of those that the trainer says it compiled in."""
    assert run.history is not None
    history, warmup = run.history, sealed.study.design.warmup
    seconds = history.durations[ITERATION]
    once = (np.arange(len(history)) < warmup) | history.is_compile
    once &= history.clock_ok & np.isfinite(seconds) & ~history.is_evaluation & ~history.is_checkpoint
    try:
        return one_off(seconds[once], seconds[retained(history, ITERATION, warmup).rows])
    except (ThroughputError, ValueError):
        return None


def reservations(analysis: dict[str, Any]) -> list[Row]:
    """What speaks against relying on the factors, which are then provisional (3.1, 3.3, 3.4): ``{"arm", "sentence"}``.

    ``arm`` is the one arm whose factor is concerned, None where all are, as for everything about the reference.
    """
    reference = analysis["registration"]["design"]["reference"]
    found: list[Row] = []

    def say(sentence: str, arm: str | None = None) -> None:
        found.append({"arm": None if arm == reference else arm, "sentence": sentence})

    for check in analysis["preflight"]["checks"]:
        if check["verdict"] != "PASS":
            say(f"preflight: {check['check']} ({check['arm']}): {check['verdict']}", check["arm"])
    for one in analysis["steadiness"]["runs"]:
        if _shaky(one):
            say(f"{one['run']}: {one['outcome']}", one["arm"])
    for arm, one in analysis["steadiness"]["arms"].items():
        if _shaky(one):
            say(f"mean of arm {arm}: {one['outcome']}", arm)
    blocks, bounds = [run for run in analysis["runs"] if run["role"] == "run"], analysis["quiet"]
    disturbed = {
        "other programs kept the processors busy": [run for run in blocks if busy(run["host"], bounds) is True],
        "what other programs did is unknown": [run for run in blocks if busy(run["host"], bounds) is None],
        "the load exceeded the registered one, or is unknown,": [run for run in blocks if loaded(run["host"], bounds)],
        "other programs used the GPU": [run for run in blocks if gpu_programs(run) == "contaminated"],
        "whether other programs used the GPU is unknown": [run for run in blocks if gpu_programs(run) == "unknown"],
    }
    for what, runs in disturbed.items():
        arms = dict.fromkeys(run["arm"] for run in runs)
        for arm in [None] if reference in arms else arms:
            keys = [run["run"] for run in runs if arm in (None, run["arm"])]
            every = len(keys) == len(blocks)
            say(f"{what} during {'every run of the blocks' if every else ', '.join(keys)}", arm)
    for sentence in analysis["order"]["block_deviations"]:
        say(sentence)
    for one in analysis["clocks"]["cycles"]:
        if one["sentence"]:
            say(one["sentence"], one["arm"])
    if analysis["clocks"]["throttled"]:
        say(f"the clock stayed below 95 % of its largest during {', '.join(analysis['clocks']['throttled'])}")
    for one in analysis["placebo"].get("caps", []):
        say(one["sentence"], one["arm"])
    for one in analysis["drift"]:
        if one.get("flagged"):
            say(f"drift of {one['total']:+.1%} over the session ({one['arm']})", one["arm"])
    return found


def _shaky(one: Row) -> bool:
    return bool(one["outcome"] in ("slowdown", "no steady state", "INSUFFICIENT"))
