"""The errors of this package that a person is meant to read."""


class MachineCheckError(Exception):
    """One sentence: which file or setting, what was found, what was expected. Exit code 2."""

    exit_code = 2
