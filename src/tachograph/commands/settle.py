"""``tachograph settle STUDY ARM SEED --reason …``: let a failed run stand as invalid, so that the record is written."""

from __future__ import annotations

import argparse

from tachograph.commands.discard import find_planned, planned_runs
from tachograph.errors import TachographError
from tachograph.evidence.gates import EXIT_STATUS
from tachograph.execution.publishing import publish
from tachograph.study.layout import StudyFolder
from tachograph.study.ledger import Ledger
from tachograph.study.opening import study_folder
from tachograph.study.planning import PlannedRun
from tachograph.study.recovery import close_abandoned
from tachograph.study.session import exclusive_session
from tachograph.study.state import read_state
from tachograph.study.status import execution_command, write_status


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    parser = subparsers.add_parser("settle", help="let a failed run stand as invalid, so that the record is written")
    parser.add_argument("study")
    parser.add_argument("arm", help="the arm of the run, or the candidate")
    parser.add_argument("seed", type=int)
    parser.add_argument("--role", default="run", help="as in discard (default: run)")
    parser.add_argument("--reason", required=True)
    parser.set_defaults(function=run)


def run(arguments: argparse.Namespace) -> int:
    folder = study_folder(arguments.study)
    planned = find_planned(planned_runs(folder), arguments.role, arguments.arm, arguments.seed)
    if not arguments.reason.strip():
        raise TachographError("--reason: found nothing, expected why the run is not tried again")
    with exclusive_session(folder):
        settle(folder, planned, arguments.reason)
    print(f"{planned.key} of {arguments.study} stands as invalid; its attempts are kept.")
    print(f"Next: {execution_command(arguments.study)}")
    return 0


def settle(folder: StudyFolder, planned: PlannedRun, reason: str) -> None:
    """Let the newest failed attempt be the result of the run: invalid, with its reason and the user's.

    Raises TachographError if the run has a result already, or no attempt that failed by itself: what was interrupted
    says nothing about the run.
    """
    close_abandoned(folder)
    state = read_state(folder)
    if state.settled(planned) is not None:
        raise TachographError(f"{planned.key}: it has a result already, so there is nothing to settle")
    attempt = state.open_failure(planned)
    if attempt is None:
        raise TachographError(f"{planned.key}: found no attempt that failed, expected one; start snakemake first")
    Ledger(folder.ledger).append(
        "judged",
        run=planned.key,
        attempt=attempt.number,
        validity="invalid",
        reason=f"{EXIT_STATUS}: {attempt.reason}",
        gate=EXIT_STATUS,
        before={"validity": attempt.validity, "reason": attempt.reason},
        settled=reason,
    )
    publish(planned, attempt, folder)
    write_status(folder)
