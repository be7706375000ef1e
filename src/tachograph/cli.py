"""The program ``tachograph``: everything around a study that is not a file target of the workflow."""

from __future__ import annotations

import argparse
import os
import signal
import sys

from tachograph import __version__
from tachograph.commands import amend, compare, discard, phases, plan, prune, restore, settle, status, verify
from tachograph.commands import lease as leasecommand
from tachograph.errors import TachographError


def build_parser() -> argparse.ArgumentParser:
    """The command line with its subcommands."""
    parser = argparse.ArgumentParser(
        prog="tachograph", description="Plan, inspect and verify studies; `snakemake` executes them."
    )
    parser.add_argument("--version", action="version", version=f"tachograph {__version__}")
    subparsers = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    for command in (plan, status, discard, settle, amend, restore, prune, verify, compare, phases, leasecommand):
        command.add_parser(subparsers)
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run one subcommand; an expected error is one line on standard error and its exit code."""
    arguments = build_parser().parse_args(argv)
    try:
        code: int = arguments.function(arguments)
        sys.stdout.flush()
        return code
    except BrokenPipeError:  # the reader has gone, as in `tachograph status | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except TachographError as error:
        print(f"tachograph: error: {error}", file=sys.stderr)
        return error.exit_code
    except OSError as error:  # a full disk, a folder that may not be written
        print(f"tachograph: error: {error.filename or 'a file'}: {error.strerror or error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
