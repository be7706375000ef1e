"""Write tables of a study: python workflow/scripts/tables.py --analysis FILE --out tables/runs.csv …"""

import argparse
from pathlib import Path

from tachograph.analysis.tables import as_csv, table
from tachograph.files import read_json, write_text
from tachograph.scripting import run_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--analysis", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path, nargs="+", help="files, each with the name of its table")
    arguments = parser.parse_args()
    analysis = read_json(arguments.analysis)
    for path in arguments.out:
        write_text(path, as_csv(table(analysis, path.stem)))


run_program(main)
