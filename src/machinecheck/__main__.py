"""``python -m machinecheck``: probe · cell · run · cells · one · judge · page · selftest."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from machinecheck.errors import MachineCheckError
from machinecheck.files import write_json
from machinecheck.runner import ending_with_us
from machinecheck.verdict import EXIT_CODES, Verdict

# Imports stand in the commands: most of them need no torch, which takes over a second to load.


def _probe(arguments: argparse.Namespace) -> int:
    from machinecheck.probe.machine import probe

    print(probe(arguments.out)["id"])
    return 0


def _cell(arguments: argparse.Namespace) -> int:
    if arguments.kind != "throughput":
        # Threads that spin while they wait make a busy host many times slower and change no number.
        # Read by OpenMP when torch is loaded, hence before the import.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from machinecheck import registry

    given = registry.parse_settings(arguments.kind, arguments.operation, arguments.settings)
    record = registry.measure(arguments.kind, arguments.operation, given)
    write_json(arguments.out, record)
    print(record["verdict"], *record["reasons"], sep="\n  ")
    return 0


def _run(arguments: argparse.Namespace) -> int:
    from machinecheck.plan import read_plan
    from machinecheck.runner import run_plan

    found, _ = run_plan(read_plan(arguments.plan), arguments.out)
    print(f"{found['verdict']}: {found['planned']} cells planned, {len(found['not_run'])} not run")
    return EXIT_CODES[Verdict(found["verdict"])]


def _cells(arguments: argparse.Namespace) -> int:
    from dataclasses import asdict

    from machinecheck.plan import read_plan

    write_json(arguments.out, [asdict(cell) for cell in read_plan(arguments.plan).cells])
    return 0


def _one(arguments: argparse.Namespace) -> int:
    from machinecheck.plan import read_plan
    from machinecheck.runner import run_cell

    chosen = [cell for cell in read_plan(arguments.plan).cells if cell.name == arguments.name]
    if not chosen:
        raise MachineCheckError(f"found {arguments.name!r}, expected the name of a cell of {arguments.plan}")
    result = run_cell(chosen[0], arguments.out, chosen[0].seconds)
    print(result["verdict"], *result["reasons"], sep="\n  ")
    return 0


def _judge(arguments: argparse.Namespace) -> int:
    from machinecheck import page, preflight
    from machinecheck.plan import read_plan
    from machinecheck.runner import summary

    cells, rows = read_plan(arguments.plan).cells, page.outcomes(arguments.out)
    found = summary(cells, rows)
    write_json(arguments.out / "summary.json", found)
    names = [cell.name for cell in cells]
    planned = [row for row in rows if row["cell"] in names]
    write_json(arguments.out / "preflight.json", preflight.judge(names, planned))
    print(found["verdict"])
    return EXIT_CODES[Verdict(found["verdict"])]


def _page(arguments: argparse.Namespace) -> int:
    from machinecheck.page import page

    found = page(arguments.results, arguments.out)
    write_json(arguments.out / "page.json", found)
    print(*found["findings"], sep="\n")
    return 0


def _selftest(arguments: argparse.Namespace) -> int:
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from machinecheck import selftest

    found = selftest.run(arguments.out, arguments.repetitions)
    for row in found["detection"]:
        print(f"{row['fault']}: caught {row['caught']} of {row['planted']}")
    clean = found["clean"]
    print(f"{found['verdict']}: {len(clean['alarms'])} false alarms in {clean['runs']} clean runs")
    return EXIT_CODES[Verdict(found["verdict"])]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="machinecheck", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    probe = commands.add_parser("probe", help="write what is in this machine")
    probe.add_argument("--out", type=Path, required=True, help="JSON file; collect_env.txt is kept beside it")
    probe.set_defaults(run=_probe)
    cell = commands.add_parser("cell", help="measure one thing in this process", allow_abbrev=False)
    cell.add_argument("kind")
    cell.add_argument("operation")
    cell.add_argument("--out", type=Path, required=True, help="JSON file of the result")
    cell.set_defaults(run=_cell)
    run = commands.add_parser("run", help="run a plan, one process per cell; goes on where it was stopped")
    run.add_argument("--plan", required=True, help="TOML file, or the name of a plan that comes with this")
    run.add_argument("--out", type=Path, required=True, help="folder of the results")
    run.set_defaults(run=_run)
    cells = commands.add_parser("cells", help="write the cells of a plan, in order")
    cells.add_argument("--plan", required=True)
    cells.add_argument("--out", type=Path, required=True, help="JSON file")
    cells.set_defaults(run=_cells)
    one = commands.add_parser("one", help="run one cell of a plan; succeeds once its outcome is written")
    one.add_argument("name")
    one.add_argument("--plan", required=True)
    one.add_argument("--out", type=Path, required=True, help="folder of the results")
    one.set_defaults(run=_one)
    judge = commands.add_parser("judge", help="write summary.json and preflight.json from the outcomes")
    judge.add_argument("--plan", required=True)
    judge.add_argument("--out", type=Path, required=True, help="folder of the results")
    judge.set_defaults(run=_judge)
    page = commands.add_parser("page", help="write tables, findings and figures of a folder of results")
    page.add_argument("--results", type=Path, required=True)
    page.add_argument("--out", type=Path, required=True, help="folder of page.json and the figures")
    page.set_defaults(run=_page)
    selftest = commands.add_parser("selftest", help="plant faults and see that each is caught")
    selftest.add_argument("--out", type=Path, required=True, help="folder of the results")
    selftest.add_argument("--repetitions", type=int, default=20, help="clean repetitions (default 20)")
    selftest.set_defaults(run=_selftest)
    return parser


def main(arguments: list[str] | None = None) -> int:
    parsed, rest = _parser().parse_known_args(arguments)
    try:
        if rest and parsed.command != "cell":
            raise MachineCheckError(f"found {' '.join(rest)!r}, expected no more arguments for {parsed.command}")
        parsed.settings = rest
        with ending_with_us():
            return int(parsed.run(parsed))
    except MachineCheckError as error:
        print(f"machinecheck: error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
