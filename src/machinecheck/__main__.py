"""``python -m machinecheck``: probe · cell · run · selftest."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from machinecheck.errors import MachineCheckError
from machinecheck.files import write_json
from machinecheck.verdict import EXIT_CODES, Verdict


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
    return EXIT_CODES[record["verdict"]]


def _run(arguments: argparse.Namespace) -> int:
    from machinecheck.plan import read_plan
    from machinecheck.runner import run_plan

    found, _ = run_plan(read_plan(arguments.plan), arguments.out)
    print(f"{found['verdict']}: {found['planned']} cells planned, {len(found['not_run'])} not run")
    return EXIT_CODES[Verdict(found["verdict"])]


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
    selftest = commands.add_parser("selftest", help="plant faults and see that each is caught")
    selftest.add_argument("--out", type=Path, required=True, help="folder of the results")
    selftest.add_argument("--repetitions", type=int, default=20, help="clean repetitions (default 20)")
    selftest.set_defaults(run=_selftest)
    return parser


def main(arguments: list[str] | None = None) -> int:
    parsed, rest = _parser().parse_known_args(arguments)
    try:
        if rest and parsed.command != "cell":
            raise MachineCheckError(
                f"found {' '.join(rest)!r}, expected no more arguments for {parsed.command}"
            )
        parsed.settings = rest
        return int(parsed.run(parsed))
    except MachineCheckError as error:
        print(f"machinecheck: error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
