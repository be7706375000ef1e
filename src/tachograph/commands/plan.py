"""``tachograph plan STUDY``: what would run, in which order, for how long, and which verdicts it can reach."""

from __future__ import annotations

import argparse
import math
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

from tabulate import tabulate

from tachograph.evidence.design import way_out
from tachograph.evidence.order import mean_positions
from tachograph.execution.cooldown import longest_wait
from tachograph.files import canonical_json, parse_json, read_json
from tachograph.models import Candidate, MachineStudy, Study
from tachograph.scripting import configuration
from tachograph.study.layout import StudyFolder
from tachograph.study.opening import OpenedStudy, open_study
from tachograph.study.planning import PlannedRun, determinants
from tachograph.study.reach import design_of, reach, too_short
from tachograph.study.registration import edited_since, needs_reason, read_registration
from tachograph.study.session import obstacle
from tachograph.study.state import StudyState, read_state
from tachograph.wording import counted


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("plan", help="what would run, in which order, and for how long")
    parser.add_argument("study")
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    settings = configuration()
    one = open_study(arguments.study, settings, Path.cwd())
    state = read_state(one.folder)
    print(plan_page(one, state))
    told = edit_told(one, state)
    if told:
        print(told)
    why = obstacle(one, settings)
    if why:
        print(f"This machine could not execute it now: {why}.")
    return 0


def plan_page(one: OpenedStudy, state: StudyState) -> str:
    """The plan as Markdown: order, state and device time of each run, reachable verdicts, commands."""
    rows = []
    for run in one.planned:
        took = last_hold(run, state)
        time = f"{took:.0f} s (last time)" if took is not None else f"at most {_longest(run, one):g} s"
        block = "" if run.block is None else str(run.block + 1)
        rows.append([run.position + 1, run.key, block, run_state(run, state, one.folder), time])
    lines = [
        f"# {one.study.title}",
        "",
        f"Study `{one.study.name}` ({one.study.registration.kind}), on a {one.planned[0].device_kind}, "
        f"{counted(one.planned[0].threads, 'CPU thread')} per run. {one.study.registration.question}",
        "",
        tabulate(rows, headers=["order", "run", "block", "state", "device time"], tablefmt="github"),
        "",
        *_imbalance(one.planned),
        _time_sentence(one, state),
        "",
        *([*_candidates(one.study), *_reach(one.study)] if isinstance(one.study, Study) else []),
        "Executing a study runs these commands on this machine, with `{out}` in the folder of the attempt:",
        "",
    ]
    lines += [f"    {line}" for line in _commands(one.planned)]
    return "\n".join(lines) + "\n"


def edit_told(one: OpenedStudy, state: StudyState) -> str | None:
    """What was edited since the study was registered, and what comes of it; None where it is as registered."""
    registration = read_registration(one.folder)
    keys = None if registration is None else edited_since(registration, one.study, one.trainer, one.planned)
    if registration is None or keys is None:
        return None
    then = "the next execution chains this to the registration as an amendment"
    if needs_reason(registration, state):
        command = f'tachograph amend {one.study.name} --reason "…"'
        then = f"snakemake refuses it until it is restored, or put on record with `{command}`"
    return f"The files differ from the registration in {keys}: {then}."


def run_state(run: PlannedRun, state: StudyState, folder: StudyFolder) -> str:
    """The state of a run; of one that counted as it was planned before, what has changed since."""
    status = state.run_status(run)
    earlier = next((one for one in reversed(state.attempts.get(run.key, [])) if one.counts), None)
    if status != "missing" or earlier is None:
        return status
    before = folder.path / replace(run, identity=earlier.identity).plan_file
    if not before.exists():
        return "to be made again: planned otherwise before"
    old, new = determinants(read_json(before)), determinants(parse_json(canonical_json(run.as_dict())))
    changed = [name.replace("_", " ") for name in new if old.get(name) != new[name]]
    return f"to be made again: changed since it was made: {', '.join(changed) or 'how it is planned'}"


def _candidates(study: Study) -> list[str]:
    """What is measured of which idea, and from which factor on it is kept."""
    if not study.candidates:
        return []
    rows = [
        [name, one.title, study.base_arm(name), _amount(one), f"{study.least_gain(name):.2f}x"]
        for name, one in study.candidates.items()
    ]
    headers = ["candidate", "what it is", "against", "measured by", "worth from"]
    return ["## Candidates", "", tabulate(rows, headers=headers, tablefmt="github", disable_numparse=True), ""]


def _amount(one: Candidate) -> str:
    if one.measure == "component":
        return f"{counted(one.steps or 0, 'batch')} in {counted(one.pairs, 'pair')}"
    condition = "" if one.requires is None else f", on {one.requires} only"
    numerics = "" if one.parity is None else f", and {one.parity} against float64"
    return f"{counted(one.pairs, 'pair')} of runs of {counted(one.iterations or 0, 'iteration')}{condition}{numerics}"


def _imbalance(planned: list[PlannedRun]) -> list[str]:
    """What the order does not cancel of a linear drift of the machine, as with an odd number of blocks."""
    blocks: dict[int, list[str]] = {}
    for run in planned:
        if run.block is not None:
            blocks.setdefault(run.block, []).append(run.arm)
    places = mean_positions(list(blocks.values()))
    if not any(places.values()):
        return []
    told = ", ".join(f"`{arm}` {place:+.2f}" for arm, place in places.items())
    return [f"The order leaves an imbalance (mean position in runs from the middle: {told}).", ""]


def _reach(study: Study) -> list[str]:
    """Which verdicts the plan can reach, at which effect, under which assumptions, and what would reach the rest."""
    found = reach(study)
    lines = ["## What this plan can decide", ""]
    for one in found["arms"]:
        rows = [[row["verdict"], "yes" if row["reachable"] else "no", _takes(row, one)] for row in one["outcomes"]]
        missing = [f"- out of reach: {sentence}" for sentence in one["missing"]]
        if missing and study.decision and study.curves and not too_short(study):
            missing.append(f"- {way_out(design_of(study, one['arm']))}")
        lines += [
            f"`{one['arm']}` against the reference, {counted(one['blocks'], 'block')}, smallest possible p of test D "
            f"{one['p_min']:.3g} at α = {one['alpha']:g}:",
            "",
            tabulate(rows, headers=["verdict", "reachable", "takes"], tablefmt="github"),
            "",
            *missing,
            *([""] if missing else []),
        ]
    if not found["arms"]:
        lines += ["The study has one arm, so it compares nothing.", ""]
    if found["assumptions"]:
        lines += ["These are expectations under assumptions:", ""]
        lines += [*(f"- assumed: {sentence}" for sentence in found["assumptions"]), ""]
    for sentence in dict.fromkeys(one["whatever_the_seeds"] for one in found["arms"]):
        lines += [f"{sentence}.", ""] if sentence else []
    return lines


def _takes(row: dict[str, Any], arm: dict[str, Any]) -> str:
    """The effect that a reachable verdict takes; of a decision, the verdicts that it follows from."""
    if not row["reachable"] or row["effect"]:
        return row["effect"] or ""
    there = {one["verdict"] for one in arm["outcomes"] if one["reachable"]}
    refusing = [verdict for verdict in ("NO GAIN", "NOT MATCHED") if verdict in there]
    return {"REJECT": " or ".join(refusing), "HOLD": "anything else"}.get(row["verdict"], "")


def last_hold(run: PlannedRun, state: StudyState) -> float | None:
    """Seconds for which the newest finished attempt of this run held the device, or None."""
    for attempt in reversed(state.attempts.get(run.key, [])):
        if attempt.status == "finished" and attempt.hold_seconds is not None:
            return attempt.hold_seconds
    return None


def _time_sentence(one: OpenedStudy, state: StudyState) -> str:
    """Device time of the runs without a result: as the ledger knows it, else at most what is registered."""
    left = [run for run in one.planned if state.settled(run) is None]
    if not left:
        return "Nothing is left to run."
    known = [took for run in left if (took := last_hold(run, state)) is not None]
    limits = sum(_longest(run, one) for run in left if last_hold(run, state) is None)
    parts = [f"{sum(known):.0f} s by the ledger"] if known else []
    if limits:
        parts.append(f"at most {limit_told(limits)} by the registered limits")
    total = one.study.total_seconds if isinstance(one.study, MachineStudy) else None
    most = (
        f", and {limit_told(total)} for all cells together" if total is not None and total < sum(known) + limits else ""
    )
    return f"What is left takes the device for {' and '.join(parts)}{most}."


def _longest(run: PlannedRun, one: OpenedStudy) -> float:
    """Seconds for which the run may hold the device: to cool down, and to run."""
    return run.max_hold_seconds + longest_wait(run, one.study)


def limit_told(seconds: float) -> str:
    """A limit in whole minutes, or in seconds below two of them; never less than it is."""
    return f"{math.ceil(seconds)} s" if seconds < 120 else f"{math.ceil(seconds / 60)} min"


def _commands(planned: list[PlannedRun]) -> list[str]:
    """Each distinct command with the environment of its arm, once."""
    seen: dict[str, None] = {}
    every = [one for run in planned for one in [run, *([run.changed(), run.parity_run()] if run.in_turn else [])]]
    for run in filter(None, every):
        variables = [f"{name}={shlex.quote(value)}" for name, value in sorted(run.environment.items())]
        command = [part if part.startswith("{") else shlex.quote(part) for part in run.command]
        seen[" ".join([*variables, *command])] = None
    return list(seen)
