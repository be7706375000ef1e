"""A cell's settings as command-line arguments, and back."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, NoReturn

from machinecheck.errors import MachineCheckError


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
    return vars(parser.parse_args(arguments))


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
