"""Freeze a study, or amend the frozen one: python workflow/scripts/register.py --study quickstart --out FILE"""

import argparse
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.execution.rejudging import register_and_judge
from tachograph.files import write_json
from tachograph.scripting import configuration, run_program
from tachograph.study.opening import open_study
from tachograph.study.status import write_status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--out", required=True, type=Path, help="plan/study.DIGEST.json of the study's folder")
    arguments = parser.parse_args()
    one = open_study(arguments.study, configuration(), Path.cwd())
    if arguments.out.name != Path(one.registered_file).name:
        raise TachographError(
            f"{arguments.out}: the study or the trainer's code was edited while the workflow ran; start it again"
        )
    sha, _ = register_and_judge(one, Path.cwd())
    write_status(one.folder)
    for stale in arguments.out.parent.glob("study.*.json"):
        stale.unlink()
    write_json(arguments.out, {"study": one.study.name, "registration_sha256": sha})


run_program(main)
