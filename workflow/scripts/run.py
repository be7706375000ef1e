"""Make one planned run under the lease: python workflow/scripts/run.py --plan results/S/plan/run-fast-seed1.….json

A run that already counts is published again without touching the device; --force makes it again.
"""

import argparse
import contextlib
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.execution.running import Host, execute, is_forced, read_plan, say_on_terminal
from tachograph.host.choice import choose_device
from tachograph.scripting import configuration, run_program
from tachograph.study.layout import StudyFolder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plan", required=True, type=Path)
    parser.add_argument("--rule", default="", help="the Snakemake rule, to know what -R means")
    parser.add_argument("--threads", type=int, help="threads that were granted")
    parser.add_argument("--gpu", type=int, help="gpu tokens that were granted")
    parser.add_argument("--log", type=Path, help="messages go here too")
    parser.add_argument("--force", action="store_true", help="make the run again and discard the one that counts")
    arguments = parser.parse_args()
    planned = read_plan(arguments.plan)
    if arguments.gpu is not None and arguments.gpu < 1:
        raise TachographError(f"{planned.key}: granted gpu={arguments.gpu}, expected 1; start with --resources gpu=1")
    if arguments.threads is not None and arguments.threads < planned.threads:
        raise TachographError(
            f"{planned.key}: granted {arguments.threads} threads, registered are {planned.threads}; "
            f"start with --cores {planned.threads} or more"
        )
    folder = StudyFolder(arguments.plan.parent.parent)
    settings = configuration()
    host = Host(
        device=choose_device(planned.device_kind, settings.device, planned.study),
        lease_folder=Path(settings.lease_folder) if settings.lease_folder else None,
        max_wait_seconds=settings.max_wait_minutes * 60.0,
    )

    def say(sentence: str) -> None:
        say_on_terminal(sentence)
        with contextlib.suppress(OSError):  # a full disk does not end a run whose trainer may still have its place
            if arguments.log:
                arguments.log.parent.mkdir(parents=True, exist_ok=True)
                with arguments.log.open("a", encoding="utf-8") as log:
                    log.write(sentence + "\n")

    forced = arguments.force or is_forced(planned, folder, arguments.rule)
    try:
        execute(planned, folder, host, forced=forced, say=say, root=Path.cwd())
    except TachographError as error:
        say(f"tachograph: error: {error}")
        raise SystemExit(error.exit_code) from None


run_program(main)
