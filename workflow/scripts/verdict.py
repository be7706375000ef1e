"""Say the verdict of a machine study; the exit code is 0 only where the machine may be used (PASS or WARN).

python workflow/scripts/verdict.py --study machine-cpu --out FILE
"""

import argparse
from pathlib import Path

from tachograph.errors import TachographError
from tachograph.files import read_json, write_text
from tachograph.lease.processes import printable
from tachograph.machine.verdict import EXIT_CODES, Verdict
from tachograph.scripting import run_program
from tachograph.study.layout import StudyFolder
from tachograph.study.opening import RESULTS


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--study", required=True)
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    record = read_json(StudyFolder(RESULTS / arguments.study).record / "record.json")
    if "summary" not in record:
        raise TachographError(f"study {arguments.study}: it is no machine study, so it has no verdict on a machine")
    verdict = Verdict(record["summary"]["verdict"])
    print("\n".join(printable(sentence, limit=4000) for sentence in record["findings"]))
    if EXIT_CODES[verdict]:
        raise SystemExit(EXIT_CODES[verdict])
    write_text(arguments.out, f"{verdict}\n")


run_program(main)
