"""Write the record of a study, or keep the standing one: python workflow/scripts/record.py --study S --out FILE"""

import argparse
from pathlib import Path

from tachograph.execution.running import say_on_terminal
from tachograph.files import write_text
from tachograph.record.build import write_record
from tachograph.record.manifest import MANIFEST
from tachograph.scripting import run_program
from tachograph.study.layout import StudyFolder
from tachograph.study.opening import RESULTS
from tachograph.study.status import write_status


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    folder = StudyFolder(RESULTS / arguments.study)
    written = write_record(folder, Path(__file__).resolve().parents[2])
    write_text(arguments.out, f"{written.manifest_sha256}  record/{MANIFEST}\n")
    write_status(folder)
    how = "is as it was" if written.kept else "is written"
    say_on_terminal(f"{arguments.study}: the record {how}: {folder.record / 'record.md'}")


run_program(main)
