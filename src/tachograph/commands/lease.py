"""``tachograph lease``: any command under the lease of a device, and who holds which."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path
from typing import Any

from tachograph.errors import TachographError
from tachograph.execution.supervise import supervise
from tachograph.host.device import resolve_device
from tachograph.lease.acquire import acquire
from tachograph.lease.holders import UNSEEN, find_holders, is_locked
from tachograph.lease.lockfile import DEFAULT_PARENT, check_regular, default_lease_folder, lock_path
from tachograph.lease.processes import printable
from tachograph.scripting import configuration
from tachograph.study.loading import CONFIGURATION_FILE
from tachograph.wording import counted

MAX_WAIT_SECONDS = 3600.0
MAX_HOLD_SECONDS = 1800.0


def add_parser(subparsers: Any) -> None:
    """Register ``lease`` with the subparsers of the command line."""
    parser = subparsers.add_parser(
        "lease",
        help="run a command alone on a device, or show who holds which",
        description="Run COMMAND while holding the lease of a device: no study, and no other user of the "
        "lease or of flock(1) on its file, uses the device meanwhile. Nothing that COMMAND starts outlives "
        "it. Exit code: that of COMMAND; 128 + signal; 124 at the hold limit; 75 if the device stayed taken.",
    )
    parser.add_argument("--device", help="auto (default), cpu or cuda:N")
    parser.add_argument(
        "--folder", type=Path, help="lease folder (default: that of config/config.yaml, where there is one)"
    )
    parser.add_argument(
        "--max-wait",
        type=_seconds,
        metavar="S",
        help=f"seconds (default: that of config/config.yaml, where there is one, else {MAX_WAIT_SECONDS:g})",
    )
    parser.add_argument(
        "--max-hold",
        type=_seconds,
        default=MAX_HOLD_SECONDS,
        metavar="S",
        help="seconds (default %(default)g)",
    )
    parser.add_argument("--status", action="store_true", help="show who holds which device, and run nothing")
    parser.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="with its arguments")
    parser.set_defaults(function=main)


def main(args: argparse.Namespace) -> int:
    """Run ``tachograph lease`` with parsed arguments; returns the exit code."""
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    folder, max_wait = _as_the_studies_here(args.folder, args.max_wait)
    if args.status:
        if command:
            raise TachographError(f"lease --status runs no command, found {command[0]!r}")
        print(status_table(args.device, folder))
        return 0
    if not command:
        raise TachographError("lease: no command given, expected `tachograph lease -- COMMAND …` or --status")
    device = resolve_device(args.device or "auto")
    with acquire(device, folder, max_wait_s=max_wait, max_hold_s=args.max_hold) as lease:
        outcome = supervise(command, lease=lease, log_path=None, max_hold_s=args.max_hold, stdin=None)
    if outcome.status not in ("finished", "failed"):
        print(f"tachograph: {command[0]}: {outcome.reason}", file=sys.stderr)
    if outcome.survivors_killed:
        left = counted(outcome.survivors_killed, "process left behind was", "processes left behind were")
        print(f"tachograph: {left} killed", file=sys.stderr)
    return outcome.shell_code


def _as_the_studies_here(folder: Path | None, max_wait: float | None) -> tuple[Path | None, float]:
    """Lease folder and patience: as given, else those of the configuration in this folder, else the defaults."""
    if CONFIGURATION_FILE.exists():
        settings = configuration()
        if folder is None and settings.lease_folder:
            folder = Path(settings.lease_folder)
        if max_wait is None:
            max_wait = settings.max_wait_minutes * 60.0
    return folder, MAX_WAIT_SECONDS if max_wait is None else max_wait


def status_table(device: str | None, folder: Path | None) -> str:
    """Who holds what, as a table: the given device, or every device that has a lock file here."""
    from tabulate import tabulate

    rows = [row for path in _lock_files(device, folder) for row in _rows(path)]
    return tabulate(rows, headers=["device", "state", "holder", "work", "since", "until", "lock file"])


def _lock_files(device: str | None, folder: Path | None) -> list[Path]:
    if device is not None:
        return [lock_path(folder, resolve_device(device).physical_id)]
    own = lock_path(folder, resolve_device("auto").physical_id)
    if folder is not None:
        known = folder.glob("*.lock")
    else:
        known = DEFAULT_PARENT.glob(f"{default_lease_folder('*').name}/*.lock")
    return sorted({own, *known})


def _rows(path: Path) -> list[list[str]]:
    name, place = printable(path.name.removesuffix(".lock")), printable(str(path), 1000)
    check_regular(path)
    holders = find_holders(path)
    if not holders and is_locked(path):
        holders = [UNSEEN]
    if not holders:
        return [[name, "free", "", "", "", "", place]]
    return [[name, *holder.row(), place] for holder in holders]


def _seconds(text: str) -> float:
    value = float(text)
    if not math.isfinite(value) or value < 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number of seconds")
    return value
