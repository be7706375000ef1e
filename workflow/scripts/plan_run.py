"""Write the plan of one run: python workflow/scripts/plan_run.py --study S --run run-fast-seed1 --out FILE"""

import argparse
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.files import write_json
from tachograph.opening import open_study
from tachograph.scripting import configuration, run_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--run", required=True, help="key of the planned run, such as run-fast-seed1")
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    one = open_study(arguments.study, configuration(), Path.cwd())
    run = next((run for run in one.planned if run.key == arguments.run), None)
    if run is None:
        known = ", ".join(run.key for run in one.planned)
        raise TachographError(f"study {arguments.study}: found run {arguments.run!r}, expected one of: {known}")
    if arguments.out.name != Path(run.plan_file).name:
        raise TachographError(
            f"{arguments.out}: the study or the trainer's code was edited while the workflow ran; start it again"
        )
    for stale in arguments.out.parent.glob(f"{run.key}.*.json"):
        stale.unlink()  # a plan that comes back after an edit was undone must be missing, or nobody would notice
    write_json(arguments.out, run.as_dict())


run_program(main)
