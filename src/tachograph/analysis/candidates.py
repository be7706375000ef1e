"""Candidates: what was measured of each, and whether it is kept or rejected and why."""

from __future__ import annotations

from typing import Any

from tachograph.analysis.disturbance import disturbed, quiet
from tachograph.analysis.measured import Measured
from tachograph.analysis.sealed import SealedRun, SealedStudy
from tachograph.analysis.trials import read_trial
from tachograph.analysis.turns import read_turns
from tachograph.evidence import amdahl
from tachograph.evidence.candidates import CandidateJudgement, judge_candidate
from tachograph.evidence.judging import Judged, judged
from tachograph.evidence.verdicts import CandidateVerdict, Reason
from tachograph.study.planning import PlannedRun

Row = dict[str, Any]


def candidates(sealed: SealedStudy, stages: dict[str, Any]) -> list[Row]:
    """One row for each registered candidate, in registered order; ``stages`` is the section of that name.

    ``verdict`` is KEPT, REJECTED or NO VERDICT with a ``reason`` code, NOT RUN, or NO VERDICT for want of a
    measurement. What was measured stands beside it in all cases, with the SHA-256 of the file it comes from. Of rivals
    that could all be kept, the fastest is.
    """
    planned = {run.arm: run for run in sealed.planned if run.role == "candidate"}
    read = {name: _read(sealed, run) for name, run in planned.items()}
    alone = {name: _judge(sealed, name, one.result, None) for name, one in read.items()}
    rows = []
    for name, one in read.items():
        judgement = _judge(sealed, name, one.result, _superseding(sealed, name, read, alone))
        rows.append(_row(sealed, planned[name], one, judgement, stages))
    return rows


def _read(sealed: SealedStudy, planned: PlannedRun) -> Judged[Measured | str]:
    """What was measured, or in words why nothing could be; a reason instead where no verdict can be given."""
    run = sealed.runs.get(planned.key)
    if run is None:
        settled = sealed.state.settled(planned)
        failed = f": {settled.reason}" if settled else ""
        return Judged(None, f"no attempt of {planned.key} counts{failed}")
    return judged("it", lambda: read_turns(sealed, run) if planned.in_turn else read_trial(sealed, run))


def _judge(
    sealed: SealedStudy, name: str, measured: Measured | str | None, superseded_by: str | None
) -> Judged[CandidateJudgement]:
    if not isinstance(measured, Measured):
        return Judged(None, None)
    rule = sealed.study.decision
    return judged(
        "it",
        lambda: judge_candidate(
            measured.factor.result,
            sealed.study.least_gain(name),
            measured.parity,
            measured.nonfinite_steps,
            measured.steps,
            superseded_by,
            measured.curves,
            measured.step_unit,
            measured.base_nonfinite_steps,
            rule is not None and rule.allow_detectable_difference,
        ),
    )


def _superseding(
    sealed: SealedStudy,
    name: str,
    read: dict[str, Judged[Measured | str]],
    alone: dict[str, Judged[CandidateJudgement]],
) -> str | None:
    """The fastest rival that could be kept and is faster than ``name``; being rivals is mutual."""
    listed = sealed.study.candidates
    rivals = {other for other in listed if other in listed[name].rivals or name in listed[other].rivals}
    gains = {
        other: _gain(read[other].result)
        for other in [name, *rivals]
        if (judgement := alone[other].result) is not None and judgement.verdict is CandidateVerdict.KEPT
    }
    best = max(gains, key=lambda other: gains[other], default=name)
    return best if name in gains and gains[best] > gains[name] else None


def _gain(measured: Measured | str | None) -> float:
    found = measured.factor.result if isinstance(measured, Measured) else None
    return found.factor if found else 0.0


def _row(
    sealed: SealedStudy,
    planned: PlannedRun,
    read: Judged[Measured | str],
    judgement: Judged[CandidateJudgement],
    stages: dict[str, Any],
) -> Row:
    name = planned.arm
    registered, run = sealed.study.candidates[name], sealed.runs.get(planned.key)
    row: Row = {
        "name": name,
        "title": registered.title,
        "why": registered.why,
        "measure": registered.measure,
        "against": sealed.study.base_arm(name),
        "run": planned.key,
        "status": sealed.state.run_status(planned),
        "minimum_effect": sealed.study.least_gain(name),
        "reason": None,
        "evidence": None if run is None else _evidence(run),
        "disturbed": [] if run is None else disturbed(run.facts, quiet(sealed)),
    }
    measured = read.result
    if isinstance(measured, str):
        return {**row, "verdict": str(CandidateVerdict.NOT_RUN), "sentence": measured, "measured": None}
    if measured is None:
        return {**row, "verdict": str(CandidateVerdict.NO_VERDICT), "sentence": read.reason, "measured": None}
    row["measured"] = {**measured.as_row(), "whole": _whole(measured, row["against"], stages)}
    found = judgement.result
    if found is None:
        return {**row, "verdict": str(CandidateVerdict.NO_VERDICT), "sentence": judgement.reason}
    if found.reason is Reason.NO_GAIN and measured.factor.result is None:
        return {**row, "verdict": str(CandidateVerdict.NO_VERDICT), "sentence": measured.factor.reason}
    reason = None if found.reason is None else str(found.reason)
    return {**row, "verdict": str(found.verdict), "reason": reason, "sentence": found.sentence}


def _evidence(run: SealedRun) -> Row:
    """The file that the figures come from; of runs in turn it holds the hash of every history."""
    file = run.facts["result"]
    return {"path": f"{run.attempt.folder}/{file}", "sha256": run.attempt.files[file]}


def _whole(measured: Measured, arm: str, stages: dict[str, Any]) -> Row | None:
    """By Amdahl's law: what the measured factor of a part would do to a profiled step of the arm."""
    share = next(
        (row["arms"][arm]["share"] for row in stages["rows"] if row["stage"] == measured.part and row["arms"].get(arm)),
        None,
    )
    if share is None or measured.factor.result is None or not 0 <= share <= 1:
        return None
    found = measured.factor.result
    ends = {"factor": found.factor, "low": found.low, "high": found.high}
    return {"share": share, **{name: None if end is None else amdahl.whole(share, end) for name, end in ends.items()}}
