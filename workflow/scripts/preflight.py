"""Judge parity and smoke checks of a study: python workflow/scripts/preflight.py --study quickstart --out FILE"""

import argparse
from pathlib import Path

from tachograph.analysis.sealed import read_sealed
from tachograph.files import write_json
from tachograph.layout import StudyFolder
from tachograph.opening import RESULTS
from tachograph.preflightcheck import preflight
from tachograph.running import say_on_terminal
from tachograph.scripting import run_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    found = preflight(read_sealed(StudyFolder(RESULTS / arguments.study)))
    write_json(arguments.out, found)
    for check in found["checks"]:
        say_on_terminal(f"{arguments.study}: {check['check']} ({check['arm']}): {check['verdict']}; {check['detail']}")


run_program(main)
