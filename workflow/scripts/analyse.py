"""Analyse the sealed files of a study: python workflow/scripts/analyse.py --study quickstart --out FILE"""

import argparse
from pathlib import Path

from tachograph.analysis.sealed import check_published, read_sealed
from tachograph.analysis.study import sections
from tachograph.files import write_json
from tachograph.layout import StudyFolder
from tachograph.opening import RESULTS
from tachograph.scripting import run_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    sealed = read_sealed(StudyFolder(RESULTS / arguments.study))
    check_published(sealed)
    write_json(arguments.out, sections(sealed))


run_program(main)
