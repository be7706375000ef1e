"""Draw figures of a study: python workflow/scripts/figures.py --analysis FILE --out figures/rates.svg …"""

import argparse
from itertools import groupby
from pathlib import Path

from tachograph.figures import draw
from tachograph.files import appearing, read_json
from tachograph.scripting import run_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--analysis", required=True, type=Path)
    about = "files, each with the name of its figure, in the format of their suffix"
    parser.add_argument("--out", required=True, type=Path, nargs="+", help=about)
    arguments = parser.parse_args()
    analysis = read_json(arguments.analysis)
    for name, paths in groupby(sorted(arguments.out), key=lambda path: path.stem):
        drawing = draw(analysis, name)
        for path in paths:
            with appearing(path) as temporary:
                drawing.save(temporary, path.suffix.removeprefix("."))


run_program(main)
