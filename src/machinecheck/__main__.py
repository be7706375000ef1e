"""``python -m machinecheck``: probe · cell · run · select · selftest."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from machinecheck.errors import MachineCheckError


def _probe(arguments: argparse.Namespace) -> int:
    from machinecheck.probe.machine import probe

    print(probe(arguments.out)["id"])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="machinecheck", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    probe = commands.add_parser("probe", help="write what is in this machine")
    probe.add_argument("--out", type=Path, required=True, help="JSON file; collect_env.txt is kept beside it")
    probe.set_defaults(run=_probe)
    return parser


def main(arguments: list[str] | None = None) -> int:
    parsed = _parser().parse_args(arguments)
    try:
        return int(parsed.run(parsed))
    except MachineCheckError as error:
        print(f"machinecheck: error: {error}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
