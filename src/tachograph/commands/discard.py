"""``tachograph discard STUDY ARM SEED --reason …``: take a run out, visibly, so that it is made again."""

from __future__ import annotations

import argparse

from tachograph.errors import TachographError
from tachograph.study.layout import StudyFolder
from tachograph.study.opening import study_folder
from tachograph.study.planning import PlannedRun
from tachograph.study.recordkeeping import discard_attempt
from tachograph.study.registration import current_study, read_registration
from tachograph.study.session import exclusive_session
from tachograph.study.state import read_state
from tachograph.study.status import execution_command, write_status


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("discard", help="take a run out, visibly; the next snakemake makes it again")
    parser.add_argument("study")
    parser.add_argument("arm", help="the arm of the run, or the candidate")
    parser.add_argument("seed", type=int)
    roles = "run, baseline, burnin, aa, profile, parity, preflight, candidate, cell"
    parser.add_argument("--role", default="run", help=f"one of {roles} (default: run)")
    parser.add_argument("--reason", required=True)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    folder = study_folder(arguments.study)
    everything = planned_runs(folder)
    if not arguments.reason.strip():
        raise TachographError("--reason: found nothing, expected why the run does not count")
    planned = find_planned(everything, arguments.role, arguments.arm, arguments.seed)
    with exclusive_session(folder):
        discard(folder, planned, arguments.reason)
    print(f"{planned.key} of {arguments.study} is discarded; its attempts are kept.")
    print(f"Next: {execution_command(arguments.study)}")
    return 0


def planned_runs(folder: StudyFolder) -> list[PlannedRun]:
    """The registered runs of a study. Raises TachographError if it was never executed here."""
    registration = read_registration(folder)
    if registration is None:
        raise TachographError(f"{folder.path}: study {folder.path.name} was never executed here")
    return current_study(registration)[2]


def find_planned(planned: list[PlannedRun], role: str, arm: str, seed: int) -> PlannedRun:
    """The planned run with these names. Raises TachographError naming those there are."""
    for run in planned:
        if (run.role, run.arm, run.seed) == (role, arm, seed):
            return run
    known = ", ".join(f"{run.arm} {run.seed}" for run in planned if run.role == role) or "none"
    raise TachographError(f"found {role} {arm} {seed}, expected one of: {known}")


def discard(folder: StudyFolder, planned: PlannedRun, reason: str) -> None:
    """Put the discard on the ledger, withdraw the target and set the standing record aside.

    Raises TachographError if no attempt of the run counts or stands as invalid.
    """
    settled = read_state(folder).settled(planned)
    if settled is None:
        raise TachographError(f"{planned.key}: no attempt has a result, so there is nothing to discard")
    discard_attempt(folder, planned.key, settled.number, reason)
    for name in (planned.target, planned.run_file):
        (folder.path / name).unlink(missing_ok=True)
    write_status(folder)
