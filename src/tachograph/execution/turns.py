"""A candidate's runs in turn with those of its arm: several training runs, one lease, one attempt."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tachograph.execution.outcome import Outcome, not_started
from tachograph.files import read_json, sha256_file, write_json
from tachograph.models import Trainer
from tachograph.models.trainer import ExitCodes
from tachograph.study.planning import PlannedRun, block_order

SCHEMA = "turns/1"
BASE, CANDIDATE = "base", "candidate"
PARITY_FILE = "parity.json"
FINISHED, UNAVAILABLE, NOT_FINITE = "finished", "unavailable", "not finite"  # how a run may end and be a result

Start = Callable[[PlannedRun, Path, int, float], Outcome]
"""Runs the training command of a plan into a folder, with a seed, for at most so many seconds."""


def make_turns(planned: PlannedRun, trainer: Trainer, result: Path, device_kind: str, start: Start) -> Outcome:
    """Run both commands of ``planned.trial`` in turn, each into a folder of its own beside ``result``.

    Writes ``result``, ``turns/1``: every run's side, pair, seed, history and end; or why nothing was run. The order
    is that of blocks (ABBA BAAB …), both runs of a pair have the same seed. What a candidate's run says by an exit
    code that the trainer file declares is a result; anything else that goes wrong ends the attempt without one.
    After the runs the parity command is run in the environment of the candidate, where the trial has one.
    """
    trial = planned.trial
    assert trial is not None
    if trial.requires is not None and trial.requires != device_kind:
        reason = f"it needs a device of kind {trial.requires}, this one is of kind {device_kind}"
        _write(result, planned, [], reason)
        return not_started("finished", f"nothing was started: {reason}")
    plans = {BASE: planned, CANDIDATE: planned.changed()}
    until = time.monotonic() + planned.max_hold_seconds
    made: list[dict[str, Any]] = []
    ends: list[Outcome] = []
    for pair in range(trial.pairs):
        for side in block_order([BASE, CANDIDATE], pair):
            turn, seed = len(made) + 1, planned.seed + pair
            out = result.parent / turn_folder(turn, side)
            out.mkdir()
            end = start(plans[side], out, seed, max(until - time.monotonic(), 0.0))
            ends.append(end)
            said = _said(end, side, trainer.exit_codes)
            if said is None:
                return replace(_together(ends), reason=f"{turn_name(planned, turn, side, seed)}: {end.reason}")
            history = trainer.history.path_in(out)
            made.append(
                {
                    "turn": turn,
                    "side": side,
                    "pair": pair,
                    "seed": seed,
                    "ended": said,
                    "history": history.relative_to(result.parent).as_posix() if history.is_file() else None,
                    "history_sha256": sha256_file(history) if history.is_file() else None,
                    "wall_seconds": end.ended_monotonic - end.started_monotonic,
                }
            )
            if said == UNAVAILABLE:
                reason = f"exit code {end.exit_code}, by which the trainer says that it cannot be done here"
                _write(result, planned, made, reason)
                return replace(_together(ends), status="finished", reason=reason)
    parity = planned.parity_run()
    if parity is not None:
        end = start(parity, result.parent / PARITY_FILE, planned.seed, max(until - time.monotonic(), 0.0))
        ends.append(end)
        if end.status != "finished":
            return replace(_together(ends), reason=f"parity of {planned.arm}: {end.reason}")
    _write(result, planned, made, None, parity=None if parity is None else PARITY_FILE)
    return replace(_together(ends), status="finished")


def turn_name(planned: PlannedRun, turn: int, side: str, seed: int) -> str:
    """What a run is called in words: by its arm or candidate and its seed, as the runs of the study are."""
    assert planned.trial is not None
    return f"{planned.arm if side == CANDIDATE else planned.trial.against} seed {seed} (turn {turn})"


def turn_folder(turn: int, side: str) -> str:
    """Where run ``turn`` (from 1) writes, beside the result; the first one is of the arm itself."""
    return f"{turn:03d}-{side}"


def evidence(result: Path) -> list[str]:
    """The files that ``result`` speaks of, relative to its folder; none where the attempt has left no result."""
    if not result.is_file():
        return []
    content = read_json(result)
    named = [*(run["history"] for run in content["runs"]), content.get("parity")]
    return [name for name in named if name is not None]


def _write(
    result: Path, planned: PlannedRun, runs: list[dict[str, Any]], reason: str | None, parity: str | None = None
) -> None:
    """``parity`` names the parity file beside ``result``."""
    content: dict[str, Any] = {"candidate": planned.arm, "available": reason is None, "reason": reason, "runs": runs}
    if parity is not None:
        content["parity"] = parity
    write_json(result, {"schema": SCHEMA, **content})


def _said(end: Outcome, side: str, codes: ExitCodes) -> str | None:
    """How a run ended if that is a result; None for a failure that nobody has explained."""
    if end.status == "finished":
        return FINISHED
    if side == CANDIDATE and end.status == "failed":
        return {codes.unavailable: UNAVAILABLE, codes.not_finite: NOT_FINITE}.get(end.exit_code)
    return None


def _together(ends: list[Outcome]) -> Outcome:
    """One outcome of all runs: the end of the last, the resources of all."""
    first, last = ends[0], ends[-1]
    kills = [end.oom_kills for end in ends if end.oom_kills is not None]
    return replace(
        last,
        started_monotonic=first.started_monotonic,
        started_wall=first.started_wall,
        cpu_user_s=sum(end.cpu_user_s for end in ends),
        cpu_system_s=sum(end.cpu_system_s for end in ends),
        max_rss_bytes=max(end.max_rss_bytes for end in ends),
        survivors_killed=sum(end.survivors_killed for end in ends),
        oom_kills=sum(kills) if kills else None,
    )
