"""``python -m machinecheck``: ``probe`` says what is in this machine, ``cell`` measures one thing of ``cells``."""

from __future__ import annotations

import argparse
import os
import re
import sys
import traceback
from pathlib import Path

from machinecheck.errors import MachineCheckError
from machinecheck.files import write_json

# Imports stand in the commands: the probe needs no torch, which takes over a second to load.


def _probe(arguments: argparse.Namespace) -> None:
    from machinecheck.probe.machine import probe

    print(probe(arguments.out)["id"])


OUT_OF_MEMORY = re.compile(r"out of memory|can't allocate memory", re.IGNORECASE)  # torch's words for it


def _cell(arguments: argparse.Namespace) -> None:
    if arguments.kind != "throughput":
        # Threads that spin while they wait make a busy host many times slower and change no number.
        # Read by OpenMP when torch is loaded, hence before the import.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from machinecheck import registry

    given = registry.parse_settings(arguments.kind, arguments.operation, arguments.settings)
    write_json(arguments.out, registry.measure(arguments.kind, arguments.operation, given))


def _cells(_: argparse.Namespace) -> None:
    from machinecheck import registry
    from machinecheck.settings import arguments_of

    lines = []
    for kind, operations in registry.CELLS.items():
        for operation, cell in operations.items():
            about = (cell.__doc__ or "").partition("\n")[0]
            lines += [
                f"{kind} {operation}: {about}",
                "    " + " ".join(arguments_of(registry.defaults(kind, operation))),
            ]
    try:
        print(*lines, sep="\n", flush=True)
    except BrokenPipeError:  # whoever reads the list, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python complains when it ends


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="machinecheck", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    probe = commands.add_parser("probe", help="write what is in this machine")
    probe.add_argument("--out", type=Path, required=True, help="JSON file; collect_env.txt is kept beside it")
    probe.set_defaults(run=_probe)
    cells = commands.add_parser("cells", help="list all cells with their settings and defaults")
    cells.set_defaults(run=_cells)
    cell = commands.add_parser("cell", help="measure one thing in this process", allow_abbrev=False)
    cell.add_argument("kind", help="correctness, repeatability, throughput or soak")
    cell.add_argument("operation", help="such as matmul; its settings follow as --name=value (`cells` lists them)")
    cell.add_argument("--out", type=Path, required=True, help="JSON file of the result")
    cell.set_defaults(run=_cell)
    return parser


def main(arguments: list[str] | None = None) -> int:
    parsed, rest = _parser().parse_known_args(arguments)
    try:
        if rest and parsed.command != "cell":
            raise MachineCheckError(f"found {' '.join(rest)!r}, expected no more arguments for {parsed.command}")
        parsed.settings = rest
        parsed.run(parsed)
    except MachineCheckError as error:
        return _say(str(error), error.exit_code)
    except ModuleNotFoundError as error:
        return _say(f"the Python package {error.name} is not installed in {sys.prefix}, expected it there")
    except MemoryError as error:
        return _say(f"out of memory: {error or 'this process got no more'}", 1)
    except Exception as error:
        said = " ".join(str(error).split())[:300]
        if isinstance(error, RuntimeError) and OUT_OF_MEMORY.search(said):
            return _say(f"out of memory: {said}", 1)
        # torch explains errors on many lines, of which the last says nothing; the reason is in the first
        traceback.print_exc()
        return _say(f"{type(error).__name__}: {said}", 1)
    return 0


def _say(sentence: str, exit_code: int = MachineCheckError.exit_code) -> int:
    print(f"machinecheck: error: {sentence}", file=sys.stderr)
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
