"""Whether what an attempt wrote counts: its history is read, its gates are judged."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tachograph.errors import TachographError
from tachograph.evidence.gates import Ended, Expected
from tachograph.evidence.gates import judge as judge_history
from tachograph.evidence.history import Counter, History, HistorySpec, read_history
from tachograph.evidence.ingest import ingest_report
from tachograph.evidence.parity import judge_parity
from tachograph.evidence.said import said
from tachograph.evidence.trial import parse_trial
from tachograph.execution.turns import BASE, FINISHED, turn_name
from tachograph.files import read_json
from tachograph.models import Program
from tachograph.models.trainer import PLACEHOLDER, HistoryFile, Trainer
from tachograph.study.planning import PlannedRun
from tachograph.wording import counted

NOT_FINITE_GATE = "finite metrics"
SHOWN_FILES = 5
CLOCK_SLACK = 0.01  # two clocks of a trainer may be read a moment apart
SINGLE_FILE_SCHEMAS = {
    "profile": ("profile/1", "component/1", "forward-sweep/1"),
    "parity": ("parity/1",),
    "cell": ("cell/1",),
    "candidate": ("candidate/1", "turns/1"),
}


@dataclass(frozen=True)
class Judgement:
    """``valid`` with every gate passed, or ``invalid`` with the reason; the ingest report either way.

    ``gate`` names the gate that a history which could be read did not pass; None where nothing could be judged.
    """

    validity: str
    reason: str | None
    checks: list[dict[str, Any]] = field(default_factory=list)
    ingest: dict[str, Any] = field(default_factory=dict)
    gate: str | None = None


def history_spec(history: HistoryFile) -> HistorySpec:
    """The trainer file's description of its history, as the reader wants it."""
    seconds = {"iteration": (history.iteration_seconds, history.iteration_start)}
    seconds |= {phase.name: (phase.column, phase.start) for phase in (*history.phases, history.stage)}
    durations = {
        name: Counter(column, cumulative=history.cumulative_seconds, start=start, scale=history.seconds_scale)
        for name, (column, start) in seconds.items()
    }
    extra = _extra(history)
    columns = [*history.metrics, *history.sparse_metrics, *extra]
    return HistorySpec(
        work=Counter(history.work.column, cumulative=history.work.cumulative, constant=history.work.constant),
        work_unit=history.work.unit,
        durations=durations,
        format=history.format,
        iteration=history.iteration,
        metrics=(*history.metrics, *history.sparse_metrics),
        sparse=tuple(history.sparse_metrics),
        aliases={**_pattern_aliases(history, columns), **history.aliases},
        zero_work=tuple(history.zero_work),
        compile_flag=history.compilation,
        checkpoint=history.checkpoint,
        session=history.session,
        patterns=tuple(history.patterns),
        parallel=tuple(phase.name for phase in history.phases if phase.parallel),
        evaluation=None if history.evaluation is None else history.evaluation.seconds,
        monotonic=history.monotonic,
        wall=history.wall,
        extra=extra,
    )


def _extra(history: HistoryFile) -> tuple[str, ...]:
    """Columns that are read where a row has them: counts of endings, timers of evaluations, supply of states."""
    names = [count.column for count in history.endings]
    if history.evaluation is not None:
        names += history.evaluation.columns()
    if history.supply is not None:
        names += history.supply.columns().values()
    return tuple(names)


def _pattern_aliases(history: HistoryFile, columns: Iterable[str]) -> dict[str, str]:
    """Old name -> new name for every column whose name fits the new side of an alias pattern."""
    found = {}
    for old, new in history.alias_patterns.items():
        pieces = PLACEHOLDER.split(new)  # text, name, text, name, …, text
        pattern = "".join(re.escape(piece) if i % 2 == 0 else f"(?P<{piece}>.+?)" for i, piece in enumerate(pieces))
        for column in columns:
            match = re.fullmatch(pattern, column)
            if match:
                found[PLACEHOLDER.sub(lambda name, match=match: match[name[1]], old)] = column  # type: ignore[misc]
    return found


def judge(
    planned: PlannedRun,
    trainer: Program,
    result: Path,
    status: str,
    reason: str | None,
    exit_code: int | None = 0,
    lived: float | None = None,
) -> Judgement:
    """Judge one attempt. ``result`` is the file it should have written; ``status`` how its process ended.

    ``lived``: seconds from start to end of the process, None where nobody took the time.

    A cell of a machine study counts however it ended, unless somebody stopped it: that it crashes is its result. So is
    the exit code by which the trainer file lets a trainer say that its numbers are no longer finite.
    """
    if planned.trains and says_not_finite(trainer, status, exit_code):
        assert isinstance(trainer, Trainer)
        return _gave_up(trainer, result, reason)
    if status == "interrupted" or (status != "finished" and planned.role != "cell"):
        return Judgement("invalid", reason)
    try:
        if planned.trains:
            assert isinstance(trainer, Trainer)
            metrics = [*trainer.history.metrics, *trainer.history.sparse_metrics]
            return _judge_history(planned, trainer, result, metrics, lived)
        judgement = _judge_single(planned, result)
        if planned.role == "candidate" and judgement.validity == "valid":
            assert isinstance(trainer, Trainer)
            return _judge_turns(planned, trainer, result) if planned.in_turn else _judge_trial(result)
        return judgement
    except TachographError as error:
        return Judgement("invalid", str(error))


def _judge_history(
    planned: PlannedRun, trainer: Trainer, result: Path, metrics: list[str], lived: float | None
) -> Judgement:
    if not result.is_file():
        wrote = sorted(path.name for path in result.parent.glob("*") if path.is_file())[:SHOWN_FILES]
        found = f"found {', '.join(wrote)}" if wrote else "found no file in its place"
        return Judgement("invalid", f"the trainer ended without an error but wrote {_wanted(trainer)}; {found}")
    history = read_history(result, history_spec(trainer.history))
    expected = Expected(
        iterations=planned.amount,
        work_unit=trainer.history.work.unit,
        metrics=tuple(metrics),
        first_iteration=trainer.history.first_iteration,
        zero_work_floor=trainer.history.zero_work_floor,
        resume_allowed=trainer.history.resume,
        cache=planned.cache,
    )
    judged = judge_history(history, Ended(exit_code=0, cache=_cache(result, trainer.history)), expected)
    ingest = ingest_report(history)
    checks: list[dict[str, Any]] = [vars(check) for check in judged.checks]
    checks.append(_stage_inside(history, trainer.history))
    if lived is not None:
        checks.append(_inside_the_process(history, trainer.history, lived))
    failed = next((check for check in checks if not check["ok"]), None)
    if failed is None:
        return Judgement("valid", None, checks, ingest)
    return Judgement("invalid", f"{failed['name']}: {failed['detail']}", checks, ingest, failed["name"])


def _wanted(trainer: Trainer) -> str:
    file = trainer.history.file
    return f"not one file that begins with {file}" if trainer.history.format == "tensorboard" else f"no {file}"


def says_not_finite(trainer: Program, status: str, exit_code: int | None) -> bool:
    """Whether the trainer gave up and said, by the exit code of the trainer file, that a number was not finite."""
    return isinstance(trainer, Trainer) and status == "failed" and exit_code == trainer.exit_codes.not_finite


def _gave_up(trainer: Trainer, result: Path, reason: str | None) -> Judgement:
    """A trainer that ended itself since its numbers were not finite; its history says how far it came."""
    detail = reason or "the trainer says that a number is not finite"
    check = {"name": NOT_FINITE_GATE, "ok": False, "detail": detail}
    try:
        ingest = ingest_report(read_history(result, history_spec(trainer.history)))
    except TachographError as error:
        ingest = {"unreadable": str(error)}
    return Judgement("invalid", f"{NOT_FINITE_GATE}: {detail}", [check], ingest, NOT_FINITE_GATE)


def _cache(result: Path, described: HistoryFile) -> str | None:
    """What the first row says of the cache, None where the trainer file names no column for it."""
    return None if described.cache is None else said(result, described, [described.cache])[described.cache][0]


def _stage_inside(history: History, described: HistoryFile) -> dict[str, Any]:
    """The stage is part of its iteration: where it lasts longer, a column holds something else.

    A row whose clock stepped shows neither; the gate of the clock speaks of it.
    """
    stage, whole = history.durations[described.stage.name], history.durations["iteration"]
    longer = history.clock_ok & (stage > whole * (1 + CLOCK_SLACK))
    detail = f"{described.stage.name} lies within its iteration"
    if longer.any():
        line = int(history.line[int(longer.argmax())])
        detail = (
            f"{described.stage.column} is longer than {described.iteration_seconds} in "
            f"{counted(int(longer.sum()), 'row')}, "
            f"first in line {line}"
        )
    return {"name": "stage", "ok": not longer.any(), "detail": detail}


def _inside_the_process(history: History, described: HistoryFile, lived: float) -> dict[str, Any]:
    """The iterations of a run happened while its process lived: seconds that add up to more are no seconds.

    So look milliseconds without their ``seconds_scale``. A resumed run may hold rows of an earlier process; a row
    whose clock stepped has no seconds.
    """
    total = float(np.nansum(history.durations["iteration"][history.clock_ok]))
    ok = described.resume or total <= lived * (1 + CLOCK_SLACK)
    detail = "the iterations lie within their process"
    if not ok:
        detail = (
            f"{described.iteration_seconds} of all rows adds up to {total:.3g} s, the process lived {lived:.3g} s; "
            "expected less (is the column in seconds, or is its seconds_scale missing?)"
        )
    return {"name": "process", "ok": ok, "detail": detail}


def _judge_single(planned: PlannedRun, result: Path) -> Judgement:
    """A profile, component, sweep, parity or cell file: strict JSON of the announced schema."""
    value = read_json(result)
    wanted = SINGLE_FILE_SCHEMAS[planned.role]
    found = value.get("schema") if isinstance(value, dict) else None
    ok = found in wanted
    detail = f"schema {found!r}, expected {' or '.join(wanted)}"
    check = {"name": "schema", "ok": ok, "detail": detail}
    return Judgement("valid" if ok else "invalid", None if ok else f"{result.name}: {detail}", [check])


def _judge_trial(result: Path) -> Judgement:
    """A candidate file: it must hold all that a judgement of the candidate needs, or say why it holds nothing."""
    parse_trial(read_json(result), result.name)
    return Judgement("valid", None, [{"name": "candidate file", "ok": True, "detail": "it can be judged"}])


def _judge_turns(planned: PlannedRun, trainer: Trainer, result: Path) -> Judgement:
    """Every history of a candidate's runs in turn, and the parity file beside them where there is one.

    Numbers that are not finite in a run of the candidate are a result and no fault of the measurement.
    """
    checks = []
    content = read_json(result)
    for run in content["runs"]:
        if run["ended"] != FINISHED:
            continue
        name = turn_name(planned, run["turn"], run["side"], run["seed"])
        metrics = trainer.history.metrics if run["side"] == BASE else []
        path = result.parent / (run["history"] or trainer.history.file)
        judged = _judge_history(planned, trainer, path, metrics, run["wall_seconds"])
        checks.append({"name": name, "ok": judged.validity == "valid", "detail": judged.reason or "all gates passed"})
        if judged.validity != "valid":
            return Judgement("invalid", f"{name}: {judged.reason}", checks, gate=judged.gate)
    assert planned.trial is not None
    name = content.get("parity")
    if name is not None:
        found = judge_parity(read_json(result.parent / name), name, planned.trial.against)
        if planned.trial.parity_name not in found.verdicts:
            return Judgement("invalid", f"{name}: no tensor of {planned.trial.parity_name!r}", checks)
        checks.append({"name": "parity file", "ok": True, "detail": "it can be judged"})
    return Judgement("valid", None, checks)
