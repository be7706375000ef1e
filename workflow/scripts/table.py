"""Write one table of a study: python workflow/scripts/table.py --analysis FILE --name runs --out tables/runs.csv"""

import argparse
from pathlib import Path

from tachograph.analysis.tables import as_csv, table
from tachograph.files import read_json, write_text
from tachograph.scripting import run_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--analysis", required=True, type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--out", required=True, type=Path)
    arguments = parser.parse_args()
    write_text(arguments.out, as_csv(table(read_json(arguments.analysis), arguments.name)))


run_program(main)
