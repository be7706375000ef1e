"""A cell's settings as command-line arguments, and back."""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from machinecheck.errors import MachineCheckError

MOST = 2**31 - 1  # of anything that is counted: what comes near it fits into no memory


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise MachineCheckError(f"{self.prog}: {message}")


def parse(name: str, defaults: Mapping[str, Any], arguments: list[str]) -> dict[str, Any]:
    """Arguments as settings of their defaults' types; MachineCheckError for an unknown or mistyped one."""
    parser = _Parser(prog=name, add_help=False, allow_abbrev=False)
    for setting, default in defaults.items():
        flag = "--" + setting.replace("_", "-")
        if isinstance(default, bool):
            parser.add_argument(flag, default=default, action=argparse.BooleanOptionalAction)
        else:
            parser.add_argument(flag, default=default, type=type(default))
    given = vars(parser.parse_args(arguments))
    for setting, value in given.items():
        _check_number(name, setting, value, defaults[setting])
    return given


def _check_number(name: str, setting: str, value: Any, default: Any) -> None:
    """Counts (their default is above 0) are from 1 to ``MOST``, other whole numbers have 63 bits, all are finite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    count = isinstance(default, int) and default > 0
    least, most = (1, MOST) if count else (0, 2**63 - 1)
    if not value >= least or (isinstance(value, float) and math.isinf(value)):
        raise MachineCheckError(f"{name}: found {setting} = {value}, expected a number of at least {least}")
    if isinstance(value, int) and value > most:
        raise MachineCheckError(f"{name}: found {setting} = {value}, expected a number of at most {most}")


def arguments_of(given: Mapping[str, Any]) -> list[str]:
    """Settings as arguments; ``True`` and ``False`` become ``--x`` and ``--no-x``."""
    words: list[str] = []
    for setting, value in given.items():
        flag = setting.replace("_", "-")
        if isinstance(value, bool):
            words.append(f"--{flag}" if value else f"--no-{flag}")
        else:
            words.append(f"--{flag}={value}")
    return words
