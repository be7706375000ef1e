"""Draw one figure of a study: python workflow/scripts/figure.py --analysis FILE --name rates --out A.svg A.png"""

import argparse
from pathlib import Path

from tachograph.figures import draw
from tachograph.files import appearing, read_json
from tachograph.scripting import run_program


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--analysis", required=True, type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--out", required=True, type=Path, nargs="+", help="files, in the format of their suffix")
    arguments = parser.parse_args()
    drawing = draw(read_json(arguments.analysis), arguments.name)
    for path in arguments.out:
        with appearing(path) as temporary:
            drawing.save(temporary, path.suffix.removeprefix("."))


run_program(main)
