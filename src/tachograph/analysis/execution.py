"""How the study was executed: its commands, its order, its attempts, and where the time went."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from tachograph.analysis.sealed import Sealed
from tachograph.evidence.order import Started, compare_order
from tachograph.execution.cellfile import MEASURED
from tachograph.execution.turns import BASE, CANDIDATE, turn_folder
from tachograph.study.planning import PlannedRun

PAUSE_SECONDS = 60.0  # a longer gap between two runs is somebody's pause, not the workflow's own time


def commands(sealed: Sealed) -> list[dict[str, Any]]:
    """The argument list of every planned run, with the interpreter and the output as a reader would write them."""
    found = []
    for planned in sealed.planned:
        run = sealed.runs.get(planned.key)
        device = run.facts["device"]["name"] if run else "{device}"
        attempt = run.attempt.folder if run else f"attempts/{planned.key}/001"
        out = attempt if planned.trains else f"{attempt}/{planned.target.rsplit('/', 1)[-1]}"
        out = f"{attempt}/{MEASURED}" if planned.role == "cell" else out
        values = {"{python}": "python", "{device}": device, "{seed}": str(planned.seed)}
        for one, where in _first_turns(planned, attempt) if planned.in_turn else [(planned, out)]:
            found.append(
                {
                    "run": planned.key,
                    "environment": dict(sorted(one.environment.items())),
                    "threads": planned.threads,
                    "command": [_fill(part, {**values, "{out}": where}) for part in one.command],
                }
            )
    return found


def _first_turns(planned: PlannedRun, attempt: str) -> list[tuple[PlannedRun, str]]:
    """The first two of a candidate's runs in turn, the arm's own and the changed one, with their folders."""
    folders = [f"{attempt}/{turn_folder(turn, side)}" for turn, side in ((1, BASE), (2, CANDIDATE))]
    return [(planned, folders[0]), (planned.changed(), folders[1])]


def _fill(part: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        part = part.replace(name, value)
    return part


def attempts(sealed: Sealed) -> list[dict[str, Any]]:
    """Every attempt of the ledger, in the order in which they started.

    ``current_plan`` is False for an attempt that was made of a version of the study that no longer holds.
    """
    counted = {(run.attempt.key, run.attempt.number) for run in sealed.runs.values()}
    identities = {run.identity for run in sealed.planned}
    tries = [attempt for group in sealed.state.attempts.values() for attempt in group]
    ended = {(e["run"], e["attempt"]): e for e in sealed.state.events if e["event"] == "ended"}
    return [
        {
            "run": one.key,
            "attempt": one.number,
            "status": one.status or "running",
            "validity": one.validity,
            "counts": (one.key, one.number) in counted,
            "reason": one.reason,
            "exit_code": ended.get((one.key, one.number), {}).get("exit_code"),
            "signal": ended.get((one.key, one.number), {}).get("signal"),
            "discarded": one.discarded,
            "started_at": one.started_at,
            "ended_at": one.ended_at,
            "hold_seconds": one.hold_seconds,
            "identity": one.identity,
            "current_plan": one.identity in identities,
            "files": dict(sorted(one.files.items())),
        }
        for one in sorted(tries, key=lambda one: one.started_at)
    ]


def order(sealed: Sealed) -> dict[str, Any]:
    """The registered order of the timed runs against the realised one."""
    registered = [run.key for run in sealed.planned]
    started = [
        Started(
            run=key,
            block=None if run.planned.block is None else str(run.planned.block + 1),  # a reader counts from 1
            boot_id=run.facts["outcome"]["boot_id"],
            start_monotonic=run.facts["outcome"]["started_monotonic"],
            end_monotonic=run.facts["outcome"]["ended_monotonic"],
            start_wall=run.facts["outcome"]["started_wall"],
        )
        for key, run in sealed.runs.items()
    ]
    found = compare_order(registered, started)
    blocks = [run.key for run in sealed.planned if run.role == "run"]
    of_blocks = compare_order(blocks, [one for one in started if one.run in blocks])
    return {
        "registered": registered,
        "realised": list(found.realised),
        "deviations": list(found.deviations),
        "block_deviations": list(of_blocks.deviations),
    }


def time(sealed: Sealed) -> dict[str, Any]:
    """Where the time of the study went, in seconds, from the ledger's monotonic clocks.

    ``own_seconds``: from the end of one run's process to the start of the next one's, less the wait of the next
    one for the device; gaps of more than a minute are ``pauses``. Attempts without an end are left out.
    """
    boots = {(e["run"], e["attempt"]): e["process"]["boot_id"] for e in sealed.state.events if e["event"] == "started"}
    timed = [
        (boots[e["run"], e["attempt"]], e["started_monotonic"], e["ended_monotonic"], e)
        for e in sealed.state.events
        if e["event"] == "ended" and e.get("started_monotonic") is not None
    ]
    gaps, pauses = [], []
    for (boot, _, end, before), (next_boot, start, _, event) in pairwise(timed):
        gap = start - end - event["wait_seconds"]
        place = {"after": before["run"], "before": event["run"], "seconds": gap}
        if boot != next_boot:
            pauses.append({**place, "seconds": None, "reason": "the machine was restarted between them"})
        elif gap > PAUSE_SECONDS:
            pauses.append(place)
        else:
            gaps.append(gap)
    one_boot = len({boot for boot, *_ in timed}) == 1
    return {
        "attempts": len(timed),
        "wall_seconds": timed[-1][2] - timed[0][1] if one_boot else None,
        "wall_reason": None if one_boot else "no single monotonic clock covers the study",
        "run_seconds": sum(end - start for _, start, end, _ in timed),
        "lease_hold_seconds": sum(e["hold_seconds"] for *_, e in timed),
        "lease_wait_seconds": sum(e["wait_seconds"] for *_, e in timed),
        "own_seconds": sum(gaps),
        "own_seconds_per_gap": sum(gaps) / len(gaps) if gaps else None,
        "gaps": len(gaps),
        "longest_gap_seconds": max(gaps, default=None),
        "pauses": pauses,
    }


def planned_row(run: PlannedRun, status: str) -> dict[str, Any]:
    """One entry of the registration, with what became of it."""
    return {
        "run": run.key,
        "role": run.role,
        "arm": run.arm,
        "seed": run.seed,
        "block": run.block,
        "amount": run.amount,
        "max_seconds": run.max_hold_seconds,
        "identity": run.identity,
        "status": status,
    }
